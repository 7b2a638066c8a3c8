//! Decisions of our own.
