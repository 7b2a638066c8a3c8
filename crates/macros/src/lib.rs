//! `keyspace!("keys.toml")`: one typed constructor per key of a contract.
//!
//! The contract is read, checked and proven at compile time; what is wrong with it is a compile error that shows the line
//! of `keys.toml`. The code that comes out depends on `keyplane-key` and nothing else:
//!
//! - a type per placeholder, which can only hold values that pass its check (`SwarmId`, `Epoch`, an enum for closed
//!   words);
//! - a struct `Keyspace` with one method per key, returning `Key<Hash>`, `Key<List>` …;
//! - the names of hash fields as constants, families of fields as functions.
//!
//! `scripts!("keys.toml", "src/scripts")`: one typed call per Lua script of a contract. Every script that an operation names
//! is read and checked against it at compile time: keys only from KEYS, TTLs from the contract, nothing that the operation
//! does not grant. What is wrong with a script is a compile error that shows the line of the script.

mod collisions;
mod emit;
mod params;
mod scripts;
mod words;

use std::path::{Path, PathBuf};

use keyplane_schema::Contract;
use proc_macro::TokenStream;
use proc_macro2::Span;
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::{LitStr, Token};

/// Reads a contract and gives typed keys for it.
///
/// The path is relative to the crate's `Cargo.toml`; if nothing is there, to the file with the call.
#[proc_macro]
pub fn keyspace(input: TokenStream) -> TokenStream {
    let call_site = proc_macro::Span::call_site().local_file();
    let expanded = syn::parse::<LitStr>(input)
        .map_err(|error| {
            Failure::usage(&error, "keyspace! takes the path of a contract, such as keyspace!(\"keys.toml\")")
        })
        .and_then(|path| expand_keyspace(&path, call_site.as_deref()));
    finish(expanded)
}

/// Reads the scripts of a contract, checks them, and gives a typed call for each.
///
/// Takes the path of the contract and that of the folder with the scripts, both as in `keyspace!`. For the script
/// `receive.lua` there is a struct `Receive` with one field per key and argument of its header, in its order; TTLs are left
/// out, because the store fills them in. It turns into a `Call`.
#[proc_macro]
pub fn scripts(input: TokenStream) -> TokenStream {
    let call_site = proc_macro::Span::call_site().local_file();
    let usage = "scripts! takes a contract and a folder, such as scripts!(\"keys.toml\", \"src/scripts\")";
    let expanded = literals::<2>(input, usage)
        .and_then(|[contract, folder]| expand_scripts(None, &contract, &folder, call_site.as_deref()));
    finish(expanded)
}

/// The scripts of a kit primitive: they run on keys of any contract whose component has the verbs they need.
///
/// Takes the name of the primitive, a contract in which its keys have the names of their parts, and the folder. Otherwise as
/// `scripts!`.
#[proc_macro]
pub fn kit_scripts(input: TokenStream) -> TokenStream {
    let call_site = proc_macro::Span::call_site().local_file();
    let usage = "kit_scripts! takes a primitive, a contract and a folder";
    let expanded = literals::<3>(input, usage).and_then(|[kit, contract, folder]| {
        expand_scripts(Some(&kit.value()), &contract, &folder, call_site.as_deref())
    });
    finish(expanded)
}

/// So many texts with commas between.
fn literals<const N: usize>(input: TokenStream, usage: &str) -> Result<[LitStr; N], Failure> {
    let listed = Punctuated::<LitStr, Token![,]>::parse_terminated.parse(input);
    let counted = listed.and_then(|texts| {
        <[LitStr; N]>::try_from(texts.into_iter().collect::<Vec<_>>())
            .map_err(|given| syn::Error::new(Span::call_site(), format!("{} paths are given", given.len())))
    });
    counted.map_err(|error| Failure::usage(&error, usage))
}

fn finish(expanded: Result<proc_macro2::TokenStream, Failure>) -> TokenStream {
    match expanded {
        Ok(code) => code.into(),
        Err(failure) => syn::Error::new(failure.at, failure.message).to_compile_error().into(),
    }
}

struct Failure {
    at: Span,
    message: String,
}

impl Failure {
    fn usage(error: &syn::Error, usage: &str) -> Self {
        Self { at: error.span(), message: format!("{usage}: {error}") }
    }
}

fn expand_keyspace(literal: &LitStr, call_site: Option<&Path>) -> Result<proc_macro2::TokenStream, Failure> {
    let (contract, path) = read_contract(literal, call_site)?;
    if let Some(collision) = collisions::find(&contract) {
        let message = format!("`{}` cannot become Rust: {collision}", literal.value());
        return Err(Failure { at: literal.span(), message });
    }
    Ok(emit::keyspace(&contract, &path.to_string_lossy()))
}

fn read_contract(literal: &LitStr, call_site: Option<&Path>) -> Result<(Contract, PathBuf), Failure> {
    let fail = |message: String| Failure { at: literal.span(), message };
    let given = literal.value();
    let path = find(&given, call_site).filter(|path| path.is_file()).ok_or_else(|| {
        fail(format!("there is no contract at `{given}`; the path is relative to Cargo.toml"))
    })?;
    let source =
        std::fs::read_to_string(&path).map_err(|error| fail(format!("cannot read `{given}`: {error}")))?;
    let contract = keyplane_schema::parse(&given, &source)
        .map_err(|broken| fail(format!("the contract is not sound\n\n{broken}")))?;
    Ok((contract, path))
}

fn expand_scripts(
    kit: Option<&str>,
    contract: &LitStr,
    folder: &LitStr,
    call_site: Option<&Path>,
) -> Result<proc_macro2::TokenStream, Failure> {
    let (contract, _) = read_contract(contract, call_site)?;
    let given = folder.value();
    let fail = |message: String| Failure { at: folder.span(), message };
    let path = find(&given, call_site)
        .filter(|path| path.is_dir())
        .ok_or_else(|| fail(format!("there is no folder `{given}`; the path is relative to Cargo.toml")))?;
    let files = scripts::read(&contract, &path, &given).map_err(fail)?;
    Ok(scripts::emit(&contract, kit, &files))
}

fn find(given: &str, call_site: Option<&Path>) -> Option<PathBuf> {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let beside = call_site
        .and_then(|file| file.canonicalize().ok())
        .and_then(|file| file.parent().map(Path::to_path_buf));
    [manifest, beside].into_iter().flatten().map(|folder| folder.join(given)).find(|path| path.exists())
}
