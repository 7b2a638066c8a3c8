//! The header of a script: the first comment lines, read into values with their places.

use crate::diagnostic::{Code, Diagnostic, Span};
use crate::pattern::is_name;
use crate::read::closest;
use crate::verbs::Access;

/// A word of the source with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) at: Span,
}

/// The header of one script.
#[derive(Debug, Default)]
pub(super) struct Header {
    pub(super) title: Option<Title>,
    pub(super) keys: Vec<HeaderKey>,
    pub(super) args: Vec<HeaderArg>,
    pub(super) returns: String,
    /// `safe` is true.
    pub(super) repeat: Option<(bool, Span)>,
    /// Where the list of keys begins.
    pub(super) keys_at: Span,
}

#[derive(Debug)]
pub(super) struct Title {
    pub(super) contract: Word,
    pub(super) name: Word,
    pub(super) version: u32,
    pub(super) doc: String,
}

#[derive(Debug)]
pub(super) struct HeaderKey {
    pub(super) name: Word,
    pub(super) access: Access,
    pub(super) access_at: Span,
    pub(super) keep: Option<Span>,
    pub(super) repeats: Option<Span>,
}

#[derive(Debug)]
pub(super) struct HeaderArg {
    /// The name of a value; the key whose TTL it is.
    pub(super) name: Word,
    pub(super) ttl: bool,
    pub(super) repeats: Option<Span>,
}

/// The words behind the first line.
const WORDS: [&str; 4] = ["keys", "args", "returns", "repeat"];

/// The form of each, for those who do not have it at hand.
fn form(word: &str) -> &'static str {
    match word {
        "keys" => {
            "as in `-- keys: pending(rw) payload(w keep) jobs(r)...`: r, w or rw, `keep`, `...` where it repeats"
        }
        "args" => "as in `-- args: hash, ttl(payload), ids...`, or `-- args: none`",
        "returns" => "as in `-- returns: {\"ok\", seq} | {\"duplicate\"}`",
        _ => "`-- repeat: safe` if running it twice is the same as once, else `-- repeat: unsafe`",
    }
}

const TITLE: &str = "the first line is `-- <contract>/<script> v<version>: <what it does>`";

const WHOLE: &str = "four comment lines: `-- <contract>/<script> v1: <what it does>`, then `-- keys: …`, `-- args: …` \
                     and `-- returns: …`; `-- repeat: safe` or `unsafe` if it writes";

/// Clock readings handed in by callers, whose clocks differ.
const CLOCKS: [&str; 6] = ["now", "now_ms", "now_us", "time", "timestamp", "current_time"];

/// Reads the header. What could not be read is missing from it and named in the findings.
pub(super) fn read(source: &str) -> (Header, Vec<Diagnostic>) {
    let mut reader = Reader { header: Header::default(), found: Vec::new(), meant: Vec::new() };
    if !source.starts_with("--") {
        let first = Span::new(0, source.find('\n').unwrap_or(source.len()));
        reader.error("the script has no header", first, "it belongs before this", WHOLE);
        return (reader.header, reader.found);
    }
    let fields = reader.fields(source);
    for word in WORDS {
        let mut own = fields.iter().filter(|field| field.word.text == word);
        match own.next() {
            Some(field) => reader.field(word, field),
            // Whether it may be left out depends on the operation.
            None if word == "repeat" => {}
            None if reader.meant.contains(&word) => {}
            None => {
                let message = format!("the header does not say `{word}:`");
                let last = fields.last().map_or(Span::new(0, 0), |field| field.word.at);
                reader.error(message, last, "add a line behind this one", form(word));
            }
        }
        for again in own {
            reader.error(
                format!("the header says `{word}:` twice"),
                again.word.at,
                "again",
                "keep one of them",
            );
        }
    }
    (reader.header, reader.found)
}

/// A word of the header with its text, which may go over several lines.
struct Field<'s> {
    word: Word,
    pieces: Vec<(usize, &'s str)>,
}

