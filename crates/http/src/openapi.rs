//! The OpenAPI 3.1 document, made from operations.

use std::collections::BTreeSet;

use axum::Router;
use axum::extract::MatchedPath;
use axum::http::{Request, StatusCode};
use serde_json::{Map, Value, json};
use tower::ServiceExt as _;

use crate::door::{LIVE, READY};
use crate::operation::{Body, Content, Operation, Outcome, Parameter, Place, names};
use crate::refusal;

const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

/// The document of these operations, each group under its name.
#[must_use]
pub fn document(title: &str, version: &str, token: bool, groups: &[(&str, Vec<Operation>)]) -> Value {
    let mut paths = Map::new();
    for (group, operations) in groups {
        for operation in operations {
            let path = paths.entry(operation.path.replace("{*", "{")).or_insert_with(|| json!({}));
            path[operation.method.as_str().to_lowercase()] = described(group, operation, token);
        }
    }
    let tags: Vec<Value> = groups.iter().map(|(group, _)| json!({"name": group})).collect();
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {"title": title, "version": version},
        "tags": tags,
        "paths": paths,
        "components": {"schemas": {"Error": refusal::schema()}},
    });
    if token {
        document["components"]["securitySchemes"] = json!({"bearer": {"type": "http", "scheme": "bearer"}});
        document["security"] = json!([{"bearer": []}]);
    }
    document
}

fn described(group: &str, operation: &Operation, token: bool) -> Value {
    let mut told = json!({
        "tags": [group],
        "operationId": id(group, operation),
        "summary": operation.summary,
    });
    if !operation.description.is_empty() {
        told["description"] = json!(operation.description);
    }
    let parameters = parameters(operation);
    if !parameters.is_empty() {
        told["parameters"] = Value::Array(parameters);
    }
    if let Some(request) = &operation.request {
        told["requestBody"] = json!({"required": true, "content": content(request)});
    }
    let mut responses = Map::new();
    for Outcome { status, description, content: body } in &operation.outcomes {
        let response = match body {
            Some(Body::Content(body)) => json!({"description": description, "content": content(body)}),
            Some(Body::Refusal) => error(description),
            None => json!({"description": description}),
        };
        responses.insert(status.as_str().to_owned(), response);
    }
    responses.insert("default".to_owned(), error("Anything else that can go wrong."));
    told["responses"] = Value::Object(responses);
    if token && [LIVE, READY].contains(&operation.path.as_str()) {
        told["security"] = json!([]);
    }
    told
}

fn parameters(operation: &Operation) -> Vec<Value> {
    let told = |place: Place, name: &str, description: &str, schema: &Value| {
        let required = place == Place::Path;
        json!({"name": name, "in": place.word(), "required": required, "description": description, "schema": schema})
    };
    let in_path = |parameter: &&Parameter| parameter.place == Place::Path;
    let of_path = operation.path_parameters().into_iter().map(|name| {
        match operation.parameters.iter().filter(in_path).find(|parameter| parameter.name == name) {
            Some(Parameter { description, schema, .. }) => told(Place::Path, name, description, schema),
            None => told(Place::Path, name, "", &json!({"type": "string"})),
        }
    });
    let others = operation.parameters.iter().filter(|parameter| !in_path(parameter));
    of_path.chain(others.map(|p| told(p.place, &p.name, &p.description, &p.schema))).collect()
}

fn content(body: &Content) -> Value {
    let mut content = Map::new();
    content.insert(body.media.clone(), json!({"schema": body.schema}));
    Value::Object(content)
}

fn error(about: &str) -> Value {
    let schema = json!({"$ref": "#/components/schemas/Error"});
    json!({"description": about, "content": {"application/json": {"schema": schema}}})
}

/// A name for generated clients, such as `notes_get_api_notes_by_id`.
fn id(group: &str, operation: &Operation) -> String {
    let path = operation.path.replace("{*", "{").replace('{', "by_");
    let words = path.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    format!("{group}_{}_{}", operation.method.as_str().to_lowercase(), words.join("_"))
}

