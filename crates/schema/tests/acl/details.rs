//! Single cases in which ACLs are known to surprise.

use std::sync::Arc;

use keyplane_schema::{Naming, Purpose, Verb};
use keyplane_testing::Program;

use crate::limits::{ON_REQUEST, try_commands_on_request};
use crate::loaded::{Answer, Loaded, expected};

/// A command from one key to another.
type Move = for<'k> fn(&'k str, &'k str) -> Vec<&'k str>;

/// A command over two keys needs both in one selector.
pub(crate) fn commands_over_two_keys(sequencer: &mut Loaded, market: &mut Loaded) {
    // An idle worker of the queue kit waits by moving an item from the queue to its staging list.
    let waits: Move = |from, to| vec!["BLMOVE", from, to, "RIGHT", "LEFT", "1"];
    move_between(sequencer, Verb::Consume, ["submission_queue", "submission_queue_staging"], waits);
    move_between(sequencer, Verb::Consume, ["broadcast_queue", "broadcast_queue_staging"], waits);
    // A rebuilt order book takes the place of the live one.
    move_between(market, Verb::Swap, ["ob_new", "ob"], |from, to| vec!["RENAME", from, to]);
}

/// Runs the command as everyone: it passes exactly for those who have the verb on both keys.
fn move_between(loaded: &mut Loaded, verb: Verb, keys: [&str; 2], words: Move) {
    let contract = Arc::clone(&loaded.contract);
    let keys = keys.map(|name| contract.key(name).expect("a key of the contract"));
    let [from, to] = keys.map(|key| loaded.sample(key));
    for component in loaded.components() {
        loaded.set_up([(from.as_str(), keys[0].types[0]), (to.as_str(), keys[1].types[0])]);
        let may = keys.iter().all(|key| loaded.verbs(&component, key).contains(&verb));
        let words = words(&from, &to);
        assert_eq!(loaded.run(&component, &words), expected(may), "{component}: {}", words.join(" "));
    }
}

/// An id of an older shape is read, also by a script that writes something else.
pub(crate) fn old_ids_can_be_read(sequencer: &mut Loaded) {
    let contract = Arc::clone(&sequencer.contract);
    let key = contract.key("processing_submission").expect("a key of the contract");
    let old = [("processing_id", "23646205-pairContract:0xb4e1:UNISWAPV2-2739-bafkreig2")];
    let render = |purpose| key.render(&contract, &sequencer.naming, purpose, &old);
    let text = render(Purpose::Read).expect("old ids are read");
    assert!(render(Purpose::Write).is_err(), "old ids are not written");
    for words in [
        ["GET", &text].as_slice(),
        &["EVAL_RO", "return redis.call('GET', KEYS[1])", "1", &text],
        &["EVAL", "return redis.call('GET', KEYS[1])", "1", &text],
    ] {
        assert_eq!(sequencer.run("dequeuer", words), Answer::Allowed, "{}", words.join(" "));
        assert_eq!(sequencer.run("gateway", words), Answer::Refused, "{}", words.join(" "));
    }
}

/// What a component asks for by name it can use, and its neighbour cannot.
pub(crate) fn every_command_on_request_works(program: Program) {
    let names: Vec<String> = ON_REQUEST.iter().map(|(name, _)| format!("{name:?}")).collect();
    let source = format!(
        r#"
        [contract]
        name = "requests"
        version = "1.0"
        doc = "One component asks for everything, one for nothing."
        [component]
        operator = {{ doc = "Asks.", extra = [{}] }}
        clerk = "Does not ask."
        [key.note]
        pattern = "note"
        type = "string"
        ttl = {{ policy = "none" }}
        doc = "A note."
        writes = ["operator", "clerk"]
        "#,
        names.join(", ")
    );
    let contract = keyplane_schema::parse("requests", &source).unwrap_or_else(|broken| panic!("{broken}"));
    let naming = Naming::plain(&contract);
    try_commands_on_request(&mut Loaded::new(program, Arc::new(contract), naming));
}
