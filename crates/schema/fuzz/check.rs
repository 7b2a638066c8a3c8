//! What holds for any text: it is a contract or a list of findings; never a panic, never more than a moment.

pub fn any_text(text: &str) {
    match keyplane_schema::parse("fuzz.toml", text) {
        Ok(contract) => {
            let _ = keyplane_schema::markdown(&contract);
            assert!(keyplane_schema::diff(&contract, &contract).changes.is_empty());
        }
        Err(broken) => {
            assert!(!broken.diagnostics.is_empty());
            let _ = broken.render(false);
        }
    }
}
