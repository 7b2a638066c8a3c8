//! Small readings of text: files, placeholders, durations, sizes, command lines.

use super::*;

/// A file of the repository.
pub(crate) fn read(path: &str) -> String {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    std::fs::read_to_string(format!("{root}/{path}")).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Proving a contract sound takes a moment, so tests in one process share it.
pub(crate) fn contract(name: &str) -> Arc<Contract> {
    static KNOWN: [OnceLock<Arc<Contract>>; STATED.len()] = [const { OnceLock::new() }; STATED.len()];
    let index = STATED.iter().position(|(known, _)| *known == name).expect("a system of STATED");
    let file = format!("systems/{name}/keys.toml");
    let load = || parse(&file, &read(&file)).unwrap_or_else(|broken| panic!("{broken}"));
    KNOWN[index].get_or_init(|| Arc::new(load())).clone()
}

/// A matcher over all five contracts, or over none where there is nothing to match.
pub(crate) fn all_contracts(entries: &[Entry]) -> Matcher {
    let contracts = STATED.iter().filter(|_| !entries.is_empty()).map(|(name, _)| contract(name));
    Matcher::new(contracts.map(|contract| {
        let naming = Naming::plain(&contract);
        (contract, naming)
    }))
}

/// The text before the first `{name}`, the name, and the text behind it.
pub(crate) fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let (prefix, rest) = text.split_once('{')?;
    let (name, suffix) = rest.split_once('}')?;
    Some((prefix, name, suffix))
}

pub(crate) fn stands_for(seed: &str, param: &str) -> bool {
    match PLACEHOLDERS.iter().find(|(name, _)| *name == seed) {
        Some((_, params)) => params.contains(&param),
        None => snake_case(seed) == param,
    }
}

pub(crate) fn snake_case(name: &str) -> String {
    let step =
        |c: char| if c.is_ascii_uppercase() { format!("_{}", c.to_ascii_lowercase()) } else { c.to_string() };
    name.chars().map(step).collect()
}

pub(crate) fn sample(member: &str) -> String {
    SAMPLES.iter().fold(member.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value))
}

pub(crate) fn duration(text: &str) -> Duration {
    let (count, unit) = split_unit(text);
    let seconds = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86400,
        other => panic!("`{other}` is not a unit of time"),
    };
    Duration::from_secs(count * seconds)
}

pub(crate) fn size(text: &str) -> u64 {
    let (count, unit) = split_unit(text);
    match unit {
        "KB" => count << 10,
        "MB" => count << 20,
        other => panic!("`{other}` is not a unit of size"),
    }
}

pub(crate) fn split_unit(text: &str) -> (u64, &str) {
    let (count, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).expect("a unit"));
    (count.parse().expect("a number"), unit)
}

/// A duration as deviations.md writes it.
pub(crate) fn spoken(duration: Duration) -> String {
    match duration.as_secs() {
        seconds if seconds % 86400 == 0 && seconds > 86400 => format!("{} days", seconds / 86400),
        seconds if seconds % 3600 == 0 => format!("{} h", seconds / 3600),
        seconds if seconds % 60 == 0 => format!("{} min", seconds / 60),
        seconds => format!("{seconds} s"),
    }
}

/// Words between spaces; double quotes hold a word together.
pub(crate) fn shell_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (index, part) in line.split('"').enumerate() {
        if index % 2 == 1 {
            words.push(part.to_owned());
        } else {
            words.extend(part.split_whitespace().map(str::to_owned));
        }
    }
    words
}
