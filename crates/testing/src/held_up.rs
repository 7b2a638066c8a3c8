//! Something else happens at one exact point of what is under way.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// Runs a future until it has waited so many times, then all of another one, then the rest of the first. `None` if the first
/// ended before that: with 0, 1, 2 and so on until then every point is seen at which it can be held up, if nothing runs beside it
/// (`#[every_store(in_turn)]`).
pub async fn held_up<T, M>(
    held: impl Future<Output = T>,
    waits: usize,
    meanwhile: impl Future<Output = M>,
) -> Option<(T, M)> {
    let mut held = pin!(held);
    let mut seen = 0;
    let ended = poll_fn(|context| {
        if seen == waits {
            return Poll::Ready(false);
        }
        seen += 1;
        held.as_mut().poll(context).map(|_| true)
    });
    if ended.await {
        return None;
    }
    let other = meanwhile.await;
    Some((held.await, other))
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use tokio::task::yield_now;

    use super::*;

    #[tokio::test]
    async fn every_point_is_seen_once() {
        let mut seen = Vec::new();
        for waits in 0.. {
            let steps = RefCell::new(String::new());
            let held = async {
                for step in ['a', 'b', 'c'] {
                    steps.borrow_mut().push(step);
                    yield_now().await;
                }
            };
            let meanwhile = async { steps.borrow_mut().push('-') };
            if held_up(held, waits, meanwhile).await.is_none() {
                break;
            }
            seen.push(steps.take());
        }
        assert_eq!(seen, ["-abc", "a-bc", "ab-c", "abc-"]);
    }
}
