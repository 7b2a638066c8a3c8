//! Running a test: the choice of stores, a runtime, a time limit, the audit, the removal of keys.

use std::fmt::Debug;
use std::panic;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::timeout;

use crate::kind::{CHOICE, Kind};
use crate::place::Place;
use crate::shared;
use crate::skip::skip;

/// No test needs that long; one that does hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// So that what a test starts runs beside it.
const WORKERS: usize = 2;

/// What a test leaves running may finish its step before the audit looks.
const GRACE: Duration = Duration::from_secs(1);

/// What a test function may return: nothing, or a result that must be `Ok`.
pub trait Outcome {
    /// Fails the test when it is a failure.
    fn check(self);
}

impl Outcome for () {
    fn check(self) {}
}

impl<E: Debug> Outcome for Result<(), E> {
    fn check(self) {
        if let Err(error) = self {
            panic!("the test returned an error: {error:?}");
        }
    }
}

/// Runs a test on a store of that kind; what `#[every_store]` calls. A kind that was not chosen or cannot be had is a
/// skip under this name.
pub fn run_on<F, T>(kind: Kind, name: &str, test: F)
where
    F: FnOnce(Place) -> T,
    T: Future<Output: Outcome + Send + 'static> + Send + 'static,
{
    run_with(WORKERS, kind, name, test);
}

/// The same with a single worker, for `#[every_store(in_turn)]`: what else is under way goes on only when the test waits, so
/// the places where it waits are the same each time.
pub fn run_in_turn_on<F, T>(kind: Kind, name: &str, test: F)
where
    F: FnOnce(Place) -> T,
    T: Future<Output: Outcome + Send + 'static> + Send + 'static,
{
    run_with(1, kind, name, test);
}

fn run_with<F, T>(workers: usize, kind: Kind, name: &str, test: F)
where
    F: FnOnce(Place) -> T,
    T: Future<Output: Outcome + Send + 'static> + Send + 'static,
{
    if !Kind::chosen().contains(&kind) {
        return skip(&format!("{name}::{kind}: {CHOICE} leaves it out"));
    }
    if kind == Kind::Embedded {
        return finished(workers, &Place::embedded(), test);
    }
    match shared::address(kind) {
        Err(why) => skip(&format!("{name}::{kind}: {why}")),
        Ok(address) => finished(workers, &Place::at(kind, address), test),
    }
}

/// Runs a test at a place of its own, with the same time limit, audit and removal of keys. Its store must be up when
/// the test ends; [`run`] alone does not ask for that.
pub fn run_at<F, T>(place: &Place, test: F)
where
    F: FnOnce(Place) -> T,
    T: Future<Output: Outcome + Send + 'static> + Send + 'static,
{
    finished(WORKERS, place, test);
}

fn finished<F, T>(workers: usize, place: &Place, test: F)
where
    F: FnOnce(Place) -> T,
    T: Future<Output: Outcome + Send + 'static> + Send + 'static,
{
    let whole = || run_within(LIMIT, workers, test(place.clone())).check();
    let ended = panic::catch_unwind(panic::AssertUnwindSafe(whole));
    match ended {
        Ok(()) => place.finish(),
        Err(problem) => {
            // The test has failed already; the store may even be down.
            let _ = place.clear();
            panic::resume_unwind(problem);
        }
    }
}

/// Runs a future on a fresh runtime with two workers. Panics with "hangs" when it takes a minute.
pub fn run<T>(future: T) -> T::Output
where
    T: Future<Output: Send + 'static> + Send + 'static,
{
    run_within(LIMIT, WORKERS, future)
}

fn run_within<T>(limit: Duration, workers: usize, future: T) -> T::Output
where
    T: Future<Output: Send + 'static> + Send + 'static,
{
    let runtime: Runtime =
        Builder::new_multi_thread().worker_threads(workers).enable_all().build().expect("a runtime");
    // On a worker, so that a test which blocks its thread cannot block the time limit.
    let task = runtime.spawn(future);
    let ended = runtime.block_on(async { timeout(limit, task).await });
    match ended {
        Ok(ended) => {
            runtime.shutdown_timeout(GRACE);
            ended.unwrap_or_else(|error| panic::resume_unwind(error.into_panic()))
        }
        Err(_) => {
            runtime.shutdown_background();
            panic!("the test hangs: it has not ended in {} s", limit.as_secs_f32())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(result: std::thread::Result<()>) -> String {
        let problem = result.expect_err("a panic");
        let text = problem.downcast_ref::<&str>().map(ToString::to_string);
        text.or_else(|| problem.downcast_ref::<String>().cloned()).expect("a text")
    }

    #[test]
    fn a_test_that_never_ends_hangs_even_when_it_blocks_its_thread() {
        let limit = Duration::from_millis(50);
        let waits = panic::catch_unwind(|| run_within(limit, WORKERS, std::future::pending()));
        assert_eq!(message(waits), "the test hangs: it has not ended in 0.05 s");
        let (_keep, never) = std::sync::mpsc::channel::<()>();
        let blocks =
            panic::catch_unwind(panic::AssertUnwindSafe(move || {
                run_within(limit, WORKERS, async move {
                    never.recv_timeout(Duration::from_secs(2)).unwrap_or(())
                });
            }));
        assert_eq!(message(blocks), "the test hangs: it has not ended in 0.05 s");
    }

    #[test]
    fn a_panic_and_an_error_keep_their_words() {
        assert_eq!(message(panic::catch_unwind(|| run(async { panic!("so it is") }))), "so it is");
        let failed = panic::catch_unwind(|| run(async { Err::<(), _>("no luck") }).check());
        assert_eq!(message(failed), "the test returned an error: \"no luck\"");
    }
}
