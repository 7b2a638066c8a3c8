//! The scripts of a contract as code.

use std::collections::BTreeSet;
use std::path::Path;

use keyplane_schema::script::{Script, ScriptArg, ScriptKey, check, include};
use keyplane_schema::{Access, Contract};
use proc_macro2::TokenStream;
use quote::quote;

use crate::emit::marker;
use crate::words::{constant_name, type_name, value_name};

/// A script and where it is.
pub(crate) struct File {
    script: Script,
    source: String,
    /// The files that its text comes from: when one changes, it is compiled again.
    paths: Vec<String>,
}

/// Reads and checks every script in the folder, and sees that every operation's is there. All that is wrong comes at
/// once.
pub(crate) fn read(contract: &Contract, folder: &Path, given: &str) -> Result<Vec<File>, String> {
    let mut problems = Vec::new();
    let mut files = Vec::new();
    let found = names_in(folder).map_err(|error| format!("cannot read the folder `{given}`: {error}"))?;
    for op in &contract.ops {
        if let Some(name) = op.script.as_ref().filter(|name| !found.contains(*name)) {
            problems.push(format!("the operation `{}` runs `{name}`, which is not in `{given}`", op.name));
        }
    }
    for name in found {
        let path = folder.join(&name);
        let shown = format!("{given}/{name}");
        match include::read(&path) {
            Err(error) => problems.push(error.to_string()),
            Ok(whole) => match check(contract, &shown, &whole.source) {
                Err(broken) => problems.push(format!("the script is not sound\n\n{broken}")),
                Ok(script) => files.push(File { script, paths: paths(&path, &whole), source: whole.source }),
            },
        }
    }
    if problems.is_empty() { Ok(files) } else { Err(problems.join("\n\n")) }
}

fn paths(script: &Path, whole: &include::Whole) -> Vec<String> {
    let included = whole.includes.iter().map(|name| include::path_of(script, name));
    let all = std::iter::once(script.to_path_buf()).chain(included);
    all.map(|path| path.to_string_lossy().into_owned()).collect()
}

fn names_in(folder: &Path) -> std::io::Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".lua") {
            names.insert(name);
        }
    }
    Ok(names)
}

/// One static and one call per script.
pub(crate) fn emit(contract: &Contract, kit: Option<&str>, files: &[File]) -> TokenStream {
    files.iter().map(|file| script(contract, kit, file)).collect()
}

fn script(contract: &Contract, kit: Option<&str>, file: &File) -> TokenStream {
    let Script { contract: of, name, doc, ops, read_only, repeatable, returns, .. } = &file.script;
    let home = match kit {
        Some(kit) => quote!(::keyplane_key::Home::Kit(#kit)),
        None => quote!(::keyplane_key::Home::Contract(#of)),
    };
    let File { source, paths, .. } = file;
    let sha = sha1_smol::Sha1::from(source).digest().to_string();
    let (constant, call) = (constant_name(name), type_name(name));
    let keys = file.script.keys.iter().map(|key| {
        let ScriptKey { key: name, repeats, .. } = key;
        let writes = key.access != Access::Read;
        let verbs = verbs(contract, ops, name);
        quote!(::keyplane_key::ScriptKey { name: #name, verbs: &[#(#verbs),*], writes: #writes, repeats: #repeats })
    });
    let args = file.script.args.iter().map(|arg| match arg {
        ScriptArg::Ttl { key } => quote!(::keyplane_key::ScriptArg::Ttl(#key)),
        _ => quote!(::keyplane_key::ScriptArg::Value),
    });
    let about = format!("{doc}\n\nAnswers {returns}.");
    let (fields, steps) = parts(contract, &file.script);
    // A script without keys and arguments of its own borrows nothing.
    let lifetime = (!fields.is_empty()).then(|| quote!(<'a>));
    let elided = (!fields.is_empty()).then(|| quote!(<'_>));
    quote! {
        #[doc = #doc]
        pub static #constant: ::keyplane_key::Script = ::keyplane_key::Script {
            home: #home,
            name: #name,
            source: {
                #(const _: &str = include_str!(#paths);)*
                #source
            },
            sha: #sha,
            keys: &[#(#keys),*],
            args: &[#(#args),*],
            ops: &[#(#ops),*],
            read_only: #read_only,
            repeatable: #repeatable,
        };

        #[doc = #about]
        #[derive(Debug, Clone)]
        pub struct #call #lifetime {
            #(#fields,)*
        }

        impl<R> ::core::convert::From<#call #elided> for ::keyplane_key::Call<R> {
            fn from(call: #call #elided) -> Self {
                let made = ::keyplane_key::Call::new(&#constant);
                #(#steps)*
                made
            }
        }
    }
}

/// What the operations that run a script do to a key.
fn verbs(contract: &Contract, ops: &[String], key: &str) -> BTreeSet<&'static str> {
    let run = contract.ops.iter().filter(|op| ops.contains(&op.name));
    let touched = run.flat_map(|op| op.keys.iter().filter(|touched| touched.key == key));
    touched.flat_map(|touched| touched.verbs.iter().map(|verb| verb.word())).collect()
}

/// Fields of the call, and the statements that put them in order.
fn parts(contract: &Contract, script: &Script) -> (Vec<TokenStream>, Vec<TokenStream>) {
    let mut fields = Vec::new();
    let mut steps = Vec::new();
    for (part, key) in script.keys.iter().enumerate() {
        let field = value_name(&key.key);
        let known = contract.key(&key.key);
        let types = known.map(|key| key.types.as_slice()).unwrap_or_default();
        let doc = known.map(|key| format!("`{}`", key.pattern)).unwrap_or_default();
        // Where the use decides the type, any key of the family will do.
        let single = match types {
            [only] => {
                let marker = marker(*only);
                quote!(&'a ::keyplane_key::Key<::keyplane_key::#marker>)
            }
            _ => quote!(::keyplane_key::AnyKey<'a>),
        };
        if key.repeats {
            fields.push(quote!(#[doc = #doc] pub #field: ::std::vec::Vec<#single>));
            steps.push(
                quote!(let made = call.#field.into_iter().fold(made, |made, key| made.key(key, #part));),
            );
        } else {
            fields.push(quote!(#[doc = #doc] pub #field: #single));
            steps.push(quote!(let made = made.key(call.#field, #part);));
        }
    }
    for arg in &script.args {
        let ScriptArg::Value { name, repeats } = arg else { continue };
        let (field, doc) = (value_name(name), format!("The argument `{name}`."));
        if *repeats {
            fields.push(quote!(#[doc = #doc] pub #field: ::std::vec::Vec<::keyplane_key::Arg<'a>>));
            steps.push(quote!(let made = call.#field.iter().fold(made, |made, arg| made.arg(arg));));
        } else {
            fields.push(quote!(#[doc = #doc] pub #field: ::keyplane_key::Arg<'a>));
            steps.push(quote!(let made = made.arg(&call.#field);));
        }
    }
    (fields, steps)
}
