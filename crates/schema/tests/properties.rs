//! Properties that hold for every contract and every value: rendering and matching are inverse, a contract does not
//! differ from itself, and no key of a sound contract matches twice.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use keyplane_schema::{Contract, Effect, Matcher, Naming, Param, Purpose, diff, parse};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

const SYSTEMS: [(&str, &str); 5] = [
    ("mempool", include_str!("../../../systems/mempool/keys.toml")),
    ("docket", include_str!("../../../systems/docket/keys.toml")),
    ("market", include_str!("../../../systems/market/keys.toml")),
    ("swarm", include_str!("../../../systems/swarm/keys.toml")),
    ("sequencer", include_str!("../../../systems/sequencer/keys.toml")),
];

fn systems() -> Vec<Arc<Contract>> {
    SYSTEMS.iter().map(|(name, source)| Arc::new(parse(name, source).unwrap())).collect()
}

/// A value of the placeholder's language: a walk through its automaton, led by `choices`.
fn value(param: &Param, choices: &mut impl Iterator<Item = u8>) -> String {
    let (classes, width, next, accept) = param.automaton().table();
    let step =
        |state: usize, byte: u8| usize::from(next[state * width + usize::from(classes[usize::from(byte)])]);
    let alive = live_states(width, next, accept);
    let mut text = Vec::new();
    let mut state = 1;
    for _ in 0..200 {
        let bytes: Vec<u8> = (0x21..0x7f).filter(|&byte| alive[step(state, byte)]).collect();
        let stop = choices.next().unwrap_or(0).is_multiple_of(4);
        if accept[state] && (stop || bytes.is_empty()) {
            break;
        }
        let Some(&byte) = bytes.get(usize::from(choices.next().unwrap_or(0)) % bytes.len().max(1)) else {
            break;
        };
        text.push(byte);
        state = step(state, byte);
    }
    let walked = String::from_utf8(text).unwrap();
    // A walk may stop short of an accepting state, or leave the range of a number: then the example serves.
    if param.accepts(&walked) { walked } else { param.sample() }
}

fn live_states(width: usize, next: &[u16], accept: &[bool]) -> Vec<bool> {
    let mut alive = accept.to_vec();
    for _ in 0..alive.len() {
        for state in 0..alive.len() {
            alive[state] |= (0..width).any(|class| alive[usize::from(next[state * width + class])]);
        }
    }
    alive[0] = false;
    alive
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        // The seed of a failure is written beside this file and tried first from then on.
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_rendered_matches_its_own_key_with_its_own_values(
        family in any::<prop::sample::Index>(),
        choices in prop::collection::vec(any::<u8>(), 400),
        hash_tags in any::<bool>(),
        namespace in prop::option::of("[a-z]{1,8}(:[a-z]{1,8})?"),
    ) {
        thread_local!(static ALL: Vec<Arc<Contract>> = systems());
        ALL.with(|all| {
            let families: Vec<(usize, usize)> = all.iter().enumerate().flat_map(|(c, contract)| (0..contract.keys.len()).map(move |k| (c, k))).collect();
            let (c, k) = families[family.index(families.len())];
            let (contract, key) = (&all[c], &all[c].keys[k]);
            let mut naming = if hash_tags { Naming::tagged(contract) } else { Naming::plain(contract) };
            if let Some(namespace) = &namespace {
                naming = naming.in_namespace(namespace.clone());
            }
            let mut choices = choices.into_iter();
            let values: Vec<(&str, String)> = key.pattern.params().map(|name| (name, value(contract.param(name).unwrap(), &mut choices))).collect();
            let given: Vec<(&str, &str)> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let text = key.render(contract, &naming, Purpose::Write, &given).unwrap();
            let matcher = Matcher::new([(contract.clone(), naming)]);
            let hits = matcher.find_all(&text);
            prop_assert_eq!(hits.len(), 1, "{} matches {} keys", text, hits.len());
            prop_assert_eq!(&hits[0].key.name, &key.name);
            prop_assert_eq!(&hits[0].params, &given);
            prop_assert!(!hits[0].legacy);
            Ok(())
        })?;
    }

    #[test]
    fn a_sound_contract_gives_every_key_one_meaning_and_no_difference_from_itself(source in contract_source(), choices in prop::collection::vec(any::<u8>(), 300)) {
        let Ok(contract) = parse("random.toml", &source) else { return Ok(()) };
        prop_assert_eq!(diff(&contract, &contract).changes, vec![]);
        let contract = Arc::new(contract);
        let matcher = Matcher::new([(contract.clone(), Naming::plain(&contract))]);
        let mut choices = choices.into_iter();
        for key in &contract.keys {
            let values: Vec<(&str, String)> = key.pattern.params().map(|name| (name, value(contract.param(name).unwrap(), &mut choices))).collect();
            let given: Vec<(&str, &str)> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
            let text = key.render(&contract, &Naming::plain(&contract), Purpose::Write, &given).unwrap();
            let hits = matcher.find_all(&text);
            prop_assert_eq!(hits.len(), 1, "{} in\n{}", text, source);
            prop_assert_eq!(&hits[0].key.name, &key.name);
        }
    }

    #[test]
    fn a_key_that_matches_renders_back_to_itself(text in likely_key()) {
        thread_local!(static ALL: (Vec<Arc<Contract>>, Matcher) = {
            let all = systems();
            let matcher = Matcher::new(all.iter().map(|contract| (contract.clone(), Naming::plain(contract))));
            (all, matcher)
        });
        ALL.with(|(_, matcher)| {
            for hit in matcher.find_all(&text) {
                let again = hit.key.render(hit.contract, &Naming::plain(hit.contract), Purpose::Read, &hit.params);
                prop_assert_eq!(again.as_deref(), Ok(text.as_str()));
                let written = hit.key.render(hit.contract, &Naming::plain(hit.contract), Purpose::Write, &hit.params);
                prop_assert_eq!(written.is_err(), hit.legacy);
            }
            Ok(())
        })?;
    }
}

