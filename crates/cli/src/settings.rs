//! Settings of this start, and the store that they name.

use std::time::Duration;

use keyplane_config::{Config, Error, Flag, Section, Source, StoreSettings};
use keyplane_store::fitness::Concern;
use keyplane_store::{Options, Secret, Url};
use serde_json::{Value, json};

use crate::args::{Given, Whose};
use crate::outcome::Failure;
use crate::state;
use crate::words::count;

/// A store to connect to.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) url: Url,
    pub(crate) options: Options,
    /// Whose settings these are.
    pub(crate) section: Section,
    /// Where the url comes from.
    pub(crate) url_source: Source,
    /// Where `accept` comes from.
    pub(crate) accept_source: Source,
}

/// Reads flags, environment and file.
pub(crate) fn load(given: &Given) -> Result<Config, Box<Error>> {
    let url = given.url.as_ref().map(|url| Flag::new("--url", Section::Store, "url", url));
    keyplane_config::load(given.config.as_deref(), url.into_iter().collect()).map_err(Box::new)
}

/// The store that the settings name.
pub(crate) fn target(whose: &Whose, given: &Given) -> Result<Target, Failure> {
    let config = load(given).map_err(|error| first_of(&error))?;
    let section = whose.system.as_deref().and_then(Section::named).unwrap_or(Section::Store);
    let settings = config.section(section);
    let store = settings.store().map_err(|error| first_of(&error))?;
    let (url_source, accept_source) = (settings.source("url"), settings.source("accept"));
    let url = url(&store, &url_source)?;
    let options = options(&store, &accept_source)?;
    Ok(Target { url, options, section, url_source, accept_source })
}

fn url(settings: &StoreSettings, source: &Source) -> Result<Url, Failure> {
    let url = match &settings.url {
        Some(url) => url.as_str().to_owned(),
        None if cfg!(feature = "embedded") => format!("embedded:{}", state::folder()?.display()),
        None => {
            return Err(Failure::new("no url is set, and this build has no embedded store")
                .help("name a server with --url redis://127.0.0.1:6379"));
        }
    };
    url.parse::<Url>().map_err(|error| {
        Failure::new(format!("the url of {source} is of no use: {error}"))
            .help("keyplane config doc says what a url may be")
    })
}

/// What the store needs to know, from what was set.
pub(crate) fn options(settings: &StoreSettings, accept_source: &Source) -> Result<Options, Failure> {
    let mut options = Options::default();
    options.user.clone_from(&settings.user);
    options.password = settings.password.as_ref().map(|secret| Secret::new(secret.reveal()));
    options.tls.ca.clone_from(&settings.tls_ca);
    options.tls.identity = settings.tls_cert.clone().zip(settings.tls_key.clone());
    options.pool_size = usize::try_from(settings.pool_size).unwrap_or(usize::MAX);
    options.command_timeout = settings.command_timeout;
    options.connect_timeout = settings.connect_timeout;
    options.keepalive = settings.keepalive;
    // Off is a check that never comes.
    options.health_check_interval = settings.health_check_interval.unwrap_or(Duration::MAX);
    options.retry_on_timeout = settings.retry_on_timeout;
    #[cfg(feature = "embedded")]
    {
        options.fsync = fsync(settings);
    }
    options.accept =
        settings.accept.iter().map(|word| concern(word, accept_source)).collect::<Result<_, _>>()?;
    Ok(options)
}

/// When a change of the embedded store counts as kept, as the section store says.
#[cfg(feature = "embedded")]
pub(crate) fn fsync_of(given: &Given) -> Result<keyplane_store::Fsync, Failure> {
    let config = load(given).map_err(|error| first_of(&error))?;
    let settings = config.section(Section::Store).store().map_err(|error| first_of(&error))?;
    Ok(fsync(&settings))
}

/// The table of settings takes no other word than these.
#[cfg(feature = "embedded")]
fn fsync(settings: &StoreSettings) -> keyplane_store::Fsync {
    keyplane_store::Fsync::named(&settings.fsync).unwrap_or_default()
}

fn concern(word: &str, source: &Source) -> Result<Concern, Failure> {
    Concern::parse(word).ok_or_else(|| {
        let known = Concern::ALL.map(Concern::word);
        let help = match keyplane_schema::closest(word, &known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there are {}", known.join(", ")),
        };
        Failure::new(format!("accept ({source}): no finding is called `{word}`")).help(help)
    })
}

