//! Keys by the beginning of their names.

use std::sync::Arc;
use std::time::Duration;

use crate::Handle;
use crate::error::{Error, Operation};
use crate::node::Node;
use crate::pipeline::read_reply;
use crate::reply::Reply;
use crate::store::ask;

/// What one step looks at, about.
const STEP: &str = "500";

/// Walks over the keys of every server that takes writes, a page at a time. A key that is there from the first page to the last is
/// found; one may be found twice.
#[derive(Debug)]
pub struct Scan {
    nodes: Vec<Arc<Node>>,
    pattern: String,
    cursor: String,
    patience: Duration,
}

impl Handle {
    /// The keys whose names begin like this. It looks at all keys of the servers: for work that is done now and then.
    #[must_use]
    pub fn scan(&self, prefix: &str) -> Scan {
        let mut nodes = self.core.nodes();
        nodes.reverse();
        Scan { nodes, pattern: literal(prefix) + "*", cursor: "0".to_owned(), patience: self.patience }
    }
}

impl Scan {
    /// The next page, which may be empty; `None` after the last.
    pub async fn next(&mut self) -> Result<Option<Vec<Vec<u8>>>, Error> {
        let Some(node) = self.nodes.last() else { return Ok(None) };
        let operation = Operation { name: "scan", pattern: "", writes: false };
        let command = ["SCAN", self.cursor.as_str(), "MATCH", &self.pattern, "COUNT", STEP];
        let (_, answer) = ask(node, &operation, &command, self.patience).await;
        let Reply::Array(mut parts) = answer? else { return Ok(None) };
        let keys = parts.pop().map(read_reply::<Vec<Vec<u8>>>).transpose().unwrap_or_default();
        let cursor = parts.pop().map(read_reply::<String>).transpose().unwrap_or_default();
        self.cursor = cursor.unwrap_or_else(|| "0".to_owned());
        if self.cursor == "0" {
            self.nodes.pop();
        }
        Ok(Some(keys.unwrap_or_default()))
    }
}

/// As a pattern that means nothing but itself.
fn literal(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for letter in text.chars() {
        if matches!(letter, '*' | '?' | '[' | ']' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}
