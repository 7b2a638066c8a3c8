//! The code that a contract becomes.

use keyplane_schema::{Contract, Key, Naming, ParamKind, Pattern, Policy, RedisType, Segment, Tag};
use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use crate::params;
use crate::words::{constant_name, constructor_names, function_name, type_name, value_name};

pub(crate) fn keyspace(contract: &Contract, path: &str) -> TokenStream {
    let params = contract.params.iter().map(params::param);
    let keys = contract.keys.iter().flat_map(|key| constructors(contract, key));
    let infos = contract.keys.iter().map(|key| info(contract, key));
    let fields = contract.keys.iter().filter(|key| !key.fields.is_empty()).map(|key| fields(contract, key));
    let (name, namespace, doc) = (&contract.name, &contract.namespace, &contract.doc);
    let version = contract.version.to_string();
    let tagged_by_namespace = contract.keys.iter().any(|key| key.tag == Some(Tag::Namespace));
    quote! {
        #(#params)*

        #[doc = #doc]
        #[doc = ""]
        #[doc = "One method per key of the contract."]
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct Keyspace {
            naming: ::keyplane_key::Naming,
        }

        impl ::core::default::Default for Keyspace {
            fn default() -> Self {
                Self { naming: ::keyplane_key::Naming::of_contract(#namespace) }
            }
        }

        impl Keyspace {
            /// The contract's name.
            pub const CONTRACT: &'static str = #name;
            /// The contract's version.
            pub const VERSION: &'static str = #version;
            /// The contract's text, as it was when this was compiled.
            pub const SOURCE: &'static str = include_str!(#path);

            /// Keys spelled for a deployment. `default()` has the contract's own namespace and plain names. Refused where
            /// keys are tagged by the namespace and there is none.
            pub fn new(naming: ::keyplane_key::Naming) -> ::core::result::Result<Self, ::keyplane_key::NamingError> {
                naming.check(#tagged_by_namespace).map(|naming| Self { naming })
            }

            #(#keys)*
        }

        /// What the contract says about each key.
        pub mod info {
            #(#infos)*
        }

        /// Names of hash and stream fields, by key.
        pub mod fields {
            #(#fields)*
        }
    }
}

fn constructors(contract: &Contract, key: &Key) -> Vec<TokenStream> {
    constructor_names(key).iter().map(|(name, kind)| constructor(contract, key, name, *kind)).collect()
}

fn constructor(contract: &Contract, key: &Key, name: &Ident, kind: RedisType) -> TokenStream {
    let marker = marker(kind);
    let args = key.pattern.params().map(|param| {
        let (arg, kind) = (value_name(param), type_name(param));
        let by_value = contract.param(param).is_some_and(|param| {
            matches!(param.kind, ParamKind::Int(_) | ParamKind::OneOf { open: false, .. })
        });
        if by_value { quote!(#arg: #kind) } else { quote!(#arg: &#kind) }
    });
    let info = constant_name(&key.name);
    let text = local();
    let doc = format!("`{}`, a {}. {}\n\nTTL: {}.", key.pattern, kind.word(), key.doc, key.ttl.policy);
    let tagged_namespace = key.tag == Some(Tag::Namespace);
    let capacity = key.pattern.as_str().len() + 40;
    let pieces = pieces(contract, key);
    let legacy = legacy(contract, key);
    quote! {
        #[doc = #doc]
        #[must_use]
        pub fn #name(&self, #(#args),*) -> ::keyplane_key::Key<::keyplane_key::#marker> {
            let mut #text = self.naming.start(#tagged_namespace, #capacity);
            #(#pieces)*
            ::keyplane_key::Key::new(&info::#info, #text) #legacy
        }
    }
}

/// A key with an id of an old shape can be read and never written, so it carries a mark.
fn legacy(contract: &Contract, key: &Key) -> TokenStream {
    let old: Vec<Ident> = key
        .pattern
        .params()
        .filter(|param| contract.param(param).is_some_and(|param| param.legacy.is_some()))
        .map(value_name)
        .collect();
    if old.is_empty() { TokenStream::new() } else { quote!(.marked_legacy(false #(|| #old.is_legacy())*)) }
}

/// Statements that push the literal and placeholder parts, with braces where hash tags may be on.
fn pieces(contract: &Contract, key: &Key) -> Vec<TokenStream> {
    let optional_braces = matches!(key.tag, Some(Tag::Part { .. }));
    let mut naming = Naming::tagged(contract);
    naming.namespace.clear();
    let pattern = if optional_braces { naming.pattern(key) } else { key.pattern.clone() };
    let mut pieces = Vec::new();
    for (index, segment) in pattern.segments().iter().enumerate() {
        if index > 0 {
            literal(&mut pieces, ":", optional_braces);
        }
        segment_pieces(&mut pieces, segment, optional_braces);
    }
    pieces
}

fn segment_pieces(pieces: &mut Vec<TokenStream>, segment: &Segment, optional_braces: bool) {
    literal(pieces, &segment.prefix, optional_braces);
    if let Some(param) = &segment.param {
        let (arg, text) = (value_name(param), local());
        pieces.push(quote!({
            use ::core::fmt::Write as _;
            let _ = ::core::write!(#text, "{}", #arg);
        }));
    }
    literal(pieces, &segment.suffix, optional_braces);
}

fn literal(pieces: &mut Vec<TokenStream>, text: &str, optional_braces: bool) {
    let key = local();
    for part in text.split_inclusive(['{', '}']) {
        let (plain, brace) = match part.char_indices().last() {
            Some((at, brace @ ('{' | '}'))) if optional_braces => (&part[..at], Some(brace)),
            _ => (part, None),
        };
        if !plain.is_empty() {
            pieces.push(quote!(#key.push_str(#plain);));
        }
        if let Some(brace) = brace {
            pieces.push(quote!(self.naming.brace(&mut #key, #brace);));
        }
    }
}

/// The text in the making: a name that no argument can clash with.
fn local() -> Ident {
    Ident::new("key", Span::mixed_site())
}

pub(crate) fn marker(kind: RedisType) -> Ident {
    let word = match kind {
        RedisType::String => "Str",
        RedisType::Hash => "Hash",
        RedisType::List => "List",
        RedisType::Set => "Set",
        RedisType::Zset => "Zset",
        RedisType::Stream => "Stream",
    };
    Ident::new(word, Span::call_site())
}

fn info(contract: &Contract, key: &Key) -> TokenStream {
    let (constant, doc) = (constant_name(&key.name), format!("`{}`", key.pattern));
    let helpers = contract.keys.iter().filter_map(|helper| self::helper(key, helper));
    let (contract, name, pattern, ttl) =
        (&contract.name, &key.name, key.pattern.as_str(), ttl(&key.ttl.policy));
    quote! {
        #[doc = #doc]
        pub static #constant: ::keyplane_key::KeyInfo = ::keyplane_key::KeyInfo { contract: #contract, name: #name, pattern: #pattern, ttl: #ttl, helpers: &[#(#helpers),*] };
    }
}

/// What a kit primitive keeps beside a key: its pattern starts with the key's, and so does its text.
fn helper(host: &Key, helper: &Key) -> Option<TokenStream> {
    let of = helper.helper_of.as_ref().filter(|of| of.host == host.name)?;
    let role = helper.name.strip_prefix(&host.name)?.strip_prefix('_')?;
    let suffix = helper.pattern.as_str().strip_prefix(host.pattern.as_str())?;
    let (kit, kind, info) = (&of.kit, helper.types.first()?.word(), constant_name(&helper.name));
    Some(quote!(::keyplane_key::Helper {
        kit: #kit, role: #role, suffix: #suffix, redis_type: #kind, info: &#info
    }))
}

fn ttl(policy: &Policy) -> TokenStream {
    let millis = |duration: std::time::Duration| duration.as_millis() as u64;
    let optional = |duration: Option<std::time::Duration>| match duration.map(millis) {
        Some(millis) => quote!(::core::option::Option::Some(::core::time::Duration::from_millis(#millis))),
        None => quote!(::core::option::Option::None),
    };
    let rule = match policy {
        Policy::None => return quote!(::keyplane_key::Ttl::NONE),
        Policy::Fixed(_) => quote!(Fixed),
        Policy::Sliding(_) => quote!(Sliding),
        Policy::Refreshed(_) => quote!(Refreshed),
        Policy::Max(_) => quote!(Max),
        Policy::Linked { to, .. } => quote!(Linked { to: #to }),
        Policy::Pruned { key, .. } => {
            let key = optional(*key);
            quote!(Pruned { key: #key })
        }
        Policy::After { event, before, .. } => {
            let before = optional(before.as_ref().map(|before| before.lasts));
            quote!(After { event: #event, before: #before })
        }
    };
    let lasts = optional(policy.duration());
    quote!(::keyplane_key::Ttl { policy: ::keyplane_key::Policy::#rule, lasts: #lasts })
}

fn fields(contract: &Contract, key: &Key) -> TokenStream {
    let (module, doc) = (value_name(&key.name), format!("Fields of `{}`.", key.name));
    let entries = key.fields.iter().map(|field| match field.name.params().next() {
        None => {
            let (constant, text) = (constant_name(field.name.as_str()), field.name.as_str());
            let doc = format!("{}: {}", field.kind, field.doc);
            quote!(#[doc = #doc] pub const #constant: &str = #text;)
        }
        Some(_) => family(contract, &field.name),
    });
    quote! {
        #[doc = #doc]
        pub mod #module {
            #(#entries)*
        }
    }
}

/// A family of fields is a function of its placeholders; raw bytes are their own name.
fn family(contract: &Contract, name: &Pattern) -> TokenStream {
    if name
        .params()
        .any(|param| contract.param(param).is_some_and(|param| matches!(param.kind, ParamKind::Bytes(_))))
    {
        return TokenStream::new();
    }
    let function = function_name(name.as_str());
    let args = name.params().map(|param| {
        let (arg, kind) = (value_name(param), type_name(param));
        quote!(#arg: &super::super::#kind)
    });
    let mut format = String::new();
    for (index, segment) in name.segments().iter().enumerate() {
        format.push_str(if index > 0 { ":" } else { "" });
        format.push_str(&escaped(&segment.prefix));
        format.push_str(if segment.param.is_some() { "{}" } else { "" });
        format.push_str(&escaped(&segment.suffix));
    }
    let values = name.params().map(value_name);
    let doc = format!("`{name}`");
    quote! {
        #[doc = #doc]
        #[must_use]
        pub fn #function(#(#args),*) -> ::std::string::String {
            ::std::format!(#format, #(#values),*)
        }
    }
}

/// Braces are literal in a field name.
fn escaped(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}
