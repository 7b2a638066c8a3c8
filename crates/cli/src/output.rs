//! What goes to the terminal: tables for people, plain columns for pipes, JSON for machines.

use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

use crate::outcome::Failure;

pub(crate) const KEY: Style = AnsiColor::Cyan.on_default().bold();
pub(crate) const NAME: Style = AnsiColor::Green.on_default().bold();
pub(crate) const FAINT: Style = AnsiColor::BrightBlack.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARN: Style = AnsiColor::Yellow.on_default().bold();
pub(crate) const STRONG: Style = Style::new().bold();

/// Where a command writes.
pub(crate) struct Output {
    pub(crate) json: bool,
    pub(crate) quiet: bool,
}

impl Output {
    pub(crate) fn new(json: bool, quiet: bool) -> Self {
        Self { json, quiet }
    }

    /// A line of the result. Colours are dropped where they would not be understood.
    pub(crate) fn line(&self, line: impl AsRef<str>) -> Result<(), Failure> {
        Ok(writeln!(anstream::stdout(), "{}", line.as_ref())?)
    }

    /// Text that ends its own lines.
    pub(crate) fn text(&self, text: &str) -> Result<(), Failure> {
        Ok(anstream::stdout().write_all(text.as_bytes())?)
    }

    /// One JSON document.
    pub(crate) fn document(&self, value: &Value) -> Result<(), Failure> {
        self.line(format!("{value:#}"))
    }

    /// One JSON document on one line.
    pub(crate) fn record(&self, value: &Value) -> Result<(), Failure> {
        self.line(value.to_string())
    }

    /// Columns on a terminal; where they do not fit, each row's last cells on lines of their own. Tabs where it is piped.
    pub(crate) fn table(&self, heads: &[&str], rows: &[Vec<String>]) -> Result<(), Failure> {
        let width = terminal_width();
        let Some(width) = width else { return rows.iter().try_for_each(|row| self.line(row.join("\t"))) };
        let column = |index: usize| {
            rows.iter().map(|row| row[index].chars().count()).chain([heads[index].len()]).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..heads.len()).map(column).collect();
        let mut fitting = heads.len();
        while fitting > 1 && widths[..fitting].iter().map(|width| width + 2).sum::<usize>() > width + 2 {
            fitting -= 1;
        }
        let cells = |row: &[String]| -> String {
            let cell = |(index, cell): (usize, &String)| {
                if index + 1 == fitting {
                    cell.clone()
                } else {
                    format!("{cell:width$}  ", width = widths[index])
                }
            };
            row[..fitting].iter().enumerate().map(cell).collect()
        };
        let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
        self.line(format!("{FAINT}{}{FAINT:#}", cells(&heads)))?;
        for row in rows {
            let text = cells(row);
            let (first, rest) = text.split_at(row[0].len());
            self.line(format!("{KEY}{first}{KEY:#}{}", rest.trim_end()))?;
            for (head, cell) in
                heads[fitting..].iter().zip(&row[fitting..]).filter(|(_, cell)| !cell.is_empty())
            {
                self.line(format!("    {FAINT}{}{FAINT:#} {cell}", head.to_lowercase()))?;
            }
        }
        Ok(())
    }

    /// A remark beside the result: to stderr, so that the result can be piped.
    pub(crate) fn remark(&self, remark: &str) {
        if !self.quiet && !self.json {
            // A remark that cannot be shown is no failure.
            let _ = writeln!(anstream::stderr(), "{FAINT}{remark}{FAINT:#}");
        }
    }

    pub(crate) fn failure(&self, failure: &Failure) {
        let text = if self.json { failure_json(failure) } else { failure_text(failure) };
        // Nothing can be done about an error that cannot be shown.
        let _ = writeln!(anstream::stderr(), "{text}");
    }
}

fn failure_text(failure: &Failure) -> String {
    let details = failure.details.iter().map(|details| format!("{}\n\n", details.text));
    let what = format!("{BAD}error{BAD:#}: {}", failure.what);
    let help = failure.help.iter().map(|help| format!("\n  {STRONG}help{STRONG:#}: {help}"));
    details.chain([what]).chain(help).collect()
}

fn failure_json(failure: &Failure) -> String {
    let mut object = json!({ "error": failure.what, "help": failure.help });
    if let Some(code) = failure.code {
        object["code"] = code.into();
    }
    if let Some(details) = &failure.details {
        object["findings"] = details.findings.clone();
    }
    object.to_string()
}

/// The width of the terminal; none where the output is piped.
pub(crate) fn terminal_width() -> Option<usize> {
    terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0))
}

/// Text broken at spaces to the width of the terminal, further lines indented; as it is where the output is piped.
pub(crate) fn wrapped(text: &str, indent: usize) -> String {
    let Some(width) = terminal_width().map(|width| width.saturating_sub(indent).max(20)) else {
        return text.to_owned();
    };
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > width {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join(&format!("\n{}", " ".repeat(indent)))
}
