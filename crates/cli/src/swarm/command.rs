//! The commands, made from the table of operations: parser, help, completions and man pages know them like all others.

use std::borrow::Cow;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Args as _, Command, FromArgMatches, Subcommand};
use keyplane_swarm::api::{Kind, Need, Op, Param, operations};
use serde_json::{Map, Value};

use super::serve::Serve;
use super::sim::Watch;

/// A command of `keyplane swarm`.
#[derive(Debug)]
pub(crate) enum Swarm {
    /// An operation, and what was given to it.
    Op { op: &'static Op, given: Map<String, Value>, follows: bool },
    /// Serve the API.
    Serve(Serve),
    /// Watch a fleet.
    Sim(Watch),
    /// Serve the tools over standard input and output.
    #[cfg(feature = "mcp")]
    Mcp,
}

/// The operation that can be followed, and the flag for it.
const EVENTS: &str = "swarm_events";
const FOLLOW: &str = "follow";

const SERVE: &str = "serve";
const SIM: &str = "sim";
#[cfg(feature = "mcp")]
const MCP: &str = "mcp";

impl Subcommand for Swarm {
    fn augment_subcommands(command: Command) -> Command {
        let command = operations().fold(command, |command, op| match op.words {
            [word] => command.subcommand(of(op, word)),
            [family, verb] => {
                let known = command.find_subcommand(*family).is_some();
                let command = if known { command } else { command.subcommand(group(family)) };
                command.mut_subcommand(*family, |group| group.subcommand(of(op, verb)))
            }
            _ => command,
        });
        // The arguments bring the words of their type, so what the command is about comes after them.
        let serve = Serve::augment_args(Command::new(SERVE)).about("Serve the operations over HTTP");
        let command = command.subcommand(serve.after_help(super::serve::HELP));
        let sim = Watch::augment_args(Command::new(SIM))
            .about("Watch a fleet that claims, works, votes, falls silent and is recovered");
        let command = command.subcommand(sim.after_help(super::sim::HELP));
        #[cfg(feature = "mcp")]
        let command = command.subcommand(
            Command::new(MCP)
                .about("Serve the operations as tools of the Model Context Protocol, over standard input and output")
                .after_help(super::mcp::HELP),
        );
        command
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        [SERVE, SIM].contains(&name) || operations().any(|op| op.words[0] == name)
    }
}

impl FromArgMatches for Swarm {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut words = Vec::new();
        let mut matches = matches;
        while let Some((word, inner)) = matches.subcommand() {
            words.push(word);
            matches = inner;
        }
        match words.as_slice() {
            [SERVE] => return Serve::from_arg_matches(matches).map(Self::Serve),
            [SIM] => return Watch::from_arg_matches(matches).map(Self::Sim),
            #[cfg(feature = "mcp")]
            [MCP] => return Ok(Self::Mcp),
            _ => {}
        }
        let op = operations().find(|op| op.words == words);
        let op = op.ok_or_else(|| clap::Error::new(clap::error::ErrorKind::InvalidSubcommand))?;
        let follows = op.name == EVENTS && matches.get_flag(FOLLOW);
        Ok(Self::Op { op, given: given(op, matches)?, follows })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The command of several operations, such as `task`.
fn group(family: &'static str) -> Command {
    let of_it: Vec<&Op> = operations().filter(|op| op.words.len() == 2 && op.words[0] == family).collect();
    let verbs: Vec<&str> = of_it.iter().map(|op| op.words[1]).collect();
    let lines = of_it.iter().take(2).map(|op| example(&op.examples()[0])).collect::<Vec<_>>();
    Command::new(family)
        .about(about(family, &verbs))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .after_help(format!("Examples:\n{}", lines.join("\n")))
}

/// Of most families a swarm has many; its performance and its lock it has once, and nobody has one consensus.
fn about(family: &str, verbs: &[&str]) -> String {
    let of = match family {
        "performance" | "lock" => format!("The {family} of a swarm"),
        "consensus" => "Consensus rounds of a swarm".to_owned(),
        "memory" => "Memories of a swarm".to_owned(),
        family => format!("{}s of a swarm", capitalised(family)),
    };
    format!("{of}: {}", verbs.join(", "))
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// The command of an operation.
fn of(op: &'static Op, word: &'static str) -> Command {
    let lines = op.examples().map(|line| example(&line)).join("\n");
    let command = Command::new(word)
        .about(op.summary)
        .long_about(format!("{}.\n\n{}", op.summary, op.promise))
        .after_help(format!(
            "Exit codes: 0 carried out; 1 refused; 2 bad input; 3 the store cannot be reached.\n\nExamples:\n{lines}"
        ))
        .args(op.params.iter().map(arg));
    if op.name == EVENTS {
        let follow = Arg::new(FOLLOW).long(FOLLOW).action(ArgAction::SetTrue);
        return command.arg(follow.help("Go on with what comes next, until Ctrl-C."));
    }
    command
}

fn example(line: &str) -> String {
    format!("  keyplane swarm {line}")
}

fn arg(param: &'static Param) -> Arg {
    let arg = Arg::new(param.name).help(param.doc);
    let arg = match param.need {
        Need::Subject => arg.required(true).value_name(param.name.to_uppercase()),
        Need::Required => arg.required(true).long(param.flag()),
        Need::Optional => arg.long(param.flag()),
        // The operation knows its defaults; help tells them.
        Need::Default("") => arg.long(param.flag()),
        Need::Default(default) => arg.long(param.flag()).help(format!("{} [default: {default}]", param.doc)),
    };
    match param.kind {
        Kind::Flag => arg.action(ArgAction::SetTrue),
        Kind::OneOf(words) => arg.value_parser(PossibleValuesParser::new(words)),
        Kind::List(..) => arg.action(ArgAction::Append),
        // That there are none below zero the operation says better.
        Kind::Whole(..) | Kind::Number(..) => arg.allow_negative_numbers(true),
        _ => arg,
    }
}

fn given(op: &Op, matches: &ArgMatches) -> Result<Map<String, Value>, clap::Error> {
    let mut given = Map::new();
    for param in op.params {
        if let Kind::Flag = param.kind {
            if matches.get_flag(param.name) {
                given.insert(param.name.to_owned(), true.into());
            }
            continue;
        }
        for text in matches.get_many::<String>(param.name).into_iter().flatten() {
            let text = from_file(&param.kind, text)?;
            match (given.get_mut(param.name), param.kind.from_text(&text)) {
                (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
                (_, value) => drop(given.insert(param.name.to_owned(), value)),
            }
        }
    }
    Ok(given)
}

/// JSON may stand in a file: `@FILE`, or `@-` for standard input.
fn from_file<'t>(kind: &Kind, text: &'t str) -> Result<Cow<'t, str>, clap::Error> {
    let is_json = matches!(kind, Kind::Object(_) | Kind::Json(_));
    let Some(file) = text.strip_prefix('@').filter(|_| is_json) else { return Ok(text.into()) };
    let read =
        if file == "-" { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(file) };
    read.map(Cow::Owned).map_err(|error| {
        clap::Error::raw(clap::error::ErrorKind::Io, format!("cannot read {file}: {error}\n"))
    })
}
