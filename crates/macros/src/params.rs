//! A type per placeholder.

use keyplane_schema::{Dfa, IntRange, Param, ParamKind};
use proc_macro2::TokenStream;
use quote::quote;

use crate::words::type_name;

pub(crate) fn param(param: &Param) -> TokenStream {
    let doc = format!("`<{}>`: {}\n\n{}", param.name, param.describe(), param.doc);
    match &param.kind {
        ParamKind::OneOf { words, open: false } => words_type(param, words, &doc),
        ParamKind::Int(range) => int_type(param, *range, &doc),
        ParamKind::Bytes(length) => bytes_type(param, *length, &doc),
        _ => text_type(param, &doc),
    }
}

fn text_type(param: &Param, doc: &str) -> TokenStream {
    let (name, word, expected) = (type_name(&param.name), &param.name, param.describe());
    let check = check(param.automaton());
    let read = param.legacy.as_ref().map(|_| {
        let read_check = self::check(param.read_automaton());
        quote! {
            /// A value found in the store: the legacy shape passes too. Keys made of it are for
            /// reading; a store refuses to write them.
            pub fn from_store(value: impl ::core::convert::Into<::std::string::String>) -> ::core::result::Result<Self, ::keyplane_key::ParamError> {
                static CHECK: ::keyplane_key::Check = #read_check;
                let value: ::std::string::String = value.into();
                if CHECK.accepts(&value) { ::core::result::Result::Ok(Self(value)) } else { ::core::result::Result::Err(::keyplane_key::ParamError::new(#word, value, #expected)) }
            }

            /// Whether it has the legacy shape only.
            #[must_use]
            pub fn is_legacy(&self) -> bool {
                !Self::CHECK.accepts(&self.0)
            }
        }
    });
    quote! {
        #[doc = #doc]
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct #name(::std::string::String);

        impl #name {
            const CHECK: ::keyplane_key::Check = #check;

            /// A value, if it passes the check.
            pub fn new(value: impl ::core::convert::Into<::std::string::String>) -> ::core::result::Result<Self, ::keyplane_key::ParamError> {
                let value: ::std::string::String = value.into();
                if Self::CHECK.accepts(&value) { ::core::result::Result::Ok(Self(value)) } else { ::core::result::Result::Err(::keyplane_key::ParamError::new(#word, value, #expected)) }
            }

            #read

            /// The value as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl ::core::fmt::Display for #name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl ::core::str::FromStr for #name {
            type Err = ::keyplane_key::ParamError;
            fn from_str(value: &str) -> ::core::result::Result<Self, ::keyplane_key::ParamError> {
                Self::new(value)
            }
        }
    }
}

fn int_type(param: &Param, range: IntRange, doc: &str) -> TokenStream {
    let (name, word, expected) = (type_name(&param.name), &param.name, param.describe());
    let except: Vec<u64> =
        param.except.iter().filter_map(|word| word.parse().ok()).chain([u64::MAX]).collect();
    // A key holds at most what Redis counts: 63 bits.
    let low = range.low.unwrap_or(0).max(0) as u64;
    let high = range.high.unwrap_or(i64::MAX) as u64;
    quote! {
        #[doc = #doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct #name(u64);

        impl #name {
            /// A value, if it lies in the range.
            pub fn new(value: u64) -> ::core::result::Result<Self, ::keyplane_key::ParamError> {
                if (#low..=#high).contains(&value) && ![#(#except),*].contains(&value) { ::core::result::Result::Ok(Self(value)) } else { ::core::result::Result::Err(::keyplane_key::ParamError::new(#word, value.to_string(), #expected)) }
            }

            /// The number.
            #[must_use]
            pub fn get(self) -> u64 {
                self.0
            }
        }

        impl ::core::fmt::Display for #name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                ::core::fmt::Display::fmt(&self.0, f)
            }
        }

        impl ::core::str::FromStr for #name {
            type Err = ::keyplane_key::ParamError;
            fn from_str(value: &str) -> ::core::result::Result<Self, ::keyplane_key::ParamError> {
                let plain = value == "0" || (!value.starts_with('0') && value.bytes().all(|b| b.is_ascii_digit()));
                let number = value.parse().ok().filter(|_| plain);
                number.and_then(|number| Self::new(number).ok()).ok_or_else(|| ::keyplane_key::ParamError::new(#word, value, #expected))
            }
        }
    }
}

fn words_type(param: &Param, words: &[String], doc: &str) -> TokenStream {
    let (name, word, expected) = (type_name(&param.name), &param.name, param.describe());
    let words: Vec<&String> = words.iter().filter(|word| param.accepts(word)).collect();
    let variants: Vec<_> = words.iter().map(|word| type_name(word)).collect();
    let docs = words.iter().map(|word| format!("`{word}`"));
    quote! {
        #[doc = #doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum #name {
            #(#[doc = #docs] #variants,)*
        }

        impl #name {
            /// All of them.
            pub const ALL: &'static [Self] = &[#(Self::#variants),*];

            /// The word.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    #(Self::#variants => #words,)*
                }
            }
        }

        impl ::core::fmt::Display for #name {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl ::core::str::FromStr for #name {
            type Err = ::keyplane_key::ParamError;
            fn from_str(value: &str) -> ::core::result::Result<Self, ::keyplane_key::ParamError> {
                Self::ALL.iter().copied().find(|word| word.as_str() == value).ok_or_else(|| ::keyplane_key::ParamError::new(#word, value, #expected))
            }
        }
    }
}

fn bytes_type(param: &Param, length: u32, doc: &str) -> TokenStream {
    let name = type_name(&param.name);
    let length = length as usize;
    quote! {
        #[doc = #doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct #name(pub [u8; #length]);

        impl ::core::convert::AsRef<[u8]> for #name {
            fn as_ref(&self) -> &[u8] {
                &self.0
            }
        }
    }
}

fn check(dfa: &Dfa) -> TokenStream {
    let (classes, width, next, accept) = dfa.table();
    quote! {
        ::keyplane_key::Check { classes: &[#(#classes),*], width: #width, next: &[#(#next),*], accept: &[#(#accept),*] }
    }
}
