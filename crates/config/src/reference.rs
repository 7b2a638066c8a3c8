//! The reference page, from the table of settings.

use std::fmt::Write as _;

use crate::definition::{Meaning, Setting, Via};
use crate::section::{OLDER_MEMPOOL, Section};
use crate::table::{INERT, SETTINGS};

const HEAD: &str = "\
# Settings

<!-- Generated from crates/config/src/table.rs by `cargo xtask generate`. -->

A setting comes from a flag, else from the environment, else from `keyplane.toml`, else it has its default. What is said for
one system is stronger than what is said for all in the same way: a line in `[market]` beats a line in `[store]`, and a
variable beats both. `keyplane config show` prints every setting with its source.

The file is the one that `--config` or `KEYPLANE_CONFIG` names, else `keyplane.toml` in the current folder if it is there.
Paths in it start from its own folder. An empty variable is not set. What nobody knows, in the file or among the variables
that begin with `KEYPLANE_`, is an error.

A password comes from the environment, from a file that only its owner and group may read, or inside the url; never from a
flag, and in `keyplane.toml` only inside a url. A user or password in a url counts like the setting given in the same place,
and only together with that url.
";

/// The reference page of all settings as Markdown.
#[must_use]
pub fn markdown() -> String {
    let mut page = HEAD.to_owned();
    for section in Section::ALL {
        _ = write!(page, "\n## {section}\n\n");
        if section != Section::Store {
            page += &format!(
                "Every setting of [store], under `{}…` in the environment, and:\n\n",
                section.variable_prefix()
            );
        }
        page += "| setting | default | environment | meaning |\n|---|---|---|---|\n";
        for setting in SETTINGS {
            page += &row(section, setting).unwrap_or_default();
        }
        page += &older(section);
    }
    page
}

fn row(section: Section, setting: &Setting) -> Option<String> {
    let own = setting.own_defaults.iter().any(|(of, _)| *of == section);
    if !setting.is_told_in(section) && !own {
        return None;
    }
    let default = match setting.default_in(section) {
        None => "not set".to_owned(),
        Some("") => "none".to_owned(),
        Some(text) => format!("`{text}`"),
    };
    let doc = match (setting.is_told_in(section), setting.kind.range()) {
        (false, _) => format!("{} Its own default.", setting.doc),
        (true, Some(range)) => format!("{} ({range})", setting.doc),
        (true, None) => setting.doc.to_owned(),
    };
    Some(format!("| `{}` | {default} | `{}` | {doc} |\n", setting.name, setting.variable(section)))
}

/// The older names of a section, if it has any.
fn older(section: Section) -> String {
    let mut lines = String::new();
    if section == Section::Mempool {
        _ = writeln!(lines, "- the section `[{}.{}]`: `[mempool]`", OLDER_MEMPOOL.0, OLDER_MEMPOOL.1);
    }
    for setting in SETTINGS {
        for older in setting.older.iter().filter(|older| older.section == section) {
            let kind = if older.via == Via::File { "" } else { "the variable " };
            let meaning = match older.meaning {
                Meaning::Same => String::new(),
                Meaning::Seconds => ", in seconds".to_owned(),
                Meaning::Hours => ", in hours".to_owned(),
                Meaning::Switch => ": true is the default, false is `off`".to_owned(),
                Meaning::Part(part) => format!(", its {}", part.word()),
            };
            _ = writeln!(lines, "- {kind}`{}`: `{}`{meaning}", older.name, setting.name);
        }
    }
    for inert in INERT.iter().filter(|inert| inert.section == section) {
        _ = writeln!(lines, "- `{}`: accepted, no effect. {}", inert.name, inert.doc);
    }
    if section == Section::Docket {
        lines += "\nThe variables `REDIS_…` that make a url count only when `REDIS_HOST` is set and nothing else gives a url, \
                  neither for the docket nor for all.\n";
    }
    if lines.is_empty() { lines } else { format!("\nOlder names, still accepted:\n\n{lines}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unknown::variables;

    #[test]
    fn the_page_has_every_setting_and_every_older_name() {
        let page = markdown();
        for setting in SETTINGS {
            for section in Section::ALL.into_iter().filter(|section| setting.is_told_in(*section)) {
                assert!(page.contains(&format!("| `{}` |", setting.name)), "{}", setting.name);
                assert!(page.contains(&format!("`{}`", setting.variable(section))), "{}", setting.name);
            }
            for older in setting.older {
                assert!(page.contains(&format!("`{}`: `{}`", older.name, setting.name)), "{}", older.name);
            }
        }
        assert!(INERT.iter().all(|inert| page.contains(&format!("`{}`: accepted, no effect", inert.name))));
        assert!(variables().len() > 100);
    }

    #[test]
    fn lines_are_no_longer_than_elsewhere_in_the_docs() {
        let long = HEAD.lines().find(|line| line.chars().count() > 128);
        assert_eq!(long, None);
    }
}
