//! The server as a whole, and connections.

use crate::frame::Compare::{Exact, Pairs, Shape, Success, Unordered};
use crate::grammar::{CLIENTS, Family, Gen, Template};

pub(crate) fn server() -> Family {
    Family { templates: TEMPLATES, feed }
}

fn feed(g: &mut Gen) {
    match g.rng.u32(..4) {
        0 => g.command("CLIENT SETNAME").arg("somebody"),
        1 => g.command("SELECT 1").command("SET").key("string").value().command("SELECT 0"),
        _ => g.command("SET").key("string").value(),
    };
}

const TEMPLATES: &[Template] = &[
    Template::keyless("PING", &["text", "bad"], Exact, |g| {
        g.command("PING");
        if g.option("text") {
            g.value();
        }
        if g.option("bad") {
            g.arg("x").arg("y");
        }
    }),
    Template::keyless("ECHO", &[], Exact, |g| {
        g.command("ECHO").value();
    }),
    Template::keyless("SELECT", &[], Exact, |g| {
        let db = g.pick(&["0", "1", "15", "16", "-1", "x", "2147483647", "2147483648", "-2147483649", ""]);
        g.command("SELECT").arg(db);
        g.command("SELECT 0");
    }),
    Template::keyless("HELLO", &["AUTH", "SETNAME", "bad"], Exact, hello),
    Template::keyless("AUTH", &["user", "bad"], Exact, |g| {
        g.command("AUTH");
        if g.option("user") {
            let user = g.pick(&["default", "nobody"]);
            g.arg(user);
        }
        g.arg("secret");
        if g.option("bad") {
            g.arg("x").arg("y");
        }
    }),
    Template::keyless("password", &["HELLO", "wrong"], Exact, password),
    Template::keyless("RESET", &["elsewhere"], Exact, |g| {
        if g.option("elsewhere") {
            g.command("SELECT 1");
        }
        g.command("RESET");
        if g.client() == CLIENTS - 1 {
            g.command("HELLO 3").compared(Shape);
        }
        // Where it is now.
        g.command("SET").key("string").value().compared(Exact);
        g.command("SELECT 0");
    }),
    Template::keyless("QUIT", &["late"], Exact, |g| {
        if g.option("late") {
            g.command("MULTI");
        }
        g.command("QUIT x");
    }),
    Template::keyless("CLIENT ID", &[], Shape, |g| {
        g.command("CLIENT ID");
    }),
    Template::keyless("CLIENT SETNAME", &[], Exact, |g| {
        let name = g.pick(&["a", "", "b c", "d\n", "\u{e9}", "~!", "long-name"]);
        g.command("CLIENT SETNAME").arg(name);
        g.command("CLIENT GETNAME");
    }),
    Template::keyless("CLIENT INFO", &[], Shape, |g| {
        g.command("CLIENT INFO");
    }),
    Template::keyless("CLIENT LIST", &["TYPE", "ID", "bad"], Shape, client_list),
    Template::keyless("CLIENT KILL", &["ID", "TYPE", "USER", "SKIPME", "old"], Exact, client_kill),
    Template::keyless("CLIENT UNBLOCK", &["TIMEOUT", "ERROR", "bad", "nobody"], Exact, client_unblock),
    Template::keyless("CLIENT REPLY", &["ON", "OFF", "SKIP", "bad"], Exact, client_reply),
    Template::keyless("CLIENT NO-EVICT", &[], Exact, |g| {
        let how = g.pick(&["ON", "off", "x"]);
        g.command("CLIENT NO-EVICT").arg(how);
    }),
    Template::keyless("CLIENT TRACKING", &["REDIRECT", "PREFIX", "flags"], Exact, client_tracking),
    Template::keyless("CLIENT others", &[], Exact, |g| {
        let words = g.pick(&[
            "CLIENT GETREDIR",
            "CLIENT TRACKINGINFO",
            "CLIENT CACHING YES",
            "CLIENT UNPAUSE",
            "CLIENT PAUSE 0",
            "CLIENT PAUSE 0 WRITE",
            "CLIENT PAUSE 0 NO",
            "CLIENT PAUSE x",
            "CLIENT PAUSE -1 ALL",
            "CLIENT PAUSE 1 ALL x",
            "CLIENT HELP",
            "CLIENT SETINFO lib-name x",
            "CLIENT NO-TOUCH on",
            "CLIENT",
            "CLIENT ID x",
            "CLIENT KILL",
            "CLIENT UNBLOCK",
            "CLIENT UNBLOCK 1 TIMEOUT x",
        ]);
        g.command(words);
    }),
    Template::keyless("INFO", &["several", "all"], Shape, |g| {
        g.command("INFO");
        for _ in 0..if g.option("several") { 3 } else { 1 } {
            let section = g.pick(&["server", "CLIENTS", "memory", "stats", "keyspace", "default", "nosuch"]);
            g.arg(section);
        }
        if g.option("all") {
            g.arg("everything");
        }
    }),
    Template::keyless("CONFIG GET", &["several", "pattern"], Pairs, |g| {
        let names =
            ["slowlog-max-len", "requirepass", "notify-keyspace-events", "maxmemory", "DATABASES", "nosuch"];
        let name = g.pick(&names);
        g.command("CONFIG GET").arg(name);
        if g.option("several") {
            let name = g.pick(&names);
            g.arg(name).arg("maxmemory-policy");
        }
        if g.option("pattern") {
            let pattern =
                g.pick(&["slowlog-*", "SLOWLOG-l?*", "requirepas[s]", "nosuch*", "proto-max-bulk-le?"]);
            g.arg(pattern);
        }
    }),
    Template::keyless("CONFIG SET", &["several", "bad"], Exact, config_set),
    Template::keyless("DBSIZE", &[], Exact, |g| {
        g.command("DBSIZE");
    }),
    Template::keyless("TIME", &[], Exact, |g| {
        g.command("TIME");
    }),
    Template::keyless("FLUSHALL", &["ASYNC", "SYNC", "bad"], Exact, |g| flush(g, "FLUSHALL")),
    Template::keyless("FLUSHDB", &["ASYNC", "SYNC", "bad"], Exact, |g| flush(g, "FLUSHDB")),
    Template::keyless("SWAPDB", &["bad"], Exact, |g| {
        g.command("SWAPDB");
        if g.option("bad") {
            let pair = g.pick(&[["x", "0"], ["0", "x"], ["0", "16"], ["-1", "0"], ["2147483648", "0"]]);
            g.arg(pair[0]).arg(pair[1]);
        } else {
            let pair = g.pick(&[["0", "1"], ["1", "0"], ["1", "1"]]);
            g.arg(pair[0]).arg(pair[1]);
        }
    }),
    Template::keyless("WATCH and flush", &[], Exact, watch),
    Template::keyless("SLOWLOG", &["GET", "LEN", "RESET", "bad"], Exact, slowlog),
    Template::keyless("MEMORY USAGE", &["SAMPLES", "bad"], Shape, |g| {
        g.command("MEMORY USAGE").key("string");
        if g.word("SAMPLES") {
            g.int();
        }
        if g.option("bad") {
            g.arg("x");
        }
    }),
    Template::keyless("COMMAND GETKEYS", &[], Exact, |g| {
        let words = g.pick(&[
            "GET a",
            "MSET a b c d",
            "MSET a b c",
            "COPY a b DB 1",
            "DEL a b c",
            "OBJECT ENCODING a",
            "PING x",
            "GET a b",
            "nosuch x",
            "OBJECT nosuch x",
            "WATCH a b",
            "CONFIG GET a",
        ]);
        g.command(&format!("COMMAND GETKEYS {words}"));
    }),
    Template::keyless("COMMAND LIST", &["MODULE", "PATTERN", "ACLCAT", "bad"], Unordered, command_list),
    Template::keyless("COMMAND INFO", &[], Shape, |g| {
        g.command("COMMAND INFO get nosuch object|encoding OBJECT|nosuch");
    }),
    Template::keyless("COMMAND DOCS", &[], Shape, |g| {
        g.command("COMMAND DOCS get nosuch config");
    }),
    Template::keyless("others", &[], Exact, |g| {
        let words = g.pick(&[
            "ROLE",
            "WAIT 0 0",
            "WAIT 0 10",
            "WAIT x 0",
            "WAIT 0 x",
            "WAIT 0 -1",
            "ACL WHOAMI",
            "ACL NOSUCH",
            "LOLWUT",
            "LOLWUT VERSION x",
            "LOLWUT VERSION 7",
            "CONFIG HELP",
            "CONFIG RESETSTAT",
            "SLOWLOG HELP",
            "CONFIG",
            "CONFIG NOSUCH",
            "SLOWLOG",
            "MEMORY NOSUCH",
            "COMMAND NOSUCH",
            "COMMAND COUNT x",
            "MONITOR x",
        ]);
        g.command(words);
    }),
    Template::keyless("counts", &[], Success, |g| {
        let words = g.pick(&["COMMAND COUNT", "COMMAND", "COMMAND INFO", "COMMAND DOCS", "LASTSAVE"]);
        g.command(words);
    }),
];

