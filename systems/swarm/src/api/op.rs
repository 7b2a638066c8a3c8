//! An operation: everything that the doors need to know of it.

use std::future::Future;
use std::pin::Pin;

use axum::http::Method;
use serde_json::{Map, Value};

use super::args::Args;
use super::param::Param;
use super::{Desk, Refused};

/// Carries an operation out: what it answers, as JSON.
pub type Carry =
    for<'a> fn(&'a Desk, &'a Args) -> Pin<Box<dyn Future<Output = Result<Value, Refused>> + Send + 'a>>;

/// An operation of the swarms.
#[derive(Debug)]
#[non_exhaustive]
pub struct Op {
    /// As MCP calls it, such as `task_claim`.
    pub name: &'static str,
    /// As the command line calls it, such as `task claim`.
    pub words: &'static [&'static str],
    /// As HTTP calls it. What is got is a read, everything else a change.
    pub method: Method,
    /// The route, such as `/api/swarms/{swarm}/tasks/claim`.
    pub path: &'static str,
    /// What it does, in a few words.
    pub summary: &'static str,
    /// What it promises, and what it answers.
    pub promise: &'static str,
    /// What it takes.
    pub params: &'static [Param],
    /// What happens.
    pub carry: Carry,
}

impl Op {
    /// Whether it changes nothing.
    #[must_use]
    pub fn reads(&self) -> bool {
        self.method == Method::GET
    }

    /// Checks what was given, and carries it out.
    pub async fn carry_out(&self, desk: &Desk, given: Map<String, Value>) -> Result<Value, Refused> {
        let args = Args::read(self, given)?;
        let outcome = (self.carry)(desk, &args).await;
        // What cannot be told now waits in the swarm's outbox for whoever keeps the indexes.
        if !desk.is_kept && self.method != Method::GET && outcome.is_ok() {
            drop(desk.swarms.feed_touched().await);
        }
        outcome
    }

    /// Bytes that a request may have: what is usual for one, and beside it all that its long parameters may hold.
    pub(super) fn most_request(&self) -> usize {
        let long: usize = self.params.iter().map(|param| param.kind.most_bytes()).sum();
        long + keyplane_http::Options::default().body_limit
    }

    /// Whether that parameter stands in the path.
    #[must_use]
    pub fn is_in_path(&self, name: &str) -> bool {
        self.path.split('/').any(|part| {
            part.strip_prefix('{').and_then(|part| part.strip_suffix('}')).is_some_and(|part| part == name)
        })
    }

    /// Two command lines that it takes, without the program's name: what must be given, and everything.
    #[must_use]
    pub fn examples(&self) -> [String; 2] {
        // A change of fields names at least one of them.
        let field = self.params.iter().position(|param| !param.is_required() && self.method == Method::PATCH);
        let line = |all: bool| {
            let params = self.params.iter().enumerate();
            let params = params.filter(|(at, param)| all || param.is_required() || Some(*at) == field);
            let params = params.map(|(_, param)| param);
            let words = self.words.iter().map(|word| (*word).to_owned());
            words.chain(params.map(Param::on_a_command_line)).collect::<Vec<_>>().join(" ")
        };
        let (least, most) = (line(false), line(true));
        if least == most { [least.clone(), format!("{least} --json")] } else { [least, most] }
    }
}
