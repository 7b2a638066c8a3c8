//! `keyspace!("keys.toml")`: one typed constructor per key of a contract.
//!
//! The contract is read, checked and proven at compile time; what is wrong with it is a compile error that shows the line
//! of `keys.toml`. The code that comes out depends on `keyplane-key` and nothing else:
//!
//! - a type per placeholder, which can only hold values that pass its check (`SwarmId`, `Epoch`, an enum for closed
//!   words);
//! - a struct `Keyspace` with one method per key, returning `Key<Hash>`, `Key<List>` …;
//! - the names of hash fields as constants, families of fields as functions.

mod collisions;
mod emit;
mod params;
mod words;

use std::path::{Path, PathBuf};

use proc_macro::TokenStream;
use proc_macro2::Span;
use syn::LitStr;

/// Reads a contract and gives typed keys for it.
///
/// The path is relative to the crate's `Cargo.toml`; if nothing is there, to the file with the call.
#[proc_macro]
pub fn keyspace(input: TokenStream) -> TokenStream {
    let call_site = proc_macro::Span::call_site().local_file();
    match syn::parse::<LitStr>(input)
        .map_err(Failure::from)
        .and_then(|path| expand(&path, call_site.as_deref()))
    {
        Ok(code) => code.into(),
        Err(failure) => syn::Error::new(failure.at, failure.message).to_compile_error().into(),
    }
}

struct Failure {
    at: Span,
    message: String,
}

impl From<syn::Error> for Failure {
    fn from(error: syn::Error) -> Self {
        Self {
            at: error.span(),
            message: format!(
                "keyspace! takes the path of a contract, such as keyspace!(\"keys.toml\"): {error}"
            ),
        }
    }
}

fn expand(literal: &LitStr, call_site: Option<&Path>) -> Result<proc_macro2::TokenStream, Failure> {
    let fail = |message: String| Failure { at: literal.span(), message };
    let given = literal.value();
    let path = find(&given, call_site).ok_or_else(|| {
        fail(format!("there is no contract at `{given}`; the path is relative to Cargo.toml"))
    })?;
    let source =
        std::fs::read_to_string(&path).map_err(|error| fail(format!("cannot read `{given}`: {error}")))?;
    let contract = keyplane_schema::parse(&given, &source)
        .map_err(|broken| fail(format!("the contract is not sound\n\n{broken}")))?;
    if let Some(collision) = collisions::find(&contract) {
        return Err(fail(format!("`{given}` cannot become Rust: {collision}")));
    }
    Ok(emit::keyspace(&contract, &path.to_string_lossy()))
}

fn find(given: &str, call_site: Option<&Path>) -> Option<PathBuf> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let beside = call_site
        .and_then(|file| file.canonicalize().ok())
        .and_then(|file| file.parent().map(Path::to_path_buf));
    [manifest, beside].into_iter().flatten().map(|folder| folder.join(given)).find(|path| path.is_file())
}
