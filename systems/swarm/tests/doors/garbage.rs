//! Garbage for every parameter of every operation.

use keyplane_swarm::api::{Blame, operations};
use keyplane_testing::{Place, every_store};
use serde_json::{Map, Value, json};

use crate::desk;

fn garbage() -> Vec<Value> {
    let mut all = vec![
        json!(-1),
        json!(1e300),
        json!(0.1),
        json!(u64::MAX),
        json!(true),
        json!([]),
        json!([null]),
        json!([["a"], {}]),
        json!({}),
        json!({ "a": { "b": [] } }),
    ];
    let texts = [
        "",
        " ",
        "\0",
        "\r\nSET a b\r\n",
        "swarm_",
        "agent_💥💥💥💥",
        "*",
        "{x}",
        "a:b",
        "NaN",
        "../../etc",
        "null",
    ];
    all.extend(texts.map(Value::from));
    all.push("x".repeat(2 * 1024 * 1024).into());
    all
}

/// Nothing is there, so nothing can succeed but what creates; and that is not asked for with all that it needs.
#[every_store(only(embedded, redis))]
async fn garbage_is_refused_by_every_operation_and_leaves_nothing(place: Place) {
    let desk = desk(&place).await;
    for op in operations() {
        let whole: Map<String, Value> = op
            .params
            .iter()
            .map(|param| (param.name.to_owned(), param.kind.from_text(param.example)))
            .collect();
        // Roles are open: any word may be one, and nobody has it.
        for param in op.params.iter().filter(|param| (op.name, param.name) != ("swarm_list", "role")) {
            let makes = op.name == "swarm_create";
            for bad in garbage().into_iter().filter(|_| !makes || param.is_required()) {
                let mut given = whole.clone();
                given.insert(param.name.to_owned(), bad);
                let shown: String = format!("{}: {given:?}", op.name).chars().take(300).collect();
                let refused = op.carry_out(&desk, given).await.expect_err(&shown);
                // Nobody holds a lock, so nobody can show its fence.
                let is_refused = matches!(refused.blame, Blame::Input | Blame::Size | Blame::Absence);
                assert!(is_refused || refused.code == "fenced", "{shown}: {refused:?}");
                assert!(refused.message.len() < 500, "{shown}: {} bytes of message", refused.message.len());
            }
        }
        let mut more = whole.clone();
        more.insert("more".to_owned(), json!(1));
        let refused = op.carry_out(&desk, more).await.unwrap_err();
        assert_eq!(refused.code, "unknown_parameter", "{}", op.name);
    }
    let mut admin = place.admin();
    let keys: Vec<String> = redis::cmd("KEYS").arg(place.key("*")).query(&mut admin).unwrap();
    assert_eq!(keys, Vec::<String>::new());
}
