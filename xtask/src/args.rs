//! The command line. Small enough to parse by hand, and then `cargo xtask` builds in a second.

/// What was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Run the steps: all short ones, all with `long`, or `only` one.
    Test { long: bool, only: Option<String> },
    /// Rewrite the generated files.
    Generate,
    /// Plant bugs in the engine: those whose name has `part` in it, or all.
    Planted { part: Option<String> },
    /// Show the commands and steps.
    Help,
}

/// Reads the arguments after `cargo xtask`. No argument at all asks for help.
pub(crate) fn parse(args: impl IntoIterator<Item = String>) -> Result<Task, String> {
    let mut args = args.into_iter();
    let task = match args.next().as_deref() {
        Some("test") => return parse_test(args),
        Some("generate") => Task::Generate,
        Some("planted") => return Ok(parse_planted(args)),
        None | Some("help" | "--help" | "-h") => Task::Help,
        Some(other) => return Err(format!("no command `{other}`")),
    };
    match args.next() {
        None => Ok(task),
        Some(_) if task == Task::Help => Ok(task),
        Some(extra) => Err(format!("unexpected argument `{extra}`")),
    }
}

fn parse_test(mut args: impl Iterator<Item = String>) -> Result<Task, String> {
    let (mut long, mut only) = (false, None);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--long" => long = true,
            "--only" => only = Some(args.next().ok_or("`--only` needs the name of a step")?),
            "--help" | "-h" => return Ok(Task::Help),
            other => match other.strip_prefix("--only=") {
                Some(step) => only = Some(step.to_owned()),
                None => return Err(format!("unexpected argument `{other}`")),
            },
        }
    }
    if let Some(name) = only.as_deref().filter(|name| !crate::steps::exists(name)) {
        return Err(format!("no step `{name}`"));
    }
    Ok(Task::Test { long, only })
}

/// A name has several words, and need not be quoted.
fn parse_planted(args: impl Iterator<Item = String>) -> Task {
    let words: Vec<String> = args.collect();
    match words.as_slice() {
        [] => Task::Planted { part: None },
        [word] if word == "--help" || word == "-h" => Task::Help,
        words => Task::Planted { part: Some(words.join(" ")) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Task, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn a_step_can_be_named_in_both_spellings() {
        let only_fmt = Ok(Task::Test { long: false, only: Some("fmt".to_owned()) });
        assert_eq!(parsed("test --only fmt"), only_fmt);
        assert_eq!(parsed("test --only=fmt"), only_fmt);
        assert_eq!(parsed("test --long"), Ok(Task::Test { long: true, only: None }));
    }

    #[test]
    fn the_name_of_a_bug_may_have_several_words() {
        assert_eq!(parsed("planted"), Ok(Task::Planted { part: None }));
        assert_eq!(parsed("planted ZADD GT"), Ok(Task::Planted { part: Some("ZADD GT".to_owned()) }));
        assert_eq!(parsed("planted --help"), Ok(Task::Help));
    }

    #[test]
    fn what_it_does_not_know_is_refused_by_name() {
        assert_eq!(parsed("tset"), Err("no command `tset`".to_owned()));
        assert_eq!(parsed("test --fast"), Err("unexpected argument `--fast`".to_owned()));
        assert_eq!(parsed("test --only lint"), Err("no step `lint`".to_owned()));
        assert_eq!(parsed("test --only"), Err("`--only` needs the name of a step".to_owned()));
        assert_eq!(parsed("generate docs"), Err("unexpected argument `docs`".to_owned()));
    }

    #[test]
    fn no_argument_asks_for_help() {
        assert_eq!(parsed(""), Ok(Task::Help));
        assert_eq!(parsed("test --help"), Ok(Task::Help));
    }
}