impl Field<'_> {
    fn text(&self) -> String {
        let lines = self.pieces.iter().map(|(_, text)| text.trim()).filter(|text| !text.is_empty());
        lines.collect::<Vec<_>>().join(" ")
    }

    /// The marks and words of its text.
    fn parts(&self) -> Vec<Part> {
        self.pieces.iter().flat_map(|(start, text)| parts(*start, text)).collect()
    }
}

/// A word or a mark in the text of a field.
#[derive(Debug, Clone)]
struct Part {
    text: String,
    at: Span,
}

impl Part {
    fn is_word(&self) -> bool {
        self.text.starts_with(|c: char| c.is_alphanumeric() || c == '_')
    }
}

fn parts(start: usize, text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let inside = |c: char| c.is_alphanumeric() || c == '_';
        let length = match first {
            _ if inside(first) => rest.find(|c| !inside(c)).unwrap_or(rest.len()),
            '.' if rest.starts_with("...") => 3,
            _ => first.len_utf8(),
        };
        let at = start + (text.len() - rest.len());
        if !first.is_whitespace() {
            parts.push(Part { text: rest[..length].to_owned(), at: Span::new(at, at + length) });
        }
        rest = &rest[length..];
    }
    parts
}

struct Reader {
    header: Header,
    /// Words that were probably meant by others.
    meant: Vec<&'static str>,
    found: Vec<Diagnostic>,
}

impl Reader {
    fn error(
        &mut self,
        message: impl Into<String>,
        at: Span,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.found.push(Diagnostic::error(Code::ScriptHeader, message, at, label).help(help));
    }

