//! `#[every_store]`: one test, every store. The crate `keyplane-testing` says what it promises.

mod expand;

use proc_macro::TokenStream;

/// Turns `async fn name(place: Place)` into a module `name` with one test per kind of store.
///
/// - `#[every_store]`: all kinds;
/// - `#[every_store(only(redis, cluster))]`: these;
/// - `#[every_store(except(cluster))]`: all but these;
/// - `in_turn`, alone or after one of them: what the test starts takes turns with it and never runs beside it.
///
/// `#[ignore]` goes to the tests, `#[cfg]` to tests and function; documentation and everything else stays with the
/// function.
#[proc_macro_attribute]
pub fn every_store(choice: TokenStream, function: TokenStream) -> TokenStream {
    expand::every_store(choice.into(), function.into())
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}