fn hello(g: &mut Gen) {
    let version = g.pick(&["2", "3", "3", "4", "1", "x", "-1"]);
    // The number of the connection is another on each side.
    g.command("HELLO").compared(Shape).arg(version);
    if g.word("AUTH") {
        let user = g.pick(&["default", "nobody"]);
        g.arg(user).arg("secret");
    }
    if g.word("SETNAME") {
        let name = g.pick(&["a", "b c"]);
        g.arg(name);
    }
    if g.option("bad") {
        let word = g.pick(&["AUTH", "SETNAME", "NO"]);
        g.arg(word);
    }
    g.command("CLIENT GETNAME").compared(Exact);
    let own = if g.client() == CLIENTS - 1 { "HELLO 3" } else { "HELLO 2" };
    g.command(own).compared(Shape);
}

/// Of which every connection but the one that sets it knows nothing.
fn password(g: &mut Gen) {
    let (by_hello, wrong) = (g.option("HELLO"), g.option("wrong"));
    g.by(0).command("DISCARD");
    g.command("CONFIG SET requirepass secret");
    g.command("RESET");
    g.command("PING");
    g.command("NOSUCH");
    g.command("MULTI");
    if by_hello {
        g.command("HELLO 2");
        g.command("HELLO 2 AUTH default secret").compared(Shape);
    }
    if wrong {
        g.command("AUTH wrong").compared(Exact);
        g.command("AUTH nobody secret");
    }
    g.command("AUTH secret").compared(Exact);
    g.command("PING");
    g.command("CONFIG SET requirepass").arg("");
    g.command("AUTH secret");
}