/// One line for a command that needs the settings and has none.
pub(crate) fn first_of(error: &Error) -> Failure {
    let in_file = error.file.iter().flat_map(|broken| &broken.diagnostics).count();
    let findings = in_file + error.faults.len();
    let (what, help) = match (&error.file, error.faults.first()) {
        (Some(broken), _) => {
            let first = broken.diagnostics.first();
            let (line, column) = first.map_or((1, 1), |first| first.line_column(&broken.source));
            let message = first.map(|first| first.message.as_str()).unwrap_or_default();
            let help = first.and_then(|first| first.help.clone());
            (format!("{}:{line}:{column}: {message}", broken.file), help)
        }
        (None, Some(fault)) => (fault.message.clone(), fault.help.clone()),
        (None, None) => ("the settings are wrong".to_owned(), None),
    };
    let all = "keyplane config show shows all of it";
    let help = match help {
        Some(help) if findings < 2 => help,
        Some(help) => format!("{help}; {all}, {findings} findings"),
        None => all.to_owned(),
    };
    Failure::new(what).help(help)
}

/// Everything, for the command whose task it is.
pub(crate) fn all_of(error: &Error, colour: bool) -> Failure {
    let mut findings: Vec<Value> = Vec::new();
    if let Some(broken) = &error.file {
        findings.extend(broken.diagnostics.iter().map(|found| {
            let (line, column) = found.line_column(&broken.source);
            json!({
                "code": found.code.word(),
                "file": broken.file,
                "line": line,
                "column": column,
                "message": found.message,
                "help": found.help,
            })
        }));
    }
    findings.extend(
        error
            .faults
            .iter()
            .map(|fault| json!({ "code": fault.code.word(), "message": fault.message, "help": fault.help })),
    );
    Failure::new(format!("the settings cannot be used: {}", count(findings.len() as u64, "finding")))
        .help("keyplane config doc lists what may be set")
        .details(error.render(colour), Value::Array(findings))
}

#[cfg(test)]
mod tests {
    use keyplane_config::{Sources, read};

    use super::*;

    fn store(file: &str) -> StoreSettings {
        let config = read(&Sources::default().file("keyplane.toml", file)).unwrap();
        config.section(Section::Store).store().unwrap()
    }

    #[test]
    fn every_setting_of_the_store_reaches_it() {
        let settings = store(
            "[store]\nurl = \"redis://u:p@h\"\npool_size = 3\ncommand_timeout = \"7ms\"\nconnect_timeout = \"8ms\"\n\
             keepalive = \"off\"\nhealth_check_interval = \"off\"\nretry_on_timeout = false\naccept = [\"eviction\"]\n\
             tls_ca = \"a\"\ntls_cert = \"b\"\ntls_key = \"c\"\n",
        );
        let mut expected = Options::default();
        expected.user = Some("u".into());
        expected.password = Some(Secret::new("p"));
        expected.pool_size = 3;
        expected.command_timeout = Duration::from_millis(7);
        expected.connect_timeout = Duration::from_millis(8);
        expected.keepalive = None;
        expected.health_check_interval = Duration::MAX;
        expected.retry_on_timeout = false;
        expected.accept = vec![Concern::Eviction];
        expected.tls.ca = Some("a".into());
        expected.tls.identity = Some(("b".into(), "c".into()));
        assert_eq!(options(&settings, &Source::Default).unwrap(), expected);
    }

    #[test]
    fn the_defaults_of_settings_and_store_are_the_same() {
        assert_eq!(options(&store(""), &Source::Default).unwrap(), Options::default());
    }

    #[test]
    fn a_finding_that_does_not_exist_cannot_be_accepted() {
        let settings = store("[store]\naccept = [\"evicton\"]\n");
        let failure = options(&settings, &Source::Variable("KEYPLANE_ACCEPT".into())).unwrap_err();
        assert_eq!(failure.what, "accept (KEYPLANE_ACCEPT): no finding is called `evicton`");
        assert_eq!(failure.help.as_deref(), Some("did you mean `eviction`?"));
    }
}
