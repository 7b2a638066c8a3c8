//! Who may come in, by which way, and what this user may run.

use serde_json::json;

use super::check::Check;
use super::evidence::{AclUser, Asked};
use crate::members::{NoAnswer, Way};

type Answer<T> = Result<T, NoAnswer>;

/// Who we are here, and whether somebody comes in without being anyone.
pub(super) fn user(way: Way, asked: &Asked, whoami: &Answer<String>, default: &Answer<AclUser>) -> Check {
    let login = asked.login.as_deref().unwrap_or("default");
    let me = whoami.as_deref().unwrap_or(login);
    let check = match default {
        Err(why) => {
            let check = Check::unknown("user", "ACL GETUSER", why);
            Check { fact: format!("{me}; whether `default` is open is not known: {}", check.fact), ..check }
        }
        Ok(default) => known_user(way, asked, me, *default),
    };
    let open = default.as_ref().ok().map(|default| default.is_open());
    check.numbers(json!({ "user": me, "default_is_open": open }))
}

fn known_user(way: Way, asked: &Asked, me: &str, default: AclUser) -> Check {
    let own_users = format!("keyplane keys acl --schema {} --print", asked.schema);
    if default.is_open() && way == Way::Network {
        return Check::bad(
            "user",
            "whoever reaches the port is in: `default` needs no password",
            "ACL SETUSER default off, once each component has its own user: ".to_owned() + &own_users,
        );
    }
    if me == "default" && default.all_commands {
        let password = if default.without_password { " and needs no password" } else { "" };
        return Check::warning(
            "user",
            format!("default, who may do everything{password}"),
            format!("give each component its own user: {own_users}"),
        );
    }
    if default.is_open() {
        return Check::warning(
            "user",
            format!("{me}; but `default` needs no password, for whoever is on that machine"),
            "ACL SETUSER default off, and the same in the server's configuration",
        );
    }
    let closed = if default.on { "needs a password" } else { "is off" };
    Check::good("user", format!("{me}; `default` {closed}"))
}

impl AclUser {
    fn is_open(self) -> bool {
        self.on && self.without_password
    }
}

pub(super) fn tls(way: Way, asked: &Asked) -> Check {
    match (asked.tls, way) {
        (true, _) => Check::good("tls", "in use"),
        (false, Way::Socket) => Check::good("tls", "not needed: a Unix socket"),
        (false, Way::Loopback) => Check::good("tls", "not needed: the server is on this machine"),
        (false, Way::Network) => Check::warning(
            "tls",
            "not in use: passwords and values cross the network as they are",
            "give the server a tls-port with a certificate, and use rediss:// here",
        ),
    }
    .numbers(json!({ "tls": asked.tls }))
}

/// Atomic steps are scripts; those that only look are run as read-only.
pub(super) fn scripts(answer: &Answer<()>) -> Check {
    match answer {
        Ok(()) => Check::good("scripts", "read-only scripts run"),
        Err(NoAnswer::Otherwise(why)) if why.contains("unknown command") => Check::bad(
            "scripts",
            "the server has no read-only scripts (EVAL_RO)",
            "use Redis 7.0 or later, or Valkey",
        ),
        Err(why) => Check::unknown("scripts", "EVAL_RO", why),
    }
}

#[cfg(test)]
mod tests {
    use super::super::check::State;
    use super::super::evidence::asked;
    use super::*;

    const OPEN: AclUser = AclUser { on: true, without_password: true, all_commands: true };

    fn state(way: Way, me: &str, default: AclUser) -> State {
        user(way, &asked(), &Ok(me.to_owned()), &Ok(default)).state
    }

    #[test]
    fn an_open_door_is_bad_on_the_network_and_a_warning_at_home() {
        assert_eq!(state(Way::Network, "default", OPEN), State::Bad);
        assert_eq!(state(Way::Network, "node", OPEN), State::Bad);
        assert_eq!(state(Way::Loopback, "node", OPEN), State::Warning);
        assert_eq!(state(Way::Socket, "default", OPEN), State::Warning);
    }

    #[test]
    fn default_with_all_rights_is_a_warning_and_an_own_user_is_good() {
        let closed = AclUser { without_password: false, ..OPEN };
        assert_eq!(state(Way::Network, "default", closed), State::Warning);
        assert_eq!(state(Way::Network, "node", closed), State::Good);
        let off = AclUser { on: false, ..OPEN };
        assert_eq!(state(Way::Network, "node", off), State::Good);
        let advice = user(Way::Network, &asked(), &Ok("default".into()), &Ok(closed)).advice;
        let expected = "give each component its own user: keyplane keys acl --schema market --print";
        assert_eq!(advice.as_deref(), Some(expected));
    }

    #[test]
    fn tls_matters_on_the_network() {
        let state = |way, tls| super::tls(way, &Asked { tls, ..asked() }).state;
        assert_eq!(state(Way::Network, false), State::Warning);
        assert_eq!(state(Way::Network, true), State::Good);
        assert_eq!(state(Way::Loopback, false), State::Good);
        assert_eq!(state(Way::Socket, false), State::Good);
    }
}