    /// Cuts the comment lines at the top into fields. The title is read on the way.
    fn fields<'s>(&mut self, source: &'s str) -> Vec<Field<'s>> {
        let mut fields: Vec<Field<'s>> = Vec::new();
        let mut start = 0;
        for (index, line) in source.split('\n').enumerate() {
            let at = start;
            start += line.len() + 1;
            let Some(text) = line.strip_prefix("--").filter(|text| !is_long(text) && !text.trim().is_empty())
            else {
                break;
            };
            let (text_at, text) = (at + 2, text.trim_end());
            if text.starts_with("  ") {
                match fields.last_mut() {
                    Some(field) => field.pieces.push((text_at, text)),
                    None if index == 0 => self.title(text_at, text),
                    // The title goes on.
                    None => {
                        if let Some(title) = &mut self.header.title {
                            title.doc = format!("{} {}", title.doc, text.trim());
                        }
                    }
                }
                continue;
            }
            match field(text_at, text) {
                Some(field) if WORDS.contains(&field.word.text.as_str()) => {
                    if index == 0 {
                        self.error(
                            "the header does not name the script",
                            field.word.at,
                            "a line before this",
                            TITLE,
                        );
                    }
                    fields.push(field);
                }
                _ if index == 0 => self.title(text_at, text),
                other => self.stray(other, text_at, text),
            }
        }
        fields
    }

    /// A line that is neither the title nor one of the words.
    fn stray(&mut self, field: Option<Field<'_>>, at: usize, text: &str) {
        let Some(field) = field else {
            let start = at + (text.len() - text.trim_start().len());
            let help = "leave an empty line between the header and other comments; \
                        a line that goes on starts with two spaces";
            self.error(
                "this line is not part of a header",
                Span::new(start, at + text.len()),
                "no word",
                help,
            );
            return;
        };
        let word = &field.word;
        let help = match closest(&word.text, &WORDS) {
            Some(near) => {
                self.meant.push(near);
                format!("did you mean `{near}`?")
            }
            None => format!("the header knows: {}", WORDS.join(", ")),
        };
        self.error(format!("the header has no word `{}`", word.text), word.at, "not known here", help);
    }

    fn title(&mut self, at: usize, text: &str) {
        let whole = Span::new(at + (text.len() - text.trim_start().len()), at + text.len());
        let Some((head, doc)) = text.split_once(':') else {
            return self.error("the header does not say what the script does", whole, "no `:` here", TITLE);
        };
        let mut words = words(at, head).into_iter();
        let (path, version, more) = (words.next(), words.next(), words.next());
        let path = path.unwrap_or_else(|| Word { text: String::new(), at: whole });
        let Some((contract, name)) = path.text.split_once('/') else {
            return self.error("the header does not name contract and script", path.at, "no `/` here", TITLE);
        };
        let Some(version) = version else {
            return self.error("the script has no version", path.at, "`v1` belongs behind this", TITLE);
        };
        let number = version.text.strip_prefix('v').and_then(|number| number.parse::<u32>().ok());
        let Some(number) = number.filter(|number| *number > 0 && more.is_none()) else {
            return self.error("this is not a version", version.at, "v1, v2, …", TITLE);
        };
        let doc = doc.trim();
        if doc.is_empty() {
            return self.error(
                "the header does not say what the script does",
                whole,
                "nothing behind `:`",
                TITLE,
            );
        }
        let middle = path.at.start + contract.len();
        self.header.title = Some(Title {
            contract: Word { text: contract.to_owned(), at: Span::new(path.at.start, middle) },
            name: Word { text: name.to_owned(), at: Span::new(middle + 1, path.at.end) },
            version: number,
            doc: doc.to_owned(),
        });
    }

    fn field(&mut self, word: &str, field: &Field<'_>) {
        let parts = field.parts();
        let mut list = List { parts: &parts, next: 0 };
        if parts.is_empty() {
            return self.error(
                format!("`{word}:` says nothing"),
                field.word.at,
                "nothing behind it",
                form(word),
            );
        }
        let read = match word {
            "keys" => {
                self.header.keys_at = field.word.at;
                self.keys(&mut list)
            }
            "args" => self.args(&mut list),
            "returns" => {
                self.header.returns = field.text();
                Some(())
            }
            _ => self.repeat(&parts),
        };
        if read.is_none() {
            let at = list.here();
            self.error(format!("`{word}:` cannot be read"), at, "from here on", form(word));
        }
    }

    /// `name(access keep)...`, one behind the other.
    fn keys(&mut self, list: &mut List<'_>) -> Option<()> {
        while !list.is_done() {
            let name = list.word()?;
            list.mark("(")?;
            let access = list.word()?;
            let keep = list.accept("keep");
            list.mark(")")?;
            let repeats = list.accept("...");
            let Some(kind) = access_of(&access.text) else {
                self.error(
                    format!("`{}` is not an access", access.text),
                    access.at,
                    "r, w or rw",
                    form("keys"),
                );
                return Some(());
            };
            let key = HeaderKey { name, access: kind, access_at: access.at, keep, repeats };
            self.key(key);
        }
        Some(())
    }

    fn key(&mut self, key: HeaderKey) {
        let name = &key.name;
        if let Some(first) = self.header.keys.iter().find(|other| other.name.text == name.text) {
            let message = format!("`{}` is listed twice", name.text);
            let help =
                "one entry per key; `...` behind it where the script takes several keys of that family";
            let found = Diagnostic::error(Code::ScriptHeader, message, name.at, "again").help(help);
            self.found.push(found.also(first.name.at, "first here"));
        }
        let before = self.header.keys.last().and_then(|last| Some((last.name.text.clone(), last.repeats?)));
        if let Some((before, at)) = before.filter(|_| key.repeats.is_none()) {
            let message = format!("`{}` stands behind `{before}`, which repeats", name.text);
            let help = "keys that repeat come last, else nobody knows where the next one is";
            let found = Diagnostic::error(Code::ScriptHeader, message, name.at, "comes once").help(help);
            self.found.push(found.also(at, "repeats"));
        }
        self.header.keys.push(key);
    }

    /// `name, ttl(key), name...`, or `none`.
    fn args(&mut self, list: &mut List<'_>) -> Option<()> {
        if list.parts.len() == 1 && list.accept("none").is_some() {
            return Some(());
        }
        loop {
            let name = list.word()?;
            let ttl = name.text == "ttl" && list.accept("(").is_some();
            let name = if ttl { list.word()? } else { name };
            if ttl {
                list.mark(")")?;
            }
            let repeats = list.accept("...").filter(|_| !ttl);
            self.arg(HeaderArg { name, ttl, repeats });
            if list.is_done() {
                return Some(());
            }
            list.mark(",")?;
        }
    }

    fn arg(&mut self, arg: HeaderArg) {
        let name = arg.name.clone();
        if !is_name(&name.text) {
            let label = "lower-case letters, digits and `_`";
            self.error(format!("`{}` is not a name", name.text), name.at, label, form("args"));
        }
        if !arg.ttl && CLOCKS.contains(&name.text.as_str()) {
            let message = format!("the argument `{}` brings a clock reading from outside", name.text);
            let found = Diagnostic::error(Code::ScriptTime, message, name.at, "whose clock?");
            let help = "clocks of callers differ: take time from the server with `redis.call('TIME')`";
            self.found.push(found.help(help));
        }
        let same = |other: &&HeaderArg| other.name.text == name.text && other.ttl == arg.ttl;
        if let Some(first) = self.header.args.iter().find(same) {
            let message = format!("the argument `{}` is listed twice", name.text);
            let found = Diagnostic::error(Code::ScriptHeader, message, name.at, "again");
            self.found
                .push(found.also(first.name.at, "first here").help("give each argument a name of its own"));
        }
        if !arg.ttl && self.header.keys.iter().any(|key| key.name.text == name.text) {
            let message = format!("`{}` is a key, so it cannot be an argument too", name.text);
            self.error(message, name.at, "the name of a key", "name the argument for what it holds");
        }
        if let Some(at) = self.header.args.last().and_then(|last| last.repeats) {
            let message = format!("`{}` stands behind an argument that repeats", name.text);
            let found =
                Diagnostic::error(Code::ScriptHeader, message, name.at, "nobody knows where this one is");
            self.found.push(found.also(at, "repeats").help("one argument may repeat, the last one"));
        }
        self.header.args.push(arg);
    }

    fn repeat(&mut self, parts: &[Part]) -> Option<()> {
        let [Part { text, at }] = parts else { return None };
        let safe = match text.as_str() {
            "safe" => true,
            "unsafe" => false,
            _ => return None,
        };
        self.header.repeat = Some((safe, *at));
        Some(())
    }
}

