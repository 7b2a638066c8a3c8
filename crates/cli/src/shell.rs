//! Completions and man pages, from the definition of the command line.

use std::path::Path;

use clap::CommandFactory as _;

use crate::args::Args;
use crate::outcome::{Failure, Outcome};
use crate::output::Output;

pub(crate) fn completions(shell: clap_complete::Shell, output: &Output) -> Result<Outcome, Failure> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Args::command(), "keyplane", &mut text);
    output.text(&String::from_utf8_lossy(&text))?;
    Ok(Outcome::Fine)
}

pub(crate) fn man(dir: Option<&Path>, output: &Output) -> Result<Outcome, Failure> {
    let Some(dir) = dir else {
        let mut text = Vec::new();
        clap_mangen::Man::new(Args::command()).render(&mut text)?;
        output.text(&String::from_utf8_lossy(&text))?;
        return Ok(Outcome::Fine);
    };
    let at = |error: std::io::Error| {
        Failure::new(format!("cannot write man pages to {}: {error}", dir.display()))
            .help("name a folder that you may write to")
    };
    std::fs::create_dir_all(dir).map_err(at)?;
    clap_mangen::generate_to(Args::command(), dir).map_err(at)?;
    if !output.quiet {
        output.line(format!("man pages written to {}", dir.display()))?;
    }
    Ok(Outcome::Fine)
}