/// What is wrong with a document: missing members, parameters that a path names and nobody declares or the other way
/// round, operations without outcomes, ids given twice, references to nothing. Empty for a sound one.
#[must_use]
pub fn problems(document: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    if !document["openapi"].as_str().is_some_and(|version| version.starts_with("3.1.")) {
        problems.push("openapi is not 3.1".to_owned());
    }
    for member in ["title", "version"] {
        if document["info"][member].as_str().is_none_or(str::is_empty) {
            problems.push(format!("info has no {member}"));
        }
    }
    if !document["paths"].is_object() {
        problems.push("there is no paths object".to_owned());
    }
    let mut ids = BTreeSet::new();
    for (path, method, operation) in operations(document) {
        let mut problem = |what: String| problems.push(format!("{method} {path}: {what}"));
        if !path.starts_with('/') {
            problem("the path does not begin with /".to_owned());
        }
        if !METHODS.contains(&method) {
            problem("no such method".to_owned());
        }
        let named: BTreeSet<&str> = names(path).into_iter().collect();
        let parameters = operation["parameters"].as_array().map_or(&[][..], Vec::as_slice);
        let of_path = parameters.iter().filter(|parameter| parameter["in"] == "path");
        let declared: BTreeSet<&str> = of_path.filter_map(|parameter| parameter["name"].as_str()).collect();
        for name in named.symmetric_difference(&declared) {
            problem(format!("{{{name}}} is not both in the path and declared"));
        }
        for parameter in parameters {
            let whole = parameter["name"].is_string() && parameter["in"].is_string();
            if !whole || (parameter["in"] == "path" && parameter["required"] != true) {
                problem(format!("half a parameter: {parameter}"));
            }
            if parameter["schema"].is_null() {
                problem(format!("a parameter without a schema: {parameter}"));
            }
        }
        let outcomes = operation["responses"].as_object();
        if outcomes.is_none_or(|outcomes| outcomes.keys().all(|status| status == "default")) {
            problem("no outcome is described".to_owned());
        }
        for (status, outcome) in outcomes.into_iter().flatten() {
            if outcome["description"].as_str().is_none_or(str::is_empty) {
                problem(format!("{status} is not described"));
            }
        }
        match operation["operationId"].as_str() {
            Some(id) if ids.insert(id) => {}
            id => problem(format!("{id:?} is not an id of its own")),
        }
    }
    references(document, document, &mut problems);
    problems
}

/// Described operations that no route answers, or another one does. For tests of an API: each operation is sent to the
/// [`router`](crate::router()) without a body, each `{parameter}` replaced by what `value` gives for its name.
pub async fn unanswered(router: &Router, document: &Value, value: impl Fn(&str) -> String) -> Vec<String> {
    let mut unanswered = Vec::new();
    for (path, method, _) in operations(document) {
        let request = Request::builder().method(method.to_uppercase().as_str()).uri(filled(path, &value));
        let Ok(request) = request.body(axum::body::Body::empty()) else {
            unanswered.push(format!("{method} {path} cannot be asked for"));
            continue;
        };
        let response = router.clone().oneshot(request).await.unwrap_or_else(|never| match never {});
        let status = response.status();
        let route = response.extensions().get::<MatchedPath>().map(|route| route.as_str().replace("{*", "{"));
        // A handler may answer 404 for a thing; that its own route was asked is what counts.
        if status == StatusCode::METHOD_NOT_ALLOWED || route.as_deref() != Some(path) {
            let by = route.as_deref().unwrap_or("no route");
            unanswered.push(format!("{method} {path} is answered by {by}, with {}", status.as_u16()));
        }
    }
    unanswered
}

fn filled(path: &str, value: impl Fn(&str) -> String) -> String {
    names(path)
        .into_iter()
        .fold(path.to_owned(), |path, name| path.replace(&format!("{{{name}}}"), &value(name)))
}

fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    let paths = document["paths"].as_object().into_iter().flatten();
    paths.flat_map(|(path, item)| {
        let methods = item.as_object().into_iter().flatten();
        methods.map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    })
}

