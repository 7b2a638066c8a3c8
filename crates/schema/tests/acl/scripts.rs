//! Small Lua scripts made of commands, run as a user.

use redis::Value;

use crate::loaded::{Answer, Loaded, is_refusal};

/// A script over keys that it declares, as the operations of a contract are.
pub(crate) struct Script<'k> {
    keys: &'k [String],
    commands: Vec<Vec<String>>,
}

impl<'k> Script<'k> {
    /// A script of these commands, in which words that are one of the keys become `KEYS[n]`.
    pub(crate) fn new(keys: &'k [String], commands: &[Vec<&str>]) -> Self {
        let word = |word: &&str| match keys.iter().position(|key| key == word) {
            Some(index) => format!("KEYS[{}]", index + 1),
            None => format!("'{word}'"),
        };
        Self { keys, commands: commands.iter().map(|words| words.iter().map(word).collect()).collect() }
    }

    /// Runs it as one step: the first refused command ends it.
    pub(crate) fn run(&self, loaded: &mut Loaded, component: &str, eval: &str) -> Answer {
        match self.reply(loaded, component, eval) {
            Ok(_) => Answer::Allowed,
            Err(error) if is_refusal(&error) => Answer::Refused,
            Err(error) => panic!("{component}: {eval} {:?}: {error}", self.commands),
        }
    }

    /// The same, with the reply.
    pub(crate) fn reply(&self, loaded: &mut Loaded, component: &str, eval: &str) -> Result<Value, String> {
        let lines = self.commands.iter().map(|words| format!("redis.call({})\n", words.join(", ")));
        let count = self.keys.len().to_string();
        let body: String = lines.collect();
        let mut words = vec![eval, &body, &count];
        words.extend(self.keys.iter().map(String::as_str));
        loaded.reply(component, &words)
    }

    /// Runs every command, also behind a refused one, and tells the error of each. The keys are not declared: a server
    /// outside a cluster does not insist, and then nothing but the check of each command stands in the way.
    ///
    /// `None`: the user may not run scripts of this kind at all.
    pub(crate) fn run_each(&self, loaded: &mut Loaded, component: &str, eval: &str) -> Option<Vec<String>> {
        let mut body = String::from("local KEYS, said = ARGV, {}\n");
        for words in &self.commands {
            body.push_str(&format!("said[#said + 1] = redis.pcall({})\n", words.join(", ")));
            body.push_str("said[#said] = type(said[#said]) == 'table' and said[#said].err or ''\n");
        }
        body.push_str("return said");
        let mut words = vec![eval, &body, "0"];
        words.extend(self.keys.iter().map(String::as_str));
        match loaded.reply(component, &words) {
            Ok(said) => Some(texts(said)),
            Err(error) if is_refusal(&error) => None,
            Err(error) => panic!("{component}: {eval} {body}: {error}"),
        }
    }
}

fn texts(said: Value) -> Vec<String> {
    redis::from_redis_value(said).expect("one text for each command")
}
