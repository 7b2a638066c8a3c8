//! Counters of a primitive, each defined beside what it counts.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number that only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// One more.
    pub fn one(&self) {
        self.many(1);
    }

    /// So many more.
    pub fn many(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// Its value now.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counters with names and descriptions, so that an exporter needs no list of its own.
#[macro_export]
macro_rules! counters {
    ($(#[$doc:meta])* $name:ident { $($(#[doc = $about:literal])+ $counter:ident,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Default)]
        #[non_exhaustive]
        pub struct $name {
            $($(#[doc = $about])+ pub $counter: $crate::Counter,)*
        }

        impl $name {
            /// Name, description and value of each.
            pub fn all(&self) -> impl Iterator<Item = (&'static str, &'static str, u64)> {
                [$((stringify!($counter), concat!($($about),+), self.$counter.get()),)*].into_iter()
            }
        }
    };
}
pub(crate) use counters;
