//! The words of the attribute, and the tests that come out.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, Error, ItemFn, Result, Token, parenthesized, parse2};

/// The kinds of store: the word, and its variant of `keyplane_testing::Kind`.
const KINDS: [(&str, &str); 7] = [
    ("redis", "Redis"),
    ("unix", "Unix"),
    ("tls", "Tls"),
    ("valkey", "Valkey"),
    ("cluster", "Cluster"),
    ("sentinel", "Sentinel"),
    ("embedded", "Embedded"),
];

pub(crate) fn every_store(choice: TokenStream, function: TokenStream) -> Result<TokenStream> {
    let Words { choice, in_turn } = parse2(choice)?;
    let kinds = choice.kinds();
    let run = Ident::new(if in_turn { "run_in_turn_on" } else { "run_on" }, Span::call_site());
    let function: ItemFn = parse2(function)?;
    check(&function)?;

    let (mut of_function, mut of_tests, mut of_both) = (Vec::new(), Vec::new(), Vec::new());
    for attribute in &function.attrs {
        let is = |words: &[&str]| words.iter().any(|word| attribute.path().is_ident(word));
        let list: &mut Vec<&Attribute> = if is(&["ignore"]) {
            &mut of_tests
        } else if is(&["cfg"]) {
            &mut of_both
        } else {
            &mut of_function
        };
        list.push(attribute);
    }

    let name = &function.sig.ident;
    let (signature, body) = (&function.sig, &function.block);
    let tests = kinds.iter().map(|(word, variant)| {
        // The name of the test points to the function, so that a failure is found.
        let test = Ident::new(word, name.span());
        let variant = Ident::new(variant, Span::call_site());
        quote! {
            #[test]
            #(#of_tests)*
            fn #test() {
                ::keyplane_testing::#run(::keyplane_testing::Kind::#variant, ::core::module_path!(), super::#name);
            }
        }
    });
    // The function stays where it is, so that its body sees what it always saw; a module may share its name.
    Ok(quote! {
        #(#of_both)*
        #(#of_function)*
        #[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "the body of a test")]
        #signature #body

        #(#of_both)*
        mod #name {
            #(#tests)*
        }
    })
}

fn check(function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    if signature.asyncness.is_none() || signature.inputs.len() != 1 || !signature.generics.params.is_empty() {
        return Err(Error::new_spanned(signature, "#[every_store] goes on `async fn name(place: Place)`"));
    }
    for attribute in &function.attrs {
        if attribute.path().is_ident("test") {
            return Err(Error::new_spanned(attribute, "#[every_store] makes the tests: leave #[test] out"));
        }
        if attribute.path().is_ident("should_panic") {
            let message = "a skip does not panic, so it would fail: catch the panic in the test instead";
            return Err(Error::new_spanned(attribute, message));
        }
    }
    Ok(())
}

/// What stands in the parentheses of the attribute.
struct Words {
    choice: Choice,
    in_turn: bool,
}

/// The stores.
enum Choice {
    All,
    Only(Vec<Ident>),
    Except(Vec<Ident>),
}

impl Choice {
    /// What follows `only` or `except`.
    fn parse(how: &Ident, input: ParseStream<'_>) -> Result<Self> {
        let inside;
        parenthesized!(inside in input);
        let words: Vec<Ident> =
            Punctuated::<Ident, Token![,]>::parse_terminated(&inside)?.into_iter().collect();
        if let Some(unknown) = words.iter().find(|word| KINDS.iter().all(|(known, _)| word != known)) {
            let known = KINDS.map(|(word, _)| word).join(", ");
            return Err(Error::new(
                unknown.span(),
                format!("no kind of store is `{unknown}`: there are {known}"),
            ));
        }
        let choice = if how == "only" { Self::Only(words) } else { Self::Except(words) };
        if choice.kinds().is_empty() {
            return Err(Error::new(how.span(), "this leaves no store to test on"));
        }
        Ok(choice)
    }

