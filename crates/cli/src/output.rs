//! What goes to the terminal: tables for people, plain columns for pipes, JSON for machines.

use std::io::{IsTerminal as _, Write as _};

use anstyle::{AnsiColor, Style};
use comfy_table::presets::NOTHING;
use comfy_table::{Cell, Color, ContentArrangement, Table};
use serde_json::{Value, json};

use crate::outcome::Failure;

pub(crate) const KEY: Style = AnsiColor::Cyan.on_default().bold();
pub(crate) const NAME: Style = AnsiColor::Green.on_default().bold();
pub(crate) const FAINT: Style = AnsiColor::BrightBlack.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
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

    /// Columns: wrapped to the width on a terminal, one line per row and tabs between where it is piped.
    pub(crate) fn table(&self, heads: &[&str], rows: &[Vec<String>]) -> Result<(), Failure> {
        if !std::io::stdout().is_terminal() {
            for row in rows {
                self.line(row.join("\t"))?;
            }
            return Ok(());
        }
        let mut table = Table::new();
        table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Dynamic);
        table.set_header(heads.iter().map(|head| Cell::new(head).fg(Color::DarkGrey)));
        for row in rows {
            table.add_row(row.iter().enumerate().map(|(column, cell)| {
                if column == 0 { Cell::new(cell).fg(Color::Cyan) } else { Cell::new(cell) }
            }));
        }
        self.line(table.trim_fmt())
    }

    pub(crate) fn failure(&self, failure: &Failure) {
        let mut stderr = anstream::stderr();
        // Nothing can be done about an error that cannot be shown.
        let _ = if self.json {
            writeln!(stderr, "{}", json!({ "error": failure.what, "help": failure.help }))
        } else {
            writeln!(stderr, "{BAD}error{BAD:#}: {}", failure.what)
        };
        if let (false, Some(help)) = (self.json, &failure.help) {
            let _ = writeln!(stderr, "  {STRONG}help{STRONG:#}: {help}");
        }
    }
}