fn client_list(g: &mut Gen) {
    g.command("CLIENT LIST");
    if g.option("TYPE") {
        let kind = g.pick(&["normal", "PUBSUB", "master", "replica", "nosuch"]);
        g.arg("TYPE").arg(kind);
    } else if g.option("ID") {
        let client = g.rng.usize(..CLIENTS);
        g.arg("ID").client_id(client);
        if g.one_in(4) {
            g.arg("x");
        }
    }
    if g.option("bad") {
        g.arg("ID");
    }
}

fn client_kill(g: &mut Gen) {
    let client = g.rng.usize(..CLIENTS);
    g.command("CLIENT KILL");
    if g.option("old") {
        g.arg("1.2.3.4:5");
        return;
    }
    // Never without a number: the others on the server are not all of the sequence.
    g.arg("ID");
    if g.option("ID") {
        g.client_id(client);
    } else {
        let id = g.pick(&["0", "-1", "x", "999999999"]);
        g.arg(id);
    }
    if g.word("TYPE") {
        let kind = g.pick(&["normal", "pubsub", "nosuch"]);
        g.arg(kind);
    }
    if g.word("USER") {
        let user = g.pick(&["default", "nobody"]);
        g.arg(user);
    }
    if g.word("SKIPME") {
        let skip = g.pick(&["yes", "no", "no", "x"]);
        g.arg(skip);
    }
    if g.one_in(8) {
        g.arg("ADDR");
    }
}

fn client_unblock(g: &mut Gen) {
    let client = g.rng.usize(..CLIENTS);
    g.command("CLIENT UNBLOCK");
    if g.option("nobody") {
        let id = g.pick(&["999999999", "-1", "0", "x"]);
        g.arg(id);
    } else {
        g.client_id(client);
    }
    if let Some(how) = g.one_of(&["TIMEOUT", "ERROR", "bad"]) {
        g.arg(how);
    }
}