/// Texts that are keys, keys with ids of the old shape, or nearly keys.
fn likely_key() -> impl Strategy<Value = String> {
    prop_oneof![
        "swarm:swarm_[a-z0-9]{6,9}(:(agents:agent|tasks:task)_[a-z0-9]{6,9})?",
        "(ob|feat|tr)(:new)?:[A-Z]{4,6}(:(1s|5s|9s))?",
        "courtlistener:(task_start|tasks|pipeline):[a-z0-9+:]{1,12}(:[a-z_]{1,6})?",
        "(swarm|ob|tr|feat|courtlistener|dolos:mempool|health)(:(new|index|active|agents|swarm_[a-z0-9]{7,9}|agent_[a-z0-9]{7,9}|BTCUSDT|1s|5s|task_start|lock|[a-z0-9+:]{1,6})){1,4}",
    ]
}

/// Small contracts whose patterns like to collide: few words, few placeholders, some of them greedy.
fn contract_source() -> impl Strategy<Value = String> {
    let segment = prop_oneof![
        Just("a".to_owned()),
        Just("b".to_owned()),
        Just("new".to_owned()),
        Just("<word>".to_owned()),
        Just("<id>".to_owned()),
        Just("<n>".to_owned()),
        Just("x(<n>)".to_owned()),
        Just("<rest>".to_owned()),
    ];
    prop::collection::vec(prop::collection::vec(segment, 1..4), 1..5).prop_map(|patterns| {
        let mut source = String::from(
            r#"
[contract]
name = "random"
version = "1.0"
doc = "Random."
[component]
app = "App."
[param]
word = { text = true, except = ["new"] }
id = { like = 'id_[a-z]{2,4}', legacy = 'id[a-z]{1,2}' }
n = { int = "0..20" }
rest = { like = '[a-z:_]+', colons = true }
"#,
        );
        for (index, segments) in patterns.iter().enumerate() {
            source.push_str(&format!("[key.k{index}]\npattern = \"{}\"\ntype = \"set\"\nttl = {{ policy = \"none\" }}\ndoc = \"Key.\"\nwrites = [\"app\"]\n", segments.join(":")));
        }
        source
    })
}

#[test]
fn the_systems_do_not_differ_from_themselves() {
    for contract in systems() {
        assert_eq!(diff(&contract, &contract).changes, []);
    }
}

#[test]
fn the_verdict_says_who_breaks() {
    let old = parse("old", SHOP).unwrap();
    let verdict = |from: &str, to: &str| {
        assert!(SHOP.contains(from), "{from}");
        let diff = diff(&old, &parse("new", &SHOP.replace(from, to)).unwrap());
        assert!(!diff.changes.is_empty(), "{from} → {to}");
        (diff.readers(), diff.writers())
    };
    use Effect::{Breaks, Fine, Look};
    assert_eq!(
        verdict(
            "state = { one_of = [\"open\", \"done\"] }",
            "state = { one_of = [\"open\", \"done\", \"late\"] }"
        ),
        (Breaks, Fine)
    );
    assert_eq!(
        verdict("state = { one_of = [\"open\", \"done\"] }", "state = { one_of = [\"open\"] }"),
        (Fine, Breaks)
    );
    assert_eq!(verdict("note = \"text\"", "note = \"text\"\nextra = \"text\""), (Fine, Fine));
    assert_eq!(verdict("note = \"text\"", "note = { text = true, required = true }"), (Fine, Breaks));
    assert_eq!(verdict("note = \"text\"\n", ""), (Look, Breaks));
    assert_eq!(verdict("int = \"1..99\"", "int = \"1..9\""), (Fine, Breaks));
    assert_eq!(verdict("int = \"1..99\"", "int = \"1..100000\""), (Breaks, Fine));
    assert_eq!(verdict("for = \"2h\"", "for = \"1h\""), (Look, Look));
    assert_eq!(verdict("for = \"2h\"", "for = \"3h\""), (Fine, Look));
    assert_eq!(verdict("type = \"hash\"", "type = \"hash\"\nmax = { fields = 3 }"), (Fine, Breaks));
    assert_eq!(verdict("order:<item>", "orders:<item>"), (Breaks, Breaks));
    assert_eq!(verdict("reads = [\"clerk\"]", "reads = [\"app\"]"), (Breaks, Fine));
    assert_eq!(
        verdict(
            "[key.order]",
            "[key.extra]\npattern = \"extra\"\ntype = \"set\"\nttl = { policy = \"none\" }\ndoc = \"Extra.\"\nwrites = [\"app\"]\n[key.order]"
        ),
        (Fine, Fine)
    );
}

const SHOP: &str = r#"
[contract]
name = "shop"
version = "1.0"
doc = "Shop."
[component]
app = "App."
clerk = "Clerk."
[param]
item = { int = "1..99" }
[key.order]
pattern = "order:<item>"
type = "hash"
ttl = { policy = "sliding", for = "2h" }
doc = "Order."
writes = ["app"]
reads = ["clerk"]
[key.order.fields]
state = { one_of = ["open", "done"] }
note = "text"
"#;
