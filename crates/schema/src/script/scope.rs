//! Which variable a name means, by the rules and within the limits of Lua 5.1.

use std::collections::BTreeSet;

use super::ast::{Local, LocalId};
use crate::diagnostic::Span;

/// The limits of Lua itself: a script beyond them does not load.
const MAX_LOCALS: usize = 200;
const MAX_UPVALUES: usize = 60;

/// What a name means.
pub(super) enum Meaning {
    Local(LocalId),
    Global,
    /// The function would hold on to more outer variables than Lua allows.
    TooManyOuter,
}

/// The functions that are open at a place in the script, the outermost first.
#[derive(Default)]
pub(super) struct Scopes {
    functions: Vec<Open>,
    locals: Vec<Local>,
}

/// A function that is being read. Variables that Lua keeps for itself in a loop have no id.
struct Open {
    active: Vec<(String, Option<LocalId>)>,
    outer: BTreeSet<LocalId>,
    vararg: bool,
    loops: usize,
}

impl Scopes {
    pub(super) fn open(&mut self, vararg: bool) {
        self.functions.push(Open { active: Vec::new(), outer: BTreeSet::new(), vararg, loops: 0 });
    }

    pub(super) fn close(&mut self) {
        self.functions.pop();
    }

    pub(super) fn finish(self) -> Vec<Local> {
        self.locals
    }

    /// A variable that can be seen from here on; `None` when there are too many.
    pub(super) fn declare(&mut self, name: &str, at: Span) -> Option<LocalId> {
        let id = self.reserve(name, at);
        self.activate(&[id]).then_some(id)
    }

    /// A variable that cannot be seen yet: the values of `local x = x` still mean the outer one.
    pub(super) fn reserve(&mut self, name: &str, at: Span) -> LocalId {
        self.locals.push(Local { name: name.to_owned(), at });
        LocalId(self.locals.len() - 1)
    }

    /// Whether there was room for them.
    pub(super) fn activate(&mut self, ids: &[LocalId]) -> bool {
        let named = ids.iter().map(|id| (self.locals[id.0].name.clone(), Some(*id)));
        let Some(function) = self.functions.last_mut() else { return false };
        function.active.extend(named);
        function.active.len() <= MAX_LOCALS
    }

    /// Enters a loop, with the variables that Lua keeps for itself there.
    pub(super) fn enter_loop(&mut self, hidden: usize) {
        if let Some(function) = self.functions.last_mut() {
            function.loops += 1;
            function.active.extend(std::iter::repeat_n((String::new(), None), hidden));
        }
    }

    pub(super) fn leave_loop(&mut self) {
        if let Some(function) = self.functions.last_mut() {
            function.loops = function.loops.saturating_sub(1);
        }
    }

    pub(super) fn in_loop(&self) -> bool {
        self.functions.last().is_some_and(|function| function.loops > 0)
    }

    pub(super) fn takes_varargs(&self) -> bool {
        self.functions.last().is_some_and(|function| function.vararg)
    }

    /// How many variables are visible, to come back to with [`Scopes::forget`].
    pub(super) fn mark(&self) -> usize {
        self.functions.last().map_or(0, |function| function.active.len())
    }

    /// The end of a block.
    pub(super) fn forget(&mut self, mark: usize) {
        if let Some(function) = self.functions.last_mut() {
            function.active.truncate(mark);
        }
    }

    pub(super) fn resolve(&mut self, name: &str) -> Meaning {
        let find = |function: &Open| function.active.iter().rev().find(|(own, _)| own == name)?.1;
        let found = self.functions.iter().enumerate().rev().find_map(|(depth, function)| {
            let id = find(function)?;
            Some((depth, id))
        });
        let Some((depth, id)) = found else { return Meaning::Global };
        // Every function between holds on to the variable too.
        for function in &mut self.functions[depth + 1..] {
            function.outer.insert(id);
            if function.outer.len() > MAX_UPVALUES {
                return Meaning::TooManyOuter;
            }
        }
        Meaning::Local(id)
    }
}
