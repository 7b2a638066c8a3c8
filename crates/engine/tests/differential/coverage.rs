//! What the sequences have met: command × option × type of the first key.

use std::collections::BTreeMap;

use crate::grammar::{Family, TYPES, Template};

/// A template, one of its options or "-", and a type.
type Cell = (&'static str, &'static str, &'static str);

pub(crate) struct Coverage {
    cells: BTreeMap<Cell, u64>,
}

impl Coverage {
    pub(crate) fn new(families: &[Family]) -> Self {
        let mut cells = BTreeMap::new();
        for template in families.iter().flat_map(|family| family.templates) {
            for option in options(template) {
                let types = if template.keyed { &TYPES[..] } else { &TYPES[..1] };
                cells.extend(types.iter().map(|of| ((template.name, option, *of), 0)));
            }
        }
        Self { cells }
    }

    /// Option and type of the least covered of a few cells of this template.
    pub(crate) fn wanted(
        &self,
        template: &Template,
        rng: &mut fastrand::Rng,
    ) -> (Option<&'static str>, Option<&'static str>) {
        if rng.u32(..3) == 0 {
            return (None, None);
        }
        let all: Vec<&'static str> = options(template).collect();
        let types = if template.keyed { &TYPES[..] } else { &TYPES[..1] };
        let tried: [_; 8] =
            std::array::from_fn(|_| (all[rng.usize(..all.len())], types[rng.usize(..types.len())]));
        let count =
            |(option, of): &(&'static str, &'static str)| self.cells.get(&(template.name, *option, *of));
        let (option, of) = *tried.iter().min_by_key(|cell| count(cell)).unwrap_or(&tried[0]);
        (Some(option).filter(|option| *option != "-"), template.keyed.then_some(of))
    }

    pub(crate) fn count(&mut self, template: &'static str, options: &[&'static str], of: &'static str) {
        for option in options.iter().copied().chain(["-"]) {
            let keyed = self.cells.contains_key(&(template, option, "string"));
            let of = if keyed { of } else { TYPES[0] };
            if let Some(count) = self.cells.get_mut(&(template, option, of)) {
                *count += 1;
            }
        }
    }

    pub(crate) fn summary(&self) -> String {
        let steps: u64 =
            self.cells.iter().filter(|((_, option, _), _)| *option == "-").map(|(_, count)| count).sum();
        let least = self.cells.iter().min_by_key(|(_, count)| **count);
        format!("{steps} commands counted, {} cells, the least {least:?}", self.cells.len())
    }

    /// Every cell was met that often.
    pub(crate) fn check(&self, least: u64) {
        let short: Vec<_> = self.cells.iter().filter(|(_, count)| **count < least).collect();
        assert!(short.is_empty(), "{} cells were met fewer than {least} times: {short:?}", short.len());
    }
}

fn options(template: &Template) -> impl Iterator<Item = &'static str> {
    template.options.iter().copied().chain(["-"])
}
