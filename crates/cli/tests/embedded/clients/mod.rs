//! Clients that nobody here wrote, in ordinary use, against the port of `keyplane store`.
//!
//! `cargo xtask test` fetches the packages and says where they are.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use keyplane_testing::skip;

use crate::owner::Owner;

/// The folder of the packages.
const PACKAGES: &str = "KEYPLANE_TEST_CLIENTS";

/// Runs a script that ends with an error where something is not as it should be. What it says in the end.
fn said(test: &str, program: &str, script: &str, variable: &str, packages: &str) -> String {
    let Some(clients) = std::env::var_os(PACKAGES) else {
        skip(&format!("{test}: {PACKAGES} is not set; `cargo xtask test` fetches the packages"));
        return String::new();
    };
    let packages: OsString = Path::new(&clients).join(packages).into();
    let folder = tempfile::tempdir().unwrap();
    let owner = Owner::start(folder.path(), "everysec");
    let (_, port) = owner.address.rsplit_once(':').expect("a port");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/embedded/clients").join(script);
    let output = Command::new(program).arg(script).arg(port).env(variable, packages).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("all well"), "{said}{errors}");
    said.into_owned()
}

#[test]
fn redis_py() {
    println!("{}", said("redis_py", "python3", "ordinary.py", "PYTHONPATH", "python"));
}

#[test]
fn ioredis() {
    println!("{}", said("ioredis", "node", "ordinary.cjs", "NODE_PATH", "node/node_modules"));
}
