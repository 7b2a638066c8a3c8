//! What changed, as commands that do it again.
//!
//! An effect names a result and not a wish: `PXAT` and not `EX`, the member that was taken and not "any". What one step
//! changes stands inside MULTI and EXEC when it is more than one command, so that a reader takes all of it or nothing.

use crate::reply;

#[derive(Debug, Default)]
pub(crate) struct Effects {
    /// Nobody keeps a log: nothing is written here.
    pub(crate) off: bool,
    done: Vec<u8>,
    step: Vec<u8>,
    in_step: usize,
    /// The database that a reader is in at the end of `done`, and at the end of `step`.
    db_done: Option<usize>,
    db_step: Option<usize>,
}

impl Effects {
    /// One command of the present step.
    pub(crate) fn push(&mut self, db: usize, command: &[&[u8]]) {
        if self.off {
            return;
        }
        if self.db_step != Some(db) {
            reply::command(&mut self.step, &[b"SELECT", db.to_string().as_bytes()]);
            self.db_step = Some(db);
        }
        reply::command(&mut self.step, command);
        self.in_step += 1;
    }

    /// The step is over.
    pub(crate) fn end_step(&mut self) {
        match self.in_step {
            0 => return,
            1 => self.done.append(&mut self.step),
            _ => {
                reply::command(&mut self.done, &[b"MULTI"]);
                self.done.append(&mut self.step);
                reply::command(&mut self.done, &[b"EXEC"]);
            }
        }
        self.in_step = 0;
        self.db_done = self.db_step;
    }

    /// Everything since the last time, and no part of a step.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.done)
    }

    /// The reader of what follows is in no database yet: the log begins anew.
    pub(crate) fn begin_anew(&mut self) {
        self.db_step = None;
        self.db_done = None;
    }
}
