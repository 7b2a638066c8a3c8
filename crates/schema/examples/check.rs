//! Checks a contract: `cargo run -p keyplane-schema --example check -- keys.toml`.
#![allow(clippy::print_stdout)]

fn main() -> std::io::Result<()> {
    for file in std::env::args().skip(1) {
        let source = std::fs::read_to_string(&file)?;
        match keyplane_schema::parse(&file, &source) {
            Ok(contract) => println!("{file}: sound, {} keys", contract.keys.len()),
            Err(broken) => println!("{broken}"),
        }
    }
    Ok(())
}
