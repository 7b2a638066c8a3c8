//! From sources to settings. Pure: text in, settings out.

use keyplane_schema::Code;

use crate::config::Config;
use crate::credentials::given_twice;
use crate::definition::Meaning;
use crate::environment::EnvReader;
use crate::error::{Error, Fault};
use crate::file::FileReader;
use crate::flags::Flag;
use crate::given::{Given, Level, Source};
use crate::section::Section;
use crate::table::SETTINGS;
use crate::value::Raw;

/// Where settings come from. It holds secrets as they were written, so it does not print.
#[derive(Default, Clone)]
pub struct Sources {
    pub(crate) file: Option<(String, String)>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) flags: Vec<Flag>,
}

impl Sources {
    /// With the text of a `keyplane.toml`. Relative paths in it start from the folder of `name`.
    #[must_use]
    pub fn file(self, name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { file: Some((name.into(), text.into())), ..self }
    }

    /// With one environment variable more.
    #[must_use]
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// With one flag more.
    #[must_use]
    pub fn flag(mut self, flag: Flag) -> Self {
        self.flags.push(flag);
        self
    }
}

/// Reads all settings, or says everything that is wrong with them.
pub fn read(sources: &Sources) -> Result<Config, Error> {
    let mut faults = Vec::new();
    let mut config = Config { given: defaults(&mut faults), inert: Vec::new() };
    for flag in &sources.flags {
        match flag.read() {
            Ok(given) => config.given.push(given),
            Err(fault) => faults.push(fault),
        }
    }
    let mut file = sources.file.as_ref().map(|(name, text)| FileReader::read(name, text));
    if let Some(file) = &mut file {
        config.given.append(&mut file.given);
        config.inert.append(&mut file.inert);
    }
    let mut environment = EnvReader::read(&sources.environment);
    config.given.append(&mut environment.given);
    match environment.url_from_parts(&config.given) {
        Ok(url) => config.given.extend(url),
        Err(mut rows) => config.inert.append(&mut rows),
    }
    faults.append(&mut environment.faults);
    let (twice_in_file, mut twice) = given_twice(&config.given);
    faults.append(&mut twice);
    if let Some(file) = &mut file {
        file.found.extend(twice_in_file);
    }
    let broken = file.and_then(FileReader::broken);
    // Where a value could not be read, its default would be blamed.
    if broken.is_none() && faults.is_empty() {
        faults = contradictions(&config);
    }
    match (broken, faults.is_empty()) {
        (None, true) => Ok(config),
        (broken, _) => Err(Error { file: broken, faults }),
    }
}

fn defaults(faults: &mut Vec<Fault>) -> Vec<Given> {
    let mut given = Vec::new();
    for section in Section::ALL {
        for setting in SETTINGS {
            let Some(text) = setting.default_in(section) else { continue };
            match setting.kind.read(setting.name, &Raw::of_text(text, &setting.kind, Meaning::Same)) {
                Ok(value) => given.push(Given {
                    setting,
                    section,
                    value,
                    level: Level::Default,
                    source: Source::Default,
                    word: setting.name.to_owned(),
                    at: None,
                }),
                // A mistake in the table, which a test finds before anybody else.
                Err(problem) => {
                    faults.push(problem.of(&setting.kind, &format!("the default of {section}: "), text))
                }
            }
        }
    }
    given
}

/// Values that are fine alone and cannot hold together.
fn contradictions(config: &Config) -> Vec<Fault> {
    let mut faults = Vec::new();
    let docket = config.section(Section::Docket);
    if let (Some(buffer), Some(limit)) = (docket.count("safety_buffer"), docket.count("call_limit_per_hour"))
        && buffer >= limit
    {
        let message = format!(
            "safety_buffer {buffer} ({}) leaves nothing of call_limit_per_hour {limit} ({})",
            docket.source("safety_buffer"),
            docket.source("call_limit_per_hour")
        );
        faults.push(Fault::new(Code::Limits, message).help("make the buffer smaller than the limit"));
    }
    for section in Section::ALL {
        let settings = config.section(section);
        let (has, lacks) = match (settings.path("tls_cert"), settings.path("tls_key")) {
            (Some(_), None) => ("tls_cert", "tls_key"),
            (None, Some(_)) => ("tls_key", "tls_cert"),
            _ => continue,
        };
        // What is wrong for all is told once, for the store.
        if section == Section::Store || settings.given(has).is_some_and(|given| given.section == section) {
            let message = format!("{section} has a {has} ({}) and no {lacks}", settings.source(has));
            faults.push(Fault::new(Code::Missing, message).help(format!("give {lacks} too, or neither")));
        }
    }
    faults
}
