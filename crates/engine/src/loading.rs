//! Bringing an engine to a state that was kept, and taking a picture of the state it is in.

use crate::clients::ClientId;
use crate::db::Pictured;
use crate::engine::{Answer, Engine};
use crate::fault::Fault;
use crate::log;
use crate::reply::Reply;
use crate::time::Time;

/// Applies steps. While it does, time stands still at the beginning: what ended meanwhile ends afterwards.
#[derive(Debug)]
pub struct Loader {
    client: ClientId,
    now: Time,
    kept: bool,
}

impl Loader {
    /// From here on time passes, and what changes is kept.
    pub fn end(self, engine: &mut Engine) {
        engine.disconnect(self.client);
        engine.state.now = self.now;
        engine.state.effects.off = !self.kept;
        engine.state.stats.commands = 0;
    }

    /// One step; the error of the first command that is refused.
    pub fn step(&mut self, engine: &mut Engine, step: &[u8]) -> Result<(), Fault> {
        for args in log::commands(step)? {
            match engine.execute(Time::default(), self.client, &args).answer {
                Answer::Reply(Reply::Error(fault)) => return Err(fault),
                Answer::Reply(Reply::Array(replies)) => {
                    if let Some(Reply::Error(fault)) =
                        replies.into_iter().find(|reply| matches!(reply, Reply::Error(_)))
                    {
                        return Err(fault);
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// How far a picture is.
#[derive(Debug)]
pub enum Progress {
    /// This much more of it.
    Part(Vec<u8>),
    /// All of it was given.
    Done,
    /// It was overtaken by a command that empties a database; begin again.
    Spoiled,
}

impl Engine {
    /// Before the first command.
    pub fn begin_loading(&mut self) -> Loader {
        let now = std::mem::take(&mut self.state.now);
        let kept = !std::mem::replace(&mut self.state.effects.off, true);
        let client = self.state.clients.add("loader".to_owned(), true, now);
        Loader { client, now, kept }
    }

    /// A picture of everything as it is now. What changes from now on is not in it.
    pub fn begin_picture(&mut self) {
        self.pictures += 1;
        for (number, db) in self.state.dbs.iter_mut().enumerate() {
            db.begin_picture(self.pictures, number);
        }
        self.state.effects.begin_anew();
    }

    /// Goes on with it for at most that many keys.
    pub fn go_on_with_picture(&mut self, keys: usize) -> Progress {
        for db in &mut self.state.dbs {
            match db.go_on_with_picture(keys) {
                Some(Pictured::Part(part)) => return Progress::Part(part),
                Some(Pictured::Spoiled) => {
                    self.state.dbs.iter_mut().for_each(|db| db.end_picture());
                    return Progress::Spoiled;
                }
                None => {}
            }
        }
        Progress::Done
    }
}
