//! Blots secrets out of a file's text, so that an error can show its lines.
//!
//! Byte for byte, because findings point at places in the text: the length of a secret stays visible, the secret
//! does not. When in doubt, more is blotted out.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Of a text that is TOML: by its keys and values, and by the look of its lines, which covers the comments.
pub(crate) fn document(text: &str, table: &DeTable<'_>) -> String {
    let mut hidden = by_line(text);
    in_table(text, table, &mut hidden);
    blot(text, &hidden)
}

/// Of a text that is not TOML.
pub(crate) fn text(text: &str) -> String {
    let mut hidden = by_line(text);
    // What opens here runs on over many lines, and where it was meant to end nobody knows.
    let opens = |range: &&Range<usize>| {
        let value = &text[(*range).clone()];
        ["\"\"\"", "'''", "[", "{"].iter().any(|open| value.starts_with(open))
    };
    if let Some(start) = hidden.iter().find(opens).map(|range| range.start) {
        hidden.push(start..text.len());
    }
    blot(text, &hidden)
}

fn blot(text: &str, hidden: &[Range<usize>]) -> String {
    let mut masked = String::with_capacity(text.len());
    for (index, c) in text.char_indices() {
        match hidden.iter().any(|range| range.contains(&index)) && !"\r\n\"'".contains(c) {
            true => masked.extend(std::iter::repeat_n('*', c.len_utf8())),
            false => masked.push(c),
        }
    }
    masked
}

fn in_table(text: &str, table: &DeTable<'_>, hidden: &mut Vec<Range<usize>>) {
    for (name, value) in table {
        match sounds_secret(name.get_ref()) {
            true => all_of(value, hidden),
            false => in_value(text, value, hidden),
        }
    }
}

/// Everything under a name that sounds secret. A table's own span is only its heading.
fn all_of(value: &Spanned<DeValue<'_>>, hidden: &mut Vec<Range<usize>>) {
    hidden.push(value.span());
    match value.get_ref() {
        DeValue::Table(table) => table.iter().for_each(|(_, value)| all_of(value, hidden)),
        DeValue::Array(items) => items.iter().for_each(|item| all_of(item, hidden)),
        _ => {}
    }
}

fn in_value(text: &str, value: &Spanned<DeValue<'_>>, hidden: &mut Vec<Range<usize>>) {
    match value.get_ref() {
        DeValue::Table(table) => in_table(text, table, hidden),
        DeValue::Array(items) => items.iter().for_each(|item| in_value(text, item, hidden)),
        DeValue::String(read) => {
            let written = text.get(value.span()).unwrap_or_default();
            let start = value.span().start;
            // Written with escapes, a text does not look like the url it is.
            match written.contains('\\') && !in_url(read).is_empty() {
                true => hidden.push(value.span()),
                false => hidden
                    .extend(in_url(written).into_iter().map(|range| start + range.start..start + range.end)),
            }
        }
        _ => {}
    }
}

fn by_line(text: &str) -> Vec<Range<usize>> {
    let mut hidden = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let after = |index: usize| {
            let blanks = line[index..].len() - line[index..].trim_start().len();
            start + index + blanks..start + line.len()
        };
        if let Some(equals) = line.find(['=', ':']).filter(|equals| sounds_secret(&line[..*equals])) {
            hidden.push(after(equals + 1));
        } else {
            hidden.extend(in_url(line).into_iter().map(|range| start + range.start..start + range.end));
        }
        start += line.len();
    }
    hidden
}

/// A key of that name holds a secret, also when it is misspelt or not ours.
fn sounds_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let secret = ["pass", "pasw", "pwd", "psw", "secret", "token", "auth"];
    secret.iter().any(|word| name.contains(word)) && !name.contains("file")
}

/// Where a text that may be, or hold, a url has its password.
fn in_url(text: &str) -> Vec<Range<usize>> {
    let scheme = text.find("://").map(|scheme| scheme + 3);
    let authority =
        scheme.unwrap_or_else(|| text.find(['"', '\'']).or(text.find('=')).map_or(0, |open| open + 1));
    let mut hidden = Vec::new();
    // Written with escapes, `:` and `@` can be anywhere.
    if scheme.is_some() && text[authority..].contains('\\') {
        hidden.push(authority..text.len());
    }
    match text.rfind('@').filter(|at| *at >= authority) {
        Some(at) => match text[authority..at].find(':') {
            // Nothing says where a user would end.
            _ if scheme.is_none() => hidden.push(authority..at),
            Some(colon) => hidden.push(authority + colon + 1..at),
            None => {}
        },
        None => hidden.extend(scheme.and_then(|authority| in_place_of_port(text, authority))),
    }
    if let Some(pass) = text.to_ascii_lowercase().find("pass")
        && !text[pass..].starts_with("password_file")
        && let Some(equals) = text[pass..].find('=')
    {
        hidden.push(pass + equals + 1..text.len());
    }
    hidden
}

/// `redis://user:password`: the host was forgotten, and the password stands where the port should be.
fn in_place_of_port(text: &str, authority: usize) -> Option<Range<usize>> {
    let host = match text[authority..].starts_with('[') {
        true => authority + text[authority..].find(']')?,
        false => authority,
    };
    let port = host + text[host..].find(':')? + 1;
    let rest = text[port..].split(['"', '\'']).next().unwrap_or_default().trim_end();
    let numbers = rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'/');
    (!numbers).then_some(port..text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_is_blotted_out_and_the_rest_stays() {
        for (line, masked) in [
            ("password = \"hunter2\"", "password = \"*******\""),
            ("url = \"redis://alice:hunter2@host:6379/0\"", "url = \"redis://alice:*******@host:6379/0\""),
            ("url = \"redis://alice@host:6379\"", "url = \"redis://alice@host:6379\""),
            ("url = \"redis://[::1]:6379/0\"", "url = \"redis://[::1]:6379/0\""),
            ("url = \"redis+unix:///s?db=1&pass=hunter2\"", "url = \"redis+unix:///s?db=1&pass=*******\""),
            ("password_file = \"/run/secrets/redis\"", "password_file = \"/run/secrets/redis\""),
            ("# PASSWORD: hunter2", "# PASSWORD: *******"),
            ("pool_size = 10 # connections", "pool_size = 10 # connections"),
        ] {
            assert_eq!(text(line), masked);
        }
    }

    #[test]
    fn places_in_the_text_stay_where_they_are() {
        let source = "[store]\npassword = \"geheim-ü-größer\"\npool_size = 1\n";
        assert_eq!(text(source).len(), source.len());
        assert_eq!(text(source).find("pool_size"), source.find("pool_size"));
    }
}