fn client_reply(g: &mut Gen) {
    let how = g.one_of(&["ON", "OFF", "SKIP", "bad"]).unwrap_or("SKIP");
    g.command("CLIENT REPLY").arg(how);
    g.command("ECHO 1");
    if g.one_in(2) {
        g.command("CLIENT REPLY SKIP");
        g.command("NOSUCH");
    }
    if g.one_in(4) {
        g.command("RESET");
        if g.client() == CLIENTS - 1 {
            g.command("HELLO 3").compared(Shape);
        }
    }
    g.command("ECHO 2").compared(Exact);
    g.command("CLIENT REPLY ON");
    g.command("ECHO 3");
}

/// It can only be off.
fn client_tracking(g: &mut Gen) {
    let how = g.pick(&["off", "OFF", "x"]);
    g.command("CLIENT TRACKING").arg(how);
    if g.option("REDIRECT") {
        g.arg("REDIRECT").client_id(0);
        if g.one_in(3) {
            let id = g.pick(&["x", "999999999", "1"]);
            g.arg("redirect").arg(id);
        }
    }
    if g.option("PREFIX") {
        g.arg("PREFIX").arg("a");
    }
    if g.option("flags") {
        let word = g.pick(&["BCAST", "OPTIN", "optout", "NOLOOP", "PREFIX", "REDIRECT", "NO"]);
        g.arg(word);
    }
}

fn config_set(g: &mut Gen) {
    let pairs = [
        ["slowlog-max-len", "7"],
        ["SLOWLOG-log-slower-than", "20000"],
        ["slowlog-log-slower-than", "-1"],
        ["notify-keyspace-events", "KEA"],
        ["notify-keyspace-events", ""],
    ];
    let wrong = [
        ["slowlog-max-len", "-1"],
        ["Slowlog-max-len", "x"],
        ["slowlog-log-slower-than", "-2"],
        ["slowlog-log-slower-than", "1.5"],
        ["slowlog-max-len", "99999999999999999999"],
        ["notify-keyspace-events", "KEq"],
        ["databases", "3"],
        ["Cluster-enabled", "yes"],
        ["nosuch", "x"],
    ];
    g.command("CONFIG SET");
    for _ in 0..if g.option("several") { 2 } else { 1 } {
        let pair = g.pick(&pairs);
        g.arg(pair[0]).arg(pair[1]);
    }
    if g.option("bad") {
        let pair = g.pick(&wrong);
        g.arg(pair[0]);
        if !g.one_in(8) {
            g.arg(pair[1]);
        }
    }
    g.command("CONFIG GET slowlog-* notify-keyspace-events").compared(Pairs);
}

fn flush(g: &mut Gen, command: &str) {
    g.command(command);
    if let Some(how) = g.one_of(&["ASYNC", "SYNC", "bad"]) {
        g.arg(how);
    }
}

fn watch(g: &mut Gen) {
    let (client, other) = (g.pick(&[1, 2]), 0);
    g.by(client).command("DISCARD");
    if g.one_in(3) {
        g.by(other).command("SELECT 1").command("SET").key("string").value().command("SELECT 0");
        g.by(client);
    }
    g.command("UNWATCH");
    g.command("WATCH").key("string");
    let how = g.pick(&["FLUSHALL", "FLUSHDB", "SWAPDB 0 1", "SWAPDB 1 0", "SWAPDB 1 1", "PING"]);
    g.by(other).command(how);
    g.by(client).command("MULTI");
    g.command("EXEC");
}

/// The server times its own commands as well, so none is slow enough for either.
fn slowlog(g: &mut Gen) {
    let how = g.one_of(&["GET", "LEN", "RESET", "bad"]).unwrap_or("LEN");
    g.command("SLOWLOG").arg(how);
    if how == "GET" && g.one_in(2) {
        g.int();
    }
    if how == "GET" && g.one_in(8) {
        g.arg("x");
    }
}

/// Only names that both know.
fn command_list(g: &mut Gen) {
    let how = g.one_of(&["MODULE", "PATTERN", "ACLCAT", "bad"]).unwrap_or("PATTERN");
    g.command("COMMAND LIST FILTERBY").arg(how);
    match how {
        "PATTERN" => {
            let pattern = g.pick(&["config|*", "GETSE?", "psub*", "x", "select", "swap*", "client|un*"]);
            g.arg(pattern)
        }
        "ACLCAT" => g.arg("nosuch"),
        _ => g.arg("json"),
    };
    if g.one_in(8) {
        g.arg("x");
    }
}