    fn kinds(&self) -> Vec<(&'static str, &'static str)> {
        let named = |list: &[Ident], word: &str| list.iter().any(|ident| ident == word);
        let chosen = |word: &str| match self {
            Self::All => true,
            Self::Only(list) => named(list, word),
            Self::Except(list) => !named(list, word),
        };
        KINDS.into_iter().filter(|(word, _)| chosen(word)).collect()
    }
}

impl Parse for Words {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut words = Self { choice: Choice::All, in_turn: false };
        while !input.is_empty() {
            let word: Ident = input.parse()?;
            if word == "in_turn" {
                words.in_turn = true;
            } else if word != "only" && word != "except" {
                let message =
                    format!("`{word}` is not known here: write `only(…)`, `except(…)`, `in_turn` or nothing");
                return Err(Error::new(word.span(), message));
            } else if matches!(words.choice, Choice::All) {
                words.choice = Choice::parse(&word, input)?;
            } else {
                return Err(Error::new(word.span(), "one `only(…)` or one `except(…)`"));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(choice: &str, function: &str) -> String {
        let tokens = |text: &str| text.parse::<TokenStream>().unwrap();
        match every_store(tokens(choice), tokens(function)) {
            Ok(tests) => tests.to_string(),
            Err(error) => format!("error: {error}"),
        }
    }

    fn kinds(choice: &str) -> Vec<&'static str> {
        let made = expand(choice, "async fn it(place: Place) {}");
        KINDS
            .map(|(word, _)| word)
            .into_iter()
            .filter(|word| made.contains(&format!("fn {word} ()")))
            .collect()
    }

    #[test]
    fn all_kinds_unless_chosen() {
        assert_eq!(kinds(""), ["redis", "unix", "tls", "valkey", "cluster", "sentinel", "embedded"]);
        assert_eq!(kinds("only(redis, cluster)"), ["redis", "cluster"]);
        assert_eq!(kinds("except(cluster, tls,)"), ["redis", "unix", "valkey", "sentinel", "embedded"]);
    }

    #[test]
    fn in_turn_is_one_more_word() {
        assert_eq!(kinds("only(redis), in_turn"), ["redis"]);
        let function = "async fn it(place: Place) {}";
        assert!(expand("in_turn", function).contains(":: run_in_turn_on ("));
        assert!(expand("", function).contains(":: run_on ("));
    }

    #[test]
    fn unknown_words_are_errors_with_the_list() {
        let function = "async fn it(place: Place) {}";
        assert_eq!(
            expand("only(reddis)", function),
            "error: no kind of store is `reddis`: there are redis, unix, tls, valkey, cluster, sentinel, embedded"
        );
        assert_eq!(
            expand("just(redis)", function),
            "error: `just` is not known here: write `only(…)`, `except(…)`, `in_turn` or nothing"
        );
        assert_eq!(expand("only()", function), "error: this leaves no store to test on");
        assert_eq!(expand("only(redis), except(tls)", function), "error: one `only(…)` or one `except(…)`");
    }

    #[test]
    fn other_functions_are_refused() {
        let shape = "error: #[every_store] goes on `async fn name(place: Place)`";
        assert_eq!(expand("", "fn it(place: Place) {}"), shape);
        assert_eq!(expand("", "async fn it() {}"), shape);
        assert_eq!(
            expand("", "#[test] async fn it(place: Place) {}"),
            "error: #[every_store] makes the tests: leave #[test] out"
        );
        assert_eq!(
            expand("", "#[should_panic] async fn it(place: Place) {}"),
            "error: a skip does not panic, so it would fail: catch the panic in the test instead"
        );
    }

    #[test]
    fn attributes_go_where_they_work() {
        let made =
            expand("only(redis)", "#[doc = \"d\"] #[ignore] #[cfg(unix)] async fn it(place: Place) {}");
        assert!(made.starts_with("# [cfg (unix)] # [doc = \"d\"]"), "{made}");
        assert_eq!(made.matches("# [ignore]").count(), 1, "{made}");
        assert!(made.contains("# [cfg (unix)] mod it { # [test] # [ignore] fn redis ()"), "{made}");
    }
}
