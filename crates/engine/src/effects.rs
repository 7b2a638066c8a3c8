//! What changed, as commands that do it again.
//!
//! An effect names a result and not a wish: `PXAT` and not `EX`, the member that was taken and not "any". What one step
//! changes stands inside MULTI and EXEC when it is more than one command, so that a reader takes all of it or nothing.

use crate::reply;

#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Nobody keeps a log: nothing is written here.
    pub(crate) off: bool,
    done: Steps,
    step: Vec<u8>,
    in_step: usize,
    /// The database that a reader is in at the end of the present step.
    db: Option<usize>,
}

/// Whole steps, one after the other, each as commands in RESP.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Steps {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Steps {
    /// All of them in one piece.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether nothing has changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// One by one.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        starts.zip(&self.ends).filter_map(|(start, end)| self.bytes.get(start..*end))
    }

    /// Puts others behind these.
    pub fn append(&mut self, more: &Self) {
        let before = self.bytes.len();
        self.bytes.extend_from_slice(&more.bytes);
        self.ends.extend(more.ends.iter().map(|end| before + end));
    }

    pub(crate) fn push(&mut self, step: &[u8]) {
        self.bytes.extend_from_slice(step);
        self.ends.push(self.bytes.len());
    }
}

impl Effects {
    /// One command of the present step.
    pub(crate) fn push(&mut self, db: usize, command: &[&[u8]]) {
        if self.off {
            return;
        }
        if self.db != Some(db) {
            reply::command(&mut self.step, &[b"SELECT", db.to_string().as_bytes()]);
            self.db = Some(db);
        }
        reply::command(&mut self.step, command);
        self.in_step += 1;
    }

    /// The step is over.
    pub(crate) fn end_step(&mut self) {
        if self.in_step == 0 {
            return;
        }
        if self.in_step > 1 {
            let mut whole = Vec::with_capacity(self.step.len() + 32);
            reply::command(&mut whole, &[b"MULTI"]);
            whole.append(&mut self.step);
            reply::command(&mut whole, &[b"EXEC"]);
            self.step = whole;
        }
        self.done.push(&self.step);
        self.step.clear();
        self.in_step = 0;
    }

    /// Everything since the last time, and no part of a step.
    pub(crate) fn take(&mut self) -> Steps {
        std::mem::take(&mut self.done)
    }

    /// Whoever reads what follows is in no database yet.
    pub(crate) fn begin_anew(&mut self) {
        self.db = None;
    }
}