fn references(document: &Value, part: &Value, problems: &mut Vec<String>) {
    match part {
        Value::Object(members) => {
            if let Some(Value::String(to)) = members.get("$ref")
                && to.strip_prefix('#').is_none_or(|pointer| document.pointer(pointer).is_none())
            {
                problems.push(format!("{to} refers to nothing"));
            }
            members.values().for_each(|member| references(document, member, problems));
        }
        Value::Array(items) => items.iter().for_each(|item| references(document, item, problems)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes() -> Vec<Operation> {
        let text = json!({"type": "string"});
        vec![
            Operation::get("/api/notes/{id}", "One note")
                .parameter(Place::Path, "id", "Its number.", json!({"type": "integer"}))
                .parameter(Place::Query, "lines", "How many.", json!({"type": "integer"}))
                .answers(StatusCode::OK, "The note.", "text/plain", text.clone())
                .refuses(StatusCode::NOT_FOUND, "No such note."),
            Operation::put("/api/notes/{id}", "Write a note")
                .takes("text/plain", text)
                .ends(StatusCode::NO_CONTENT, "Written."),
            Operation::get("/files/{*path}", "A file").ends(StatusCode::OK, "The file."),
            Operation::get("/health/live", "Live?").ends(StatusCode::OK, "Yes."),
        ]
    }

    #[test]
    fn a_document_is_sound() {
        for token in [false, true] {
            let document = document("Notes", "1.0", token, &[("notes", notes())]);
            assert_eq!(problems(&document), Vec::<String>::new(), "{document:#}");
        }
    }

    #[test]
    fn operations_of_a_path_stand_together_with_their_parameters() {
        let document = document("Notes", "1.0", false, &[("notes", notes())]);
        let path = &document["paths"]["/api/notes/{id}"];
        assert_eq!(path["get"]["operationId"], "notes_get_api_notes_by_id");
        assert_eq!(path["get"]["parameters"][0]["schema"]["type"], "integer");
        assert_eq!(path["get"]["parameters"][1]["required"], false);
        assert_eq!(path["put"]["parameters"][0]["schema"]["type"], "string", "unless described");
        assert_eq!(path["put"]["requestBody"]["content"]["text/plain"]["schema"]["type"], "string");
        assert_eq!(path["put"]["responses"]["204"], json!({"description": "Written."}));
        assert!(document["paths"]["/files/{path}"].is_object(), "the star is axum's and not OpenAPI's");
    }

    #[test]
    fn a_token_is_asked_for_everywhere_but_for_health() {
        let open = document("Notes", "1.0", false, &[("notes", notes())]);
        assert!(open["security"].is_null());
        let guarded = document("Notes", "1.0", true, &[("notes", notes())]);
        assert_eq!(guarded["security"], json!([{"bearer": []}]));
        assert_eq!(guarded["components"]["securitySchemes"]["bearer"]["scheme"], "bearer");
        assert_eq!(guarded["paths"]["/health/live"]["get"]["security"], json!([]));
        assert!(guarded["paths"]["/api/notes/{id}"]["get"]["security"].is_null());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let sound = document("Notes", "1.0", false, &[("notes", notes())]);
        let broken = |pointer: &str, value: Value| {
            let mut document = sound.clone();
            *document.pointer_mut(pointer).unwrap() = value;
            problems(&document)
        };
        let get = "/paths/~1api~1notes~1{id}/get";
        assert_eq!(broken("/openapi", json!("2.0")), ["openapi is not 3.1"]);
        assert_eq!(broken("/info", json!({"title": "x"})), ["info has no version"]);
        assert_eq!(broken("/paths", Value::Null), ["there is no paths object"]);
        let undeclared = broken(&format!("{get}/parameters"), json!([]));
        assert_eq!(undeclared, ["get /api/notes/{id}: {id} is not both in the path and declared"]);
        let optional = broken(&format!("{get}/parameters/0/required"), json!(false));
        assert!(optional[0].contains("half a parameter"), "{optional:?}");
        assert_eq!(
            broken(&format!("{get}/responses"), json!({})),
            ["get /api/notes/{id}: no outcome is described"]
        );
        let twice = broken(&format!("{get}/operationId"), json!("notes_put_api_notes_by_id"));
        assert_eq!(twice.len(), 1, "{twice:?}");
        let dangling = broken("/components", json!({}));
        assert!(dangling.iter().all(|problem| problem == "#/components/schemas/Error refers to nothing"));
        assert!(!dangling.is_empty());
    }

    #[test]
    fn parameters_get_values() {
        assert_eq!(filled("/a/{b}/c/{d}", |name| format!("some-{name}")), "/a/some-b/c/some-d");
    }
}
