//! A typed write becomes what is sent: with the TTL of the contract, and refused over its limits.
//!
//! SET says its TTL itself. Everything else that needs one, or a limit, goes through `write.lua`: one round trip, atomic,
//! so that a connection cut in the middle cannot leave a key without its TTL.

use std::sync::LazyLock;
use std::time::Duration;

use keyplane_key::Command;

use crate::error::{Cause, Error};
use crate::rules::{Expiry, Rule, Rules};
use crate::wire::Request;

/// The guarded write.
pub(crate) const SOURCE: &str = include_str!("write.lua");

/// What is sent for a command.
pub(crate) enum Plan {
    /// The command itself.
    Plain(Request),
    /// The command inside the guarded write.
    Guarded(Guard),
}

/// How a guarded write is to be done.
pub(crate) struct Guard {
    expiry: Expiry,
    /// Items that the key may have.
    most: Option<u64>,
    /// What those are called.
    items: &'static str,
    /// Entries after which a stream drops its oldest.
    keep: Option<u64>,
    parent: &'static str,
}

/// The SHA of the guarded write.
pub(crate) fn sha() -> &'static str {
    static SHA: LazyLock<String> = LazyLock::new(|| sha1_smol::Sha1::from(SOURCE).digest().to_string());
    &SHA
}

/// Checks a command against the rules and makes what is sent.
pub(crate) fn plan<R>(rules: &Rules, command: &Command<R>) -> Result<Plan, Cause> {
    let rule = rules.of_command(command)?;
    if !command.effect().creates() && command.second_info().is_none() {
        return Ok(Plan::Plain(plain(command)));
    }
    check_bytes(rule, command)?;
    // What is moved appears in the second key, so that one's TTL and limit count.
    let target = command.second_info().map_or(Ok(rule), |info| rules.key(info))?;
    let expiry = target.expiry(command.life())?;
    let most = most_items(target, command);
    let keep = rule.limits.members.filter(|_| command.name() == "XADD");
    if most.is_none()
        && let Some(request) = by_itself(command, &expiry, keep)
    {
        return Ok(Plan::Plain(request));
    }
    check_parent(command, &expiry)?;
    let items = if command.name().starts_with('H') { "fields" } else { "members" };
    let parent = command.parent().map_or("", |(info, _)| info.name);
    Ok(Plan::Guarded(Guard { expiry, most, items, keep, parent }))
}

/// The command as it stands.
pub(crate) fn plain<R>(command: &Command<R>) -> Request {
    with_room(command, 0, 0)
}

/// The same with room for what is to follow.
fn with_room<R>(command: &Command<R>, more_args: usize, more_bytes: usize) -> Request {
    let args = command.args();
    let mut request = Request::sized(command.name(), args.len() + more_args, args.bytes() + more_bytes);
    for arg in args {
        request.push(arg);
    }
    request
}

/// The command where it can carry its TTL and limit itself, or needs neither.
fn by_itself<R>(command: &Command<R>, expiry: &Expiry, keep: Option<u64>) -> Option<Request> {
    match (command.name(), expiry) {
        ("SET", Expiry::Renew(lasts)) => {
            let mut request = with_room(command, 2, 16);
            request.push(b"PX");
            request.push_number(millis(*lasts));
            Some(request)
        }
        ("SET", Expiry::Leave) => Some(plain(command).arg("KEEPTTL")),
        ("XADD", Expiry::Never | Expiry::Leave) => Some(bounded_xadd(command, keep)),
        (_, Expiry::Never | Expiry::Leave) => Some(plain(command)),
        _ => None,
    }
}

/// Where a stream has a limit, the oldest entries go.
fn bounded_xadd<R>(command: &Command<R>, most: Option<u64>) -> Request {
    let mut args = command.args().iter();
    let mut request = Request::sized("XADD", args.len() + 2, command.args().bytes() + 16);
    request.push(args.next().unwrap_or_default());
    push_bound(&mut request, most);
    args.for_each(|arg| request.push(arg));
    request
}

fn push_bound(request: &mut Request, most: Option<u64>) {
    if let Some(most) = most {
        request.push(b"MAXLEN");
        request.push(most.to_string().as_bytes());
    }
}