fn access_of(word: &str) -> Option<Access> {
    match word {
        "r" => Some(Access::Read),
        "w" => Some(Access::Write),
        "rw" => Some(Access::ReadWrite),
        _ => None,
    }
}

/// The words of a text between blanks.
fn words(start: usize, text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut at = start;
    for part in text.split_inclusive(char::is_whitespace) {
        let word = part.trim_end();
        if !word.is_empty() {
            words.push(Word { text: word.to_owned(), at: Span::new(at, at + word.len()) });
        }
        at += part.len();
    }
    words
}

/// Whether a comment with this text behind `--` is a long one.
fn is_long(text: &str) -> bool {
    text.strip_prefix('[').is_some_and(|rest| rest.trim_start_matches('=').starts_with('['))
}

/// ` word: text` as a field.
fn field(at: usize, text: &str) -> Option<Field<'_>> {
    let (word, rest) = text.split_once(':')?;
    let name = word.trim_start();
    let start = at + (word.len() - name.len());
    let word = Word { text: name.to_owned(), at: Span::new(start, start + name.len()) };
    is_name(name).then(|| Field { word, pieces: vec![(at + (text.len() - rest.len()), rest)] })
}

/// The parts of a list, read from the left.
struct List<'p> {
    parts: &'p [Part],
    next: usize,
}

impl List<'_> {
    fn is_done(&self) -> bool {
        self.next >= self.parts.len()
    }

    /// The part that could not be read; behind the last one when something is missing at the end.
    fn here(&self) -> Span {
        match self.parts.get(self.next).or(self.parts.last()) {
            Some(part) if self.is_done() => Span::new(part.at.end, part.at.end),
            Some(part) => part.at,
            None => Span::default(),
        }
    }

    fn word(&mut self) -> Option<Word> {
        let part = self.parts.get(self.next).filter(|part| part.is_word())?;
        self.next += 1;
        Some(Word { text: part.text.clone(), at: part.at })
    }

    fn accept(&mut self, text: &str) -> Option<Span> {
        let part = self.parts.get(self.next).filter(|part| part.text == text)?;
        self.next += 1;
        Some(part.at)
    }

    fn mark(&mut self, mark: &str) -> Option<()> {
        self.accept(mark).map(|_| ())
    }
}
