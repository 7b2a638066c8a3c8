//! `keyplane-test-servers`: how it ends, and that no server outlives the process that started it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead as _, BufReader, Read, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use keyplane_testing::until;
use redis::Connection;

/// Runs a script among the servers of these kinds.
fn start(stores: &str, script: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_keyplane-test-servers"))
        .args(["--stores", stores, "--", "sh", "-c", script])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Connections to the servers that the script has listed.
fn connect(tool: &mut Child, count: usize) -> Vec<Connection> {
    let stream = tool.stderr.as_mut().unwrap() as &mut dyn Read;
    let lines = BufReader::new(stream).lines().map(Result::unwrap);
    let urls = lines.filter_map(|line| line.split_once('\t').map(|(_, url)| url.to_owned())).take(count);
    urls.map(|url| redis::Client::open(url).unwrap().get_connection().unwrap()).collect()
}

fn pid(connection: &mut Connection) -> u32 {
    let info: String = redis::cmd("INFO").arg("server").query(connection).unwrap();
    info.lines().find_map(|line| line.strip_prefix("process_id:")).unwrap().parse().unwrap()
}

fn signal(name: &str, pid: u32) -> bool {
    Command::new("kill").args([name, &pid.to_string()]).stderr(Stdio::null()).status().unwrap().success()
}

fn is_there(pid: u32) -> bool {
    signal("-0", pid)
}

#[test]
fn servers_go_when_their_process_is_killed() {
    let mut tool = start("redis,unix", "cat $KEYPLANE_TEST_SERVERS >&2; read -r _");
    let mut admins = connect(&mut tool, 2);
    let pids: Vec<u32> = admins.iter_mut().map(pid).collect();
    let dirs: Vec<String> = admins
        .iter_mut()
        .map(|admin| redis::cmd("CONFIG").arg(&["GET", "dir"]).query::<(String, String)>(admin).unwrap().1)
        .collect();
    assert!(pids.iter().all(|pid| is_there(*pid)) && dirs.iter().all(|dir| Path::new(dir).exists()));
    // A frozen server must go as well.
    assert!(signal("-STOP", pids[0]));
    tool.kill().unwrap();
    tool.wait().unwrap();
    until("servers that go with their owner", || {
        let left = pids.iter().filter(|pid| is_there(**pid)).count();
        let dirs = dirs.iter().filter(|dir| Path::new(dir).exists()).count();
        if left + dirs == 0 { Ok(()) } else { Err(format!("{left} servers and {dirs} directories are left")) }
    });
    // Ends the command, which had no server any more.
    let _ = tool.stdin.take().map(|mut stdin| stdin.write_all(b"\n"));
}

#[test]
fn a_request_to_end_goes_to_the_command_first() {
    let script = "trap 'exit 9' TERM; cat $KEYPLANE_TEST_SERVERS >&2; while :; do sleep 0.02; done";
    let mut tool = start("redis", script);
    let mut admins = connect(&mut tool, 1);
    let server = pid(&mut admins[0]);
    // Ctrl-C reaches the command by itself, so here it does nothing.
    assert!(signal("-INT", tool.id()) && is_there(server));
    redis::cmd("PING").exec(&mut admins[0]).unwrap();
    assert!(signal("-TERM", tool.id()));
    assert_eq!(tool.wait().unwrap().code(), Some(9), "the command's own code");
    assert!(!is_there(server));
}

#[test]
fn the_end_of_a_command_by_a_signal_is_told_as_shells_do() {
    let mut tool = start("unix", "kill -KILL $$");
    assert_eq!(tool.wait().unwrap().code(), Some(128 + 9));
}

#[test]
fn the_tool_says_how_it_is_used() {
    let run = |arguments: &[&str]| {
        let output =
            Command::new(env!("CARGO_BIN_EXE_keyplane-test-servers")).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(run(&[]).starts_with("no command to run\nusage: "));
    assert!(
        run(&["--stores", "mysql", "--", "true"])
            .starts_with("no kind of store is `mysql`: there are redis,")
    );
}
