//! Generated ACL users do on a real server what the contract declares, and nothing else.
//!
//! Commands and scripts are executed, not asked about: `ACL DRYRUN` does not look inside scripts. What is expected comes from
//! owners and operations and from the tests' own table of verbs, never from the generated key patterns.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod limits;
mod loaded;
mod lookalikes;
mod operations;
mod probes;
mod scripts;
#[path = "../server/mod.rs"]
mod server;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use keyplane_schema::{Contract, Naming};
use loaded::Loaded;
use server::{redis_server, skip, valkey_server};

const SYSTEMS: [&str; 5] = ["sequencer", "mempool", "docket", "market", "swarm"];

/// Reading a contract includes all its checks, so it is done once.
static CONTRACTS: LazyLock<Vec<Arc<Contract>>> = LazyLock::new(|| SYSTEMS.map(contract).map(Arc::new).into());

fn contract(system: &str) -> Contract {
    let file: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../systems", system, "keys.toml"].iter().collect();
    let source = fs::read_to_string(&file).unwrap();
    keyplane_schema::parse(&file.display().to_string(), &source).unwrap_or_else(|broken| panic!("{broken}"))
}

/// Every contract in both spellings of its keys.
fn every_contract(program: &Path, mut check: impl FnMut(&str, &mut Loaded)) {
    for contract in CONTRACTS.iter() {
        for (spelling, naming) in [("plain", Naming::plain(contract)), ("hash tags", Naming::tagged(contract))] {
            let mut loaded = Loaded::new(program, Arc::clone(contract), naming);
            check(&format!("{}, {spelling}", contract.name), &mut loaded);
        }
    }
}

fn operations_pass_for_their_owners_only(program: &Path) {
    every_contract(program, |name, loaded| {
        let tally = operations::try_all(loaded);
        println!(
            "{name}: {} pairs of component and operation ({} commands, each plain and twice in scripts): \
             {} own, all pass; {} foreign, of which {} refused and {} within the component's own rights: {}",
            tally.pairs,
            tally.commands,
            tally.own,
            tally.refused + tally.covered.len(),
            tally.refused,
            tally.covered.len(),
            tally.covered.join(", "),
        );
    });
}

fn declared_and_effective_access_agree(program: &Path) {
    every_contract(program, |name, loaded| {
        let table = table::probe_all(loaded);
        let (rows, strangers) = (table.len(), table.strangers);
        let (tried, allowed) = (table.tried, table.allowed);
        let text = if loaded.naming.hash_tags { String::new() } else { table.text() };
        println!("{name}: {rows} rows, {strangers} strangers; {tried} commands tried, {allowed} allowed\n{text}");
        assert!(table.differences.is_empty(), "{name}: {:#?}", table.differences);
    });
}

fn nobody_goes_beyond(program: &Path) {
    every_contract(program, |name, loaded| {
        let peeked = limits::try_to_write_what_is_only_peeked(loaded);
        println!("{name}: {peeked} pairs of component and key only peek, and no write passed");
        limits::try_dangerous_commands(loaded);
        limits::try_commands_on_request(loaded);
        limits::try_a_key_outside_the_contract(loaded);
    });
}

fn lookalikes_stay_in_their_family(program: &Path) {
    every_contract(program, |name, loaded| {
        let (tried, differences) = lookalikes::try_all(loaded);
        println!("{name}: {tried} keys that look like others, {} differences", differences.len());
        assert!(differences.is_empty(), "{name}: {:#?}", differences);
    });
}

#[test]
fn lookalikes_stay_in_their_family_on_redis() {
    lookalikes_stay_in_their_family(&redis_server());
}

#[test]
fn operations_pass_for_their_owners_only_on_redis() {
    operations_pass_for_their_owners_only(&redis_server());
}

#[test]
fn declared_and_effective_access_agree_on_redis() {
    declared_and_effective_access_agree(&redis_server());
}

#[test]
fn nobody_writes_what_it_peeks_nor_harms_the_server_on_redis() {
    nobody_goes_beyond(&redis_server());
}

#[test]
fn all_of_it_holds_on_valkey() {
    let Some(program) = valkey_server() else {
        return skip("acl on valkey: no valkey-server (set KEYPLANE_VALKEY_SERVER)");
    };
    operations_pass_for_their_owners_only(&program);
    declared_and_effective_access_agree(&program);
    nobody_goes_beyond(&program);
}
