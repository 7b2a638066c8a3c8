//! Lines of the rosters: what a list shows of an agent or a task, in one field.

use std::str::FromStr;

use super::{AgentStatus, Priority, TaskStatus};

/// A line that nobody here wrote.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{line}` is no line of a roster: {why}")]
pub struct BadLine {
    /// The line.
    pub line: String,
    /// What is wrong.
    pub why: String,
}

/// An agent: `status|confidence|current task|lease end|role`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct AgentLine {
    /// What it is doing.
    pub status: AgentStatus,
    /// How sure it is of its work, 0 to 1.
    pub confidence: f64,
    /// The task that it works on.
    pub task: Option<String>,
    /// Until when it is waited for, in Unix milliseconds.
    pub lease_end: Option<u64>,
    /// Its role.
    pub role: String,
}

/// A task: `status|priority|progress|agent|attempt`.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TaskLine {
    /// Where it is.
    pub status: TaskStatus,
    /// How urgent.
    pub priority: Priority,
    /// How far, in percent.
    pub progress: f64,
    /// Who works on it, or has done it.
    pub agent: Option<String>,
    /// Tries before this one.
    pub attempt: u64,
}

impl FromStr for AgentLine {
    type Err = BadLine;

    fn from_str(line: &str) -> Result<Self, BadLine> {
        let [status, confidence, task, lease_end, role] = parts(line)?;
        Ok(Self {
            status: part(line, status)?,
            confidence: part(line, confidence)?,
            task: given(task),
            lease_end: given(lease_end).map(|text| part(line, &text)).transpose()?,
            role: role.to_owned(),
        })
    }
}

impl FromStr for TaskLine {
    type Err = BadLine;

    fn from_str(line: &str) -> Result<Self, BadLine> {
        let [status, priority, progress, agent, attempt] = parts(line)?;
        Ok(Self {
            status: part(line, status)?,
            priority: part(line, priority)?,
            progress: part(line, progress)?,
            agent: given(agent),
            attempt: part(line, attempt)?,
        })
    }
}

fn parts(line: &str) -> Result<[&str; 5], BadLine> {
    let found: Vec<&str> = line.split('|').collect();
    let count = found.len();
    found.try_into().map_err(|_| bad(line, &format!("it has {count} parts, not 5")))
}

fn part<T: FromStr<Err: std::fmt::Display>>(line: &str, text: &str) -> Result<T, BadLine> {
    text.parse().map_err(|error: T::Err| bad(line, &error))
}

fn given(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn bad(line: &str, why: &dyn std::fmt::Display) -> BadLine {
    BadLine { line: line.to_owned(), why: why.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read() {
        let agent: AgentLine = "busy|0.82|task_auth_001|1736332230000|coder".parse().unwrap();
        assert_eq!((agent.status, agent.confidence), (AgentStatus::Busy, 0.82));
        assert_eq!(
            (agent.task.as_deref(), agent.lease_end),
            (Some("task_auth_001"), Some(1_736_332_230_000))
        );
        assert_eq!(agent.role, "coder");
        let idle: AgentLine = "idle|0|||tester".parse().unwrap();
        assert_eq!((idle.task, idle.lease_end), (None, None));
        let task: TaskLine = "in_progress|high|40|agent_dev00001|1".parse().unwrap();
        assert_eq!(
            (task.status, task.priority, task.progress),
            (TaskStatus::InProgress, Priority::High, 40.0)
        );
        assert_eq!((task.agent.as_deref(), task.attempt), (Some("agent_dev00001"), 1));
    }

    #[test]
    fn what_is_no_line_is_told() {
        for line in [
            "",
            "idle",
            "idle|0||",
            "idle|0|||coder|more",
            "asleep|0|||coder",
            "idle|much|||coder",
            "idle|0||soon|coder",
        ] {
            let error = line.parse::<AgentLine>().unwrap_err();
            assert!(error.to_string().contains("is no line of a roster"), "{error}");
        }
        assert!("pending|urgent|0||0".parse::<TaskLine>().is_err());
    }
}
