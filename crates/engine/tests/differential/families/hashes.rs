//! To come.

use crate::frame::Compare::Exact;
use crate::grammar::{Family, Gen, Template};

pub(crate) fn hashes() -> Family {
    Family { templates: TEMPLATES, feed }
}

fn feed(g: &mut Gen) {
    g.command("PING");
}

const TEMPLATES: &[Template] = &[Template::keyless("PING", &[], Exact, |g| {
    g.command("PING");
})];
