//! User and password: settings of their own, or part of the url.
//!
//! What a url carries counts like the setting given in the same place, and only with that url: the password of a url
//! that another one replaced is never sent anywhere.

use keyplane_schema::{Code, Diagnostic};

use keyplane_url::Secret;

use crate::config::Settings;
use crate::error::Fault;
use crate::given::{Given, Level};
use crate::secret;
use crate::section::Section;
use crate::url::StoreUrl;
use crate::value::Value;

/// Where a user or password was found.
pub(crate) enum Credential<'c> {
    /// As a setting.
    Said(&'c Given),
    /// In the url.
    InUrl(&'c Given, String),
}

impl<'c> Credential<'c> {
    pub(crate) fn is_one(name: &str) -> bool {
        matches!(name, "user" | "password")
    }

    pub(crate) fn given(&self) -> &'c Given {
        match self {
            Self::Said(given) | Self::InUrl(given, _) => given,
        }
    }

    pub(crate) fn shown(&self) -> String {
        match self {
            // The password is what counts; the name of its file has a row of its own.
            Self::Said(Given { value: Value::Path(_), .. }) => "(set)".to_owned(),
            Self::Said(given) => given.value.shown(),
            Self::InUrl(_, shown) => shown.clone(),
        }
    }
}

/// The `user` or `password` that counts.
pub(crate) fn credential<'c>(settings: Settings<'c>, name: &str) -> Option<Credential<'c>> {
    let said = match name {
        "user" => settings.given("user"),
        "password" => [settings.given("password"), settings.given("password_file")]
            .into_iter()
            .flatten()
            .max_by_key(|given| given.rank()),
        _ => return None,
    };
    let in_url = url(settings).and_then(|(given, url)| {
        let shown = match name {
            "user" => url.user.clone(),
            _ => url.password.as_ref().map(Secret::to_string),
        };
        Some(Credential::InUrl(given, shown?))
    });
    let in_url = in_url.filter(|found| said.is_none_or(|said| found.given().rank() > said.rank()));
    in_url.or(said.map(Credential::Said))
}

/// The password itself, from wherever it counts. Reads the file that holds it.
pub(crate) fn password(settings: Settings<'_>) -> Result<Option<Secret>, Fault> {
    match credential(settings, "password") {
        None => Ok(None),
        Some(Credential::InUrl(..)) => Ok(url(settings).and_then(|(_, url)| url.password.clone())),
        Some(Credential::Said(given)) => match &given.value {
            Value::Secret(secret) => Ok(Some(secret.clone())),
            Value::Path(path) => secret::from_file(path, &given.source.to_string()).map(Some),
            _ => Ok(None),
        },
    }
}

fn url<'c>(settings: Settings<'c>) -> Option<(&'c Given, &'c StoreUrl)> {
    match settings.given("url")? {
        given @ Given { value: Value::Url(url), .. } => Some((given, url)),
        _ => None,
    }
}

/// Two ways of saying one thing in one place: neither can be the stronger.
pub(crate) fn given_twice(given: &[Given]) -> (Vec<Diagnostic>, Vec<Fault>) {
    let (mut in_file, mut elsewhere) = (Vec::new(), Vec::new());
    for (index, second) in given.iter().enumerate().filter(|(_, given)| given.level > Level::Default) {
        let rival = |first: &&Given| first.section == second.section && first.level == second.level;
        for first in given[..index].iter().filter(rival) {
            let Some(what) = same_thing(first, second) else { continue };
            match (first.at, second.at) {
                (Some(before), Some(after)) => in_file.push(
                    Diagnostic::error(
                        Code::BadName,
                        format!("{what} is given twice for {}", second.section),
                        after,
                        format!("by `{}` here", second.word),
                    )
                    .also(before, format!("and by `{}` here", first.word))
                    .help("keep one of them"),
                ),
                _ => elsewhere.push(
                    Fault::new(
                        Code::BadName,
                        format!(
                            "{what}{} is given twice: by {} and by {}",
                            for_whom(second.section),
                            first.word,
                            second.word
                        ),
                    )
                    .help("unset one of them"),
                ),
            }
        }
    }
    (in_file, elsewhere)
}

fn for_whom(section: Section) -> String {
    if section == Section::Store { String::new() } else { format!(" of the {}", section.word()) }
}

fn same_thing(first: &Given, second: &Given) -> Option<String> {
    if first.setting.name == second.setting.name {
        return Some(format!("`{}`", first.setting.name));
    }
    let gives = |given: &Given| {
        let (user, password) = match &given.value {
            Value::Url(url) => (url.user.is_some(), url.password.is_some()),
            _ => (given.setting.name == "user", given.setting.name.starts_with("password")),
        };
        [("the user", user), ("the password", password)]
    };
    let both = gives(first).into_iter().zip(gives(second)).find(|((_, a), (_, b))| *a && *b);
    both.map(|((what, _), _)| what.to_owned())
}
