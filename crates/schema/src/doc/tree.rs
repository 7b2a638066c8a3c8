//! The hierarchy of keys, drawn as a tree.

use super::Page;
use crate::model::{Contract, Key};
use crate::naming::Naming;

/// A node of the tree: a run of segments, the key that ends there, and what is below.
struct Branch<'c> {
    text: String,
    key: Option<&'c Key>,
    below: Vec<Branch<'c>>,
}

pub(super) fn section(page: &mut Page, contract: &Contract) {
    let naming = Naming::plain(contract);
    let mut roots: Vec<Branch<'_>> = Vec::new();
    for key in contract.keys.iter().filter(|key| key.helper_of.is_none()) {
        let pattern = naming.pattern(key);
        let segments: Vec<&str> = pattern.as_str().split(':').collect();
        insert(&mut roots, &segments, key);
    }
    let mut lines = Vec::new();
    for root in &mut roots {
        root.compress();
        lines.push((root.text.clone(), root.key));
        root.draw("", &mut lines);
    }
    let width = lines.iter().map(|(text, _)| text.chars().count()).max().unwrap_or(0).min(60);
    let type_width =
        lines.iter().filter_map(|(_, key)| Some(key.as_ref()?.type_words().len())).max().unwrap_or(0);
    page.line("## The keyspace");
    page.gap();
    page.line("```text");
    for (text, key) in lines {
        let pad = width.saturating_sub(text.chars().count());
        let words = key
            .map(|key| format!("  {:type_width$}  {}", key.type_words(), in_short(&key.doc)))
            .unwrap_or_default();
        page.line(format!("{text}{}{words}", " ".repeat(pad)));
    }
    page.line("```");
    page.gap();
}

fn insert<'c>(branches: &mut Vec<Branch<'c>>, segments: &[&str], key: &'c Key) {
    let [first, rest @ ..] = segments else { return };
    let index = branches.iter().position(|branch| branch.text == *first).unwrap_or_else(|| {
        branches.push(Branch { text: (*first).to_owned(), key: None, below: Vec::new() });
        branches.len() - 1
    });
    match rest {
        [] => branches[index].key = Some(key),
        _ => insert(&mut branches[index].below, rest, key),
    }
}

impl Branch<'_> {
    /// Joins a branch with its only child where no key ends between.
    fn compress(&mut self) {
        while self.key.is_none() && self.below.len() == 1 {
            let child = self.below.remove(0);
            self.text = format!("{}:{}", self.text, child.text);
            self.key = child.key;
            self.below = child.below;
        }
        for branch in &mut self.below {
            branch.compress();
        }
    }
}

impl<'c> Branch<'c> {
    fn draw(&self, indent: &str, lines: &mut Vec<(String, Option<&'c Key>)>) {
        for (index, branch) in self.below.iter().enumerate() {
            let last = index + 1 == self.below.len();
            let mark = if last { "└── " } else { "├── " };
            lines.push((format!("{indent}{mark}{}", branch.text), branch.key));
            branch.draw(&format!("{indent}{}", if last { "    " } else { "│   " }), lines);
        }
    }
}

/// The first sentence; of a long one only what stands before its first pause.
fn in_short(text: &str) -> &str {
    const LONG: usize = 72;
    let sentence = &text[..text.find(". ").unwrap_or(text.len())];
    let pause = || [": ", "; ", ", "].iter().filter_map(|mark| sentence.find(mark)).min();
    let end =
        if sentence.chars().count() > LONG { pause().unwrap_or(sentence.len()) } else { sentence.len() };
    sentence[..end].trim_end_matches('.')
}
