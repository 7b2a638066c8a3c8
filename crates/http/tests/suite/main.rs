//! An API as its callers see it: over sockets with curl, and in process where no socket is needed.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod curl;
mod document;
mod door;
mod errors;
mod events;
mod notes;
mod panels;
mod site;
mod stop;
