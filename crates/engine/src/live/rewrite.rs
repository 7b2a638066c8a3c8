//! Writes the log anew while everything goes on.

use std::sync::{Arc, Weak};

use super::Inner;
use crate::loading::Progress;

/// How many keys are written down before others have their turn.
const KEYS_AT_ONCE: usize = 200;

pub(super) fn start(inner: &Arc<Inner>) {
    let Some(writer) = &inner.writer else { return };
    let mut grown = Box::pin(writer.grown());
    let inner = Arc::downgrade(inner);
    tokio::spawn(async move {
        loop {
            grown.as_mut().await;
            if rewrite(&inner).await.is_none() {
                return;
            }
            match inner.upgrade().as_deref().and_then(|inner| inner.writer.as_ref()) {
                Some(writer) => grown.set(writer.grown()),
                None => return,
            }
        }
    });
}

/// `None` when the engine is gone.
pub(super) async fn rewrite(inner: &Weak<Inner>) -> Option<()> {
    begin(&*inner.upgrade()?);
    while go_on(&*inner.upgrade()?) {
        tokio::task::yield_now().await;
    }
    Some(())
}

fn begin(inner: &Inner) {
    let Some(writer) = &inner.writer else { return };
    let mut engine = inner.lock();
    // What was changed before belongs to the picture, what comes now does not: nothing may come between.
    writer.append(&engine.take_effects());
    engine.begin_picture();
    writer.begin_picture();
}

/// Whether there is more.
fn go_on(inner: &Inner) -> bool {
    let Some(writer) = &inner.writer else { return false };
    let mut engine = inner.lock();
    match engine.go_on_with_picture(KEYS_AT_ONCE) {
        Progress::Part(part) => {
            writer.picture_part(part);
            true
        }
        Progress::Done => {
            writer.end_picture();
            false
        }
        Progress::Spoiled => {
            writer.drop_picture();
            false
        }
    }
}
