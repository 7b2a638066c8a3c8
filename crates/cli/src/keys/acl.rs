//! `keys acl`: what each component may do, and the Redis users that enforce it.

use keyplane_schema::acl::{Acl, User};
use keyplane_schema::{Contract, Naming};
use serde_json::{Value, json};

use crate::args::Chosen;
use crate::contracts;
use crate::outcome::{Failure, Outcome};
use crate::output::Output;

pub(super) fn run(chosen: &Chosen, print: bool, output: &Output) -> Result<Outcome, Failure> {
    let contracts = contracts::chosen(chosen)?;
    if contracts.len() != 1 {
        return Err(Failure::new("ACL users belong to one contract")
            .help("name it: keyplane keys acl --schema sequencer"));
    }
    for (contract, naming) in contracts {
        let acl = Acl::new(&contract, &naming);
        match (output.json, print) {
            (true, _) => output.document(&json(&contract, &acl))?,
            (false, true) => rules(&acl, output)?,
            (false, false) => access(&contract, &naming, &acl, output)?,
        }
    }
    Ok(Outcome::Fine)
}

fn rules(acl: &Acl<'_>, output: &Output) -> Result<(), Failure> {
    output.remark(
        "One line per component, for redis-cli. Rules bind commands and keys, not the order of steps.",
    );
    output.remark("Needs Redis 7.0 or Valkey. Switch a user on and give it a password once: ACL SETUSER name on >password");
    acl.users().iter().try_for_each(|user| output.line(format!("ACL SETUSER {} {}", user.name, quoted(user))))
}

/// Selectors hold spaces, so each is one quoted word.
fn quoted(user: &User) -> String {
    let word = |rule: &String| {
        if rule.contains(' ') { format!("\"{}\"", rule.replace('\\', "\\\\")) } else { rule.clone() }
    };
    user.rules.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn access(contract: &Contract, naming: &Naming, acl: &Acl<'_>, output: &Output) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for component in &contract.components {
        for key in &contract.keys {
            let Some((declared, effective)) = acl.effective(&component.name, &key.name) else { continue };
            if !effective.is_empty() {
                let effective = if declared == effective { "the same".to_owned() } else { effective };
                rows.push(vec![
                    component.name.clone(),
                    key.name.clone(),
                    declared,
                    effective,
                    naming.pattern(key).to_string(),
                ]);
            }
        }
    }
    output.table(&["COMPONENT", "KEY", "DECLARED", "EFFECTIVE", "PATTERN"], &rows)
}

fn json(contract: &Contract, acl: &Acl<'_>) -> Value {
    let user = |user: &User| {
        let access = |key: &keyplane_schema::Key| {
            let (declared, effective) = acl.effective(&user.name, &key.name)?;
            (!effective.is_empty())
                .then(|| json!({ "key": key.name, "declared": declared, "effective": effective }))
        };
        json!({ "user": user.name, "rules": user.rules, "access": contract.keys.iter().filter_map(access).collect::<Vec<_>>() })
    };
    json!({ "schema": contract.name, "users": acl.users().iter().map(user).collect::<Vec<_>>() })
}
