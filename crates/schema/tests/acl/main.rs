//! Generated ACL users do on a real server what the contract declares, and nothing else.
//!
//! Commands and scripts are executed, not asked about: `ACL DRYRUN` does not look inside scripts. What is expected comes
//! from owners and operations and from the tests' own table of verbs, never from the generated key patterns.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr)]

mod details;
mod limits;
mod loaded;
mod lookalikes;
mod operations;
mod probes;
mod scripts;
mod table;

use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use keyplane_schema::{Contract, Naming, RedisType, Verb};
use keyplane_testing::{Program, skip};
use loaded::Loaded;

const SYSTEMS: [&str; 5] = ["sequencer", "mempool", "docket", "market", "swarm"];

/// Reading a contract includes all its checks, so it is done once.
static CONTRACTS: LazyLock<Vec<Arc<Contract>>> = LazyLock::new(|| SYSTEMS.map(contract).map(Arc::new).into());

fn contract(system: &str) -> Contract {
    let file: PathBuf = [env!("CARGO_MANIFEST_DIR"), "../../systems", system, "keys.toml"].iter().collect();
    let source = fs::read_to_string(&file).unwrap();
    keyplane_schema::parse(&file.display().to_string(), &source).unwrap_or_else(|broken| panic!("{broken}"))
}

/// Every contract in both spellings of its keys.
fn every_contract(program: Program, mut check: impl FnMut(&str, &mut Loaded)) {
    for contract in &*CONTRACTS {
        let namings = [("plain", Naming::plain(contract)), ("hash tags", Naming::tagged(contract))];
        for (spelling, naming) in namings {
            let mut loaded = Loaded::new(program, Arc::clone(contract), naming);
            check(&format!("{}, {spelling}", contract.name), &mut loaded);
        }
    }
}

fn system(program: Program, name: &str) -> Loaded {
    let contract = CONTRACTS.iter().find(|contract| contract.name == name).expect("one of the five");
    Loaded::new(program, Arc::clone(contract), Naming::plain(contract))
}

fn operations_pass_for_their_owners_only(program: Program) {
    every_contract(program, |name, loaded| {
        let tally = operations::try_all(loaded);
        println!("{name}: {tally}");
        // Rights are to keys and commands, not to steps: where several write one key, some could do another's step. In
        // the sequencer that is the epoch's state, which every stage writes, and no other key.
        if loaded.contract.name == "sequencer" {
            assert!(tally.covered.len() * 20 <= tally.foreign(), "more than one in twenty: {tally}");
        }
    });
}

fn declared_and_effective_access_agree(program: Program) {
    every_contract(program, |name, loaded| {
        let table = table::probe_all(loaded);
        // The spelling does not change the table, so once is enough.
        let rows = if loaded.naming.hash_tags { String::new() } else { table.text() };
        println!("{name}: {table}\n{rows}");
        assert!(table.differences.is_empty(), "{name}: {:#?}", table.differences);
    });
}

fn lookalikes_stay_in_their_family(program: Program) {
    every_contract(program, |name, loaded| {
        let (tried, differences) = lookalikes::try_all(loaded);
        println!("{name}: {tried} keys that look like others");
        assert!(differences.is_empty(), "{name}: {differences:#?}");
    });
}

fn nobody_goes_beyond(program: Program) {
    every_contract(program, |name, loaded| {
        let peeked = limits::try_to_write_what_is_only_peeked(loaded);
        println!("{name}: {peeked} pairs of component and key only peek, and no write passed");
        limits::try_dangerous_commands(loaded);
        limits::try_commands_on_request(loaded);
        limits::try_a_key_outside_the_contract(loaded);
    });
}

fn details_hold(program: Program) {
    details::commands_over_two_keys(&mut system(program, "sequencer"), &mut system(program, "market"));
    details::old_ids_can_be_read(&mut system(program, "sequencer"));
    details::every_command_on_request_works(program);
}

#[test]
fn operations_pass_for_their_owners_only_on_redis() {
    operations_pass_for_their_owners_only(Program::Redis);
}

#[test]
fn declared_and_effective_access_agree_on_redis() {
    declared_and_effective_access_agree(Program::Redis);
}

#[test]
fn lookalikes_stay_in_their_family_on_redis() {
    lookalikes_stay_in_their_family(Program::Redis);
}

#[test]
fn nobody_writes_what_it_peeks_nor_harms_the_server_on_redis() {
    nobody_goes_beyond(Program::Redis);
}

#[test]
fn details_hold_on_redis() {
    details_hold(Program::Redis);
}

#[test]
fn all_of_it_holds_on_valkey() {
    let program = Program::Valkey;
    if program.file().is_none() {
        return skip("acl on valkey: no valkey-server (set KEYPLANE_VALKEY_SERVER)");
    }
    operations_pass_for_their_owners_only(program);
    declared_and_effective_access_agree(program);
    lookalikes_stay_in_their_family(program);
    nobody_goes_beyond(program);
    details_hold(program);
}

#[test]
fn every_command_of_a_verb_is_probed() {
    for (kind, verb) in RedisType::ALL.into_iter().flat_map(|kind| Verb::ALL.map(|verb| (kind, verb))) {
        for command in verb.commands(kind) {
            let probe = probes::probe(kind, &command.to_uppercase());
            assert!(probe.verbs.contains(&verb), "no probe says that {verb} on a {kind} has {command}");
        }
    }
}
