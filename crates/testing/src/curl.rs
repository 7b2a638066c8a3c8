//! The real curl, so that a client other than our own is heard.

use std::process::Command;

use serde_json::Value;

/// What curl was answered.
#[derive(Debug)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: String,
}

impl Answer {
    /// The body as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }

    /// The code of a refusal; empty if it is none.
    #[must_use]
    pub fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

/// Asks, with these arguments more.
#[must_use]
pub fn curl(url: &str, args: &[&str]) -> Answer {
    let output = Command::new("curl")
        .args(["-sS", "-m", "60", "-w", "\n%{http_code}", url])
        .args(args)
        .output()
        .expect("curl");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (body, status) = text.rsplit_once('\n').expect("a status");
    Answer { status: status.parse().unwrap(), body: body.to_owned() }
}