/// The number of items that the server must check against. Streams drop their oldest instead.
fn most_items<R>(rule: &Rule, command: &Command<R>) -> Option<u64> {
    match command.name() {
        "HSET" | "HSETNX" | "HINCRBY" | "HINCRBYFLOAT" => rule.limits.fields,
        "SADD" | "ZADD" | "ZINCRBY" | "LPUSH" | "RPUSH" | "LMOVE" => rule.limits.members,
        _ => None,
    }
}

/// What one command brings may not be larger than the whole key.
fn check_bytes<R>(rule: &Rule, command: &Command<R>) -> Result<(), Cause> {
    let Some(most) = rule.limits.bytes else { return Ok(()) };
    let would_be = (command.args().bytes() - command.key().len()) as u64;
    if would_be > most { Err(Cause::Limit { what: "bytes", most, would_be }) } else { Ok(()) }
}

fn check_parent<R>(command: &Command<R>, expiry: &Expiry) -> Result<(), Cause> {
    match (expiry, command.parent()) {
        // A move has its second key where the parent would be: such a step is a script of its own.
        (Expiry::Linked { to, .. }, Some((info, _)))
            if info.name == to && command.second_info().is_none() =>
        {
            Ok(())
        }
        (Expiry::Linked { .. }, _) => {
            let parent = match command.info().ttl.policy {
                keyplane_key::Policy::Linked { to } => to,
                _ => "parent",
            };
            Err(Cause::NeedsParent { parent })
        }
        _ => Ok(()),
    }
}

impl Guard {
    /// What the guarded write refused, which comes as an error of the server, in words of ours.
    pub(crate) fn explain(&self, error: Error) -> Error {
        let Cause::Server(answered) = error.cause() else { return error };
        let cause = match (answered.code.as_str(), self.most) {
            ("OVERLIMIT", Some(most)) => {
                let would_be = answered.message.trim().parse().unwrap_or(most + 1);
                Cause::Limit { what: self.items, most, would_be }
            }
            ("NOPARENT", _) => Cause::NoParent { parent: self.parent },
            _ => return error,
        };
        Error::refused(error.operation().clone(), cause)
    }

    /// For a command that may block and so cannot be inside a script: the command, and its TTL right behind it.
    pub(crate) fn command_then_expiry<R>(&self, command: &Command<R>) -> Vec<Request> {
        let target = if command.second_info().is_some() { command.args().get(1) } else { None };
        let target = target.unwrap_or_else(|| command.key());
        let expire = |lasts: &Duration| Request::new("PEXPIRE").arg(target).arg(millis(*lasts).to_string());
        match &self.expiry {
            Expiry::Renew(lasts) => vec![plain(command), expire(lasts)],
            Expiry::Once(lasts) => vec![plain(command), expire(lasts).arg("NX")],
            _ => vec![plain(command)],
        }
    }

    /// By its SHA; `Request::with_source` is the same for a server that does not know it.
    pub(crate) fn by_sha<R>(&self, command: &Command<R>) -> Request {
        let mut args = command.args().iter();
        let mut request =
            Request::sized("EVALSHA", args.len() + 8, command.args().bytes() + sha().len() + 48);
        request.push(sha().as_bytes());
        let second = command.second_info().is_some();
        let parent = command.parent().filter(|_| matches!(self.expiry, Expiry::Linked { .. }));
        request.push(if second || parent.is_some() { b"2" } else { b"1" });
        request.push(args.next().unwrap_or_default());
        if second {
            request.push(args.next().unwrap_or_default());
        }
        if let Some((_, parent)) = parent {
            request.push(parent.as_bytes());
        }
        self.push_rule(command.name(), &mut request);
        push_bound(&mut request, self.keep);
        args.for_each(|arg| request.push(arg));
        if command.name() == "SET" {
            // SET alone would end the TTL that the first write began.
            request.push(b"KEEPTTL");
        }
        request
    }

    fn push_rule(&self, command: &str, request: &mut Request) {
        let (word, lasts) = match &self.expiry {
            Expiry::Never | Expiry::Leave => ("none", Duration::ZERO),
            Expiry::Renew(lasts) => ("renew", *lasts),
            Expiry::Once(lasts) => ("once", *lasts),
            Expiry::Linked { at_least, .. } => ("linked", *at_least),
        };
        request.push(word.as_bytes());
        request.push_number(millis(lasts));
        request.push(self.most.map(|most| most.to_string()).unwrap_or_default().as_bytes());
        request.push(command.as_bytes());
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).max(1)
}
