//! What to say about a name that nobody knows.

use keyplane_schema::closest;

use crate::definition::{Place, Via};
use crate::section::Section;
use crate::table::{INERT, SETTINGS, by_older_name, setting};

/// Help for a word that the section does not have.
pub(crate) fn in_section(section: Section, word: &str) -> String {
    let known: Vec<&str> = words_of(section);
    if let Some((setting, _)) = by_older_name(Via::File, word)
        && setting.stands_in(section)
    {
        return format!("its name here is `{}`", setting.name);
    }
    match (closest(word, &known), sections_with(word)) {
        (Some(near), None) => format!("did you mean `{near}`?"),
        (_, Some(sections)) => format!("`{word}` stands in {sections}"),
        (None, None) => format!("{section} knows: {}", known.join(", ")),
    }
}

/// Help for a word outside of every section.
pub(crate) fn outside(word: &str) -> String {
    let everywhere = |name: &str| setting(Section::Store, name).is_some();
    match sections_with(word) {
        _ if everywhere(word) => "put it under [store], or under the system it is for".to_owned(),
        Some(sections) => format!("put it under {sections}"),
        None => "put it under a section such as [store]".to_owned(),
    }
}

/// Help for a section that does not exist.
pub(crate) fn section(word: &str) -> String {
    let known: Vec<&str> = Section::ALL.iter().map(|section| section.word()).collect();
    match closest(word, &known) {
        Some(near) => format!("did you mean [{near}]?"),
        None => format!("sections: {}", known.join(", ")),
    }
}

/// Help for a variable that begins with `KEYPLANE_`.
pub(crate) fn variable(name: &str) -> String {
    let word = name.strip_prefix("KEYPLANE_").unwrap_or(name);
    let known = variables();
    let known: Vec<&str> = known.iter().filter_map(|name| name.strip_prefix("KEYPLANE_")).collect();
    // Without the common prefix, which would make everything look alike. The file says [store], a variable does not.
    let near = closest(word.strip_prefix("STORE_").unwrap_or(word), &known);
    let (section, rest) = Section::SYSTEMS
        .into_iter()
        .find_map(|system| Some((system, name.strip_prefix(&system.variable_prefix())?)))
        .unwrap_or((Section::Store, word));
    let lower = rest.to_ascii_lowercase();
    if let Some((setting, _)) = by_older_name(Via::File, &lower)
        && setting.stands_in(section)
    {
        return format!("its name is {}", setting.variable(section));
    }
    match (near, sections_with(&lower)) {
        (_, Some(_)) => {
            let own = SETTINGS.iter().filter(|setting| setting.name == lower);
            let names = own.flat_map(|setting| {
                let sections = Section::SYSTEMS.into_iter().filter(|section| setting.stands_in(*section));
                sections.map(|section| setting.variable(section))
            });
            format!("it is set per system: {}", names.collect::<Vec<_>>().join(", "))
        }
        (Some(near), None) => format!("did you mean KEYPLANE_{near}?"),
        (None, None) => "`keyplane config show` lists all settings; unset it if it is not one".to_owned(),
    }
}

/// Every variable of today's names.
pub(crate) fn variables() -> Vec<String> {
    let of = |section: Section| {
        SETTINGS
            .iter()
            .filter(move |setting| setting.stands_in(section))
            .map(move |setting| setting.variable(section))
    };
    Section::ALL.into_iter().flat_map(of).collect()
}

fn words_of(section: Section) -> Vec<&'static str> {
    let own = SETTINGS.iter().filter(|setting| setting.stands_in(section)).map(|setting| setting.name);
    let inert = INERT.iter().filter(|inert| inert.section == section).map(|inert| inert.name);
    let older = SETTINGS
        .iter()
        .flat_map(|setting| setting.older)
        .filter(|older| older.section == section && older.via == Via::File)
        .map(|older| older.name);
    own.chain(older).chain(inert).collect()
}

/// The sections that have a setting which is not for all.
fn sections_with(word: &str) -> Option<String> {
    let setting =
        SETTINGS.iter().find(|setting| setting.name == word && setting.place != Place::Everywhere)?;
    let sections = Section::ALL.into_iter().filter(|section| setting.stands_in(*section));
    Some(sections.map(|section| section.to_string()).collect::<Vec<_>>().join(", "))
}
