//! No component's ACL patterns reach keys that it may not touch, unless the key says why that does not matter. Proven for
//! plain names and for names with hash tags.

use std::collections::HashSet;

use crate::acl::Acl;
use crate::diagnostic::{Code, Diagnostic};
use crate::model::Contract;
use crate::naming::Naming;

pub(super) fn check(contract: &Contract) -> Vec<Diagnostic> {
    let acls = [Naming::plain(contract), Naming::tagged(contract)].map(|naming| Acl::new(contract, &naming));
    let mut told = HashSet::new();
    let mut found = Vec::new();
    for reach in acls.iter().flat_map(Acl::users).flat_map(|user| &user.reaches) {
        let (Some(from), Some(to)) = (contract.key(&reach.from), contract.key(&reach.to)) else { continue };
        // Helper keys of one host lie side by side: reaching one of them is reaching all.
        let family = to.helper_of.as_ref().map_or(&to.name, |helper| &helper.host);
        if from.acl_reach.is_some() || !told.insert((&reach.from, family)) {
            continue;
        }
        let message = format!(
            "the ACL pattern `{}` of `{}` also reaches `{}`, which the component `{}` may not {}",
            reach.pattern, reach.from, reach.to, reach.component, reach.access
        );
        let whose = if to.helper_of.is_some() { "its helper " } else { "" };
        found.push(
            Diagnostic::error(Code::AclReach, message, from.at.pattern, format!("`{}` reaches {}", reach.pattern, reach.witness))
                .also(to.at.pattern, format!("{whose}{} is matched too", reach.to))
                .help("give the placeholders a stricter check (a fixed prefix or length), or state the reason in `acl_reach`"),
        );
    }
    found
}
