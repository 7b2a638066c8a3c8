//! One system: what its seed states beside what its contract says.

use super::*;

pub(crate) struct System {
    pub(crate) contract: Arc<Contract>,
    pub(crate) stated: Inventory,
    pub(crate) rows: Vec<Deviation>,
}

impl System {
    pub(crate) fn load(name: &str) -> Self {
        let deviations = read(&format!("systems/{name}/deviations.md"));
        let rows = deviations.lines().map(Deviation::read).collect();
        Self { contract: contract(name), stated: Inventory::read(name), rows }
    }

    pub(crate) fn at(&self, entry: &Entry, what: &str) -> String {
        let line = entry.0["line"].as_u64().expect("`line` is missing");
        format!("{}.md:{line} `{}`: {what}", self.contract.name, entry.name())
    }

    /// The findings of a check, for every key that the contract has.
    pub(crate) fn each_key(&self, check: impl Fn(&Entry, &Key) -> Vec<String>) -> Vec<String> {
        let mut found = Vec::new();
        for entry in &self.stated.keys {
            for key in self.keys_of(entry.pattern()) {
                found.extend(check(entry, key).iter().map(|what| self.at(entry, what)));
            }
        }
        found
    }

    /// The keys whose pattern has the same structure, `{name}` standing for `<name>`.
    pub(crate) fn keys_of(&self, seed: &str) -> Vec<&Key> {
        let naming = Naming::plain(&self.contract);
        let seed = seed.replace("{prefix}", &self.contract.namespace);
        self.contract.keys.iter().filter(|key| self.same_structure(&naming.pattern(key), &seed)).collect()
    }

    pub(crate) fn same_structure(&self, ours: &Pattern, seed: &str) -> bool {
        let (ours, seed) = (ours.segments(), seed.split(':').collect::<Vec<_>>());
        ours.len() == seed.len() && ours.iter().zip(seed).all(|(ours, seed)| self.same_segment(ours, seed))
    }

    pub(crate) fn same_segment(&self, ours: &Segment, seed: &str) -> bool {
        match (&ours.param, placeholder(seed)) {
            (None, None) => ours.prefix == seed,
            (None, Some(_)) => false,
            (Some(param), Some((prefix, name, suffix))) => {
                ours.prefix == prefix && ours.suffix == suffix && stands_for(name, param)
            }
            // `tr:{symbol}:1s` and `tr:{symbol}:5s` are one key of the contract: <window> is one of the two.
            (Some(param), None) => match &self.param(param).kind {
                ParamKind::OneOf { words, open: false } => words.iter().any(|word| word == seed),
                _ => false,
            },
        }
    }

    pub(crate) fn param(&self, name: &str) -> &Param {
        self.contract.param(name).expect("a sound contract knows its placeholders")
    }

    /// Whether a field's name, or its family, takes this name.
    pub(crate) fn takes(&self, field: &Pattern, name: &str) -> bool {
        let (segments, parts) = (field.segments(), name.split(':').collect::<Vec<_>>());
        let fits = |(segment, part): (&Segment, &str)| match &segment.param {
            None => segment.prefix == part,
            Some(param) => {
                let value = part.strip_prefix(segment.prefix.as_str());
                let value = value.and_then(|value| value.strip_suffix(segment.suffix.as_str()));
                value.is_some_and(|value| self.param(param).accepts(value))
            }
        };
        segments.len() == parts.len() && segments.iter().zip(parts).all(fits)
    }

    /// Fields of the key, of the key it is a twin of, and of the layout of its value or items.
    pub(crate) fn fields<'s>(&'s self, key: &'s Key) -> Vec<&'s Field> {
        let twin = key.fields_of.as_ref().and_then(|name| self.contract.key(name));
        let inside = key.element.iter().flat_map(|kind| self.layout_fields(kind));
        key.fields.iter().chain(twin.into_iter().flat_map(|twin| &twin.fields)).chain(inside).collect()
    }

    pub(crate) fn layout_fields(&self, kind: &ValueType) -> Vec<&Field> {
        match kind {
            ValueType::Json(Some(name)) | ValueType::Cbor(Some(name)) => {
                let layout = self.contract.value(name).expect("a sound contract knows its layouts");
                let items = layout.of.iter().flat_map(|kind| self.layout_fields(kind));
                layout.fields.iter().chain(items).collect()
            }
            ValueType::List(inner) | ValueType::Map(inner) => self.layout_fields(inner),
            ValueType::AnyOf(kinds) => kinds.iter().flat_map(|kind| self.layout_fields(kind)).collect(),
            _ => Vec::new(),
        }
    }

    /// The words that the contract lists for a field, for a `{placeholder}`, or where `of` is empty for the value.
    pub(crate) fn words(&self, key: &Key, of: &str) -> Vec<String> {
        if let Some(("", name, "")) = placeholder(of) {
            let templates = key.element.iter().flat_map(|kind| match kind {
                ValueType::Template(patterns) => patterns.as_slice(),
                _ => &[],
            });
            let params = key.pattern.params().chain(templates.flat_map(Pattern::params));
            return params
                .filter(|param| stands_for(name, param))
                .flat_map(|param| self.param_words(param))
                .collect();
        }
        if of.is_empty() {
            return key.element.iter().flat_map(|kind| self.type_words(kind)).collect();
        }
        let fields = self.fields(key).into_iter().filter(|field| self.takes(&field.name, of));
        fields.flat_map(|field| self.type_words(&field.kind)).collect()
    }

    pub(crate) fn type_words(&self, kind: &ValueType) -> Vec<String> {
        match kind {
            ValueType::OneOf { words, .. } => words.clone(),
            ValueType::Bool(words) => words.split('/').map(str::to_owned).collect(),
            ValueType::Param(name) => self.param_words(name),
            ValueType::AnyOf(kinds) => kinds.iter().flat_map(|kind| self.type_words(kind)).collect(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn param_words(&self, name: &str) -> Vec<String> {
        match &self.param(name).kind {
            ParamKind::OneOf { words, .. } => words.clone(),
            _ => Vec::new(),
        }
    }

    pub(crate) fn declares_member(&self, kind: &ValueType, member: &str) -> bool {
        match (kind, placeholder(member)) {
            (ValueType::AnyOf(kinds), _) => kinds.iter().any(|kind| self.declares_member(kind, member)),
            (ValueType::Template(patterns), _) => {
                patterns.iter().any(|pattern| self.same_structure(pattern, member))
            }
            (ValueType::Param(param), Some(("", name, ""))) => stands_for(name, param),
            (ValueType::Param(param), _) => self.param(param).accepts_for_reading(&sample(member)),
            // The same id, as bytes instead of as text.
            (ValueType::Bytes(Some(length)), Some(("", name, ""))) => {
                let as_text = |param: &&Param| stands_for(name, &param.name);
                self.contract.params.iter().filter(as_text).any(|param| param.kind == ParamKind::Hex(*length))
            }
            _ => false,
        }
    }

    /// All durations that a policy promises; a link without its own has its parent's.
    pub(crate) fn durations(&self, policy: &Policy) -> Vec<Duration> {
        match policy {
            Policy::Linked { to, at_least: None } => {
                self.contract.key(to).map(|parent| self.durations(&parent.ttl.policy)).unwrap_or_default()
            }
            Policy::Pruned { members, key, .. } => [*members].into_iter().chain(*key).collect(),
            other => other.duration().into_iter().collect(),
        }
    }

    pub(crate) fn components(&self, word: &str) -> Vec<&str> {
        if word == "Each component" {
            let writing = self.contract.components.iter().filter(|component| !component.read_only);
            return writing.map(|component| component.name.as_str()).collect();
        }
        match COMPONENTS.iter().find(|(known, _)| *known == word) {
            Some((_, components)) => components.to_vec(),
            None => panic!("no component stands for \"{word}\": add it to COMPONENTS"),
        }
    }

    /// The rows of deviations.md that name the key: its pattern, or the beginning of it with a `*`.
    pub(crate) fn deviations(&self, key: &Key) -> impl Iterator<Item = &Deviation> {
        let pattern = self.listed_name(key);
        let names = move |name: &str| match name.strip_suffix('*') {
            Some(beginning) => pattern.starts_with(beginning),
            None => pattern == name,
        };
        self.rows.iter().filter(move |row| row.key.split('`').skip(1).step_by(2).any(&names))
    }

    pub(crate) fn listed_name(&self, key: &Key) -> String {
        let namespace = if self.contract.namespace.is_empty() { "" } else { "<namespace>:" };
        format!("{namespace}{}", key.pattern)
    }

    pub(crate) fn way_out(&self, key: &Key, ours: &str) -> String {
        let name = self.listed_name(key);
        format!(
            "follow the seed, or give deviations.md a row for `{name}` that says \"{ours}\" in its third column"
        )
    }

    /// Fields, values and members of a command line that the contract does not take.
    pub(crate) fn refused_arguments(&self, command: &str, arguments: &[String], key: &Key) -> Vec<String> {
        let mut found = Vec::new();
        if command == "HSET" {
            for pair in arguments.chunks(2) {
                let [name, value] = pair else { panic!("the field `{}` has no value", pair[0]) };
                match self.fields(key).iter().find(|field| self.takes(&field.name, name)) {
                    None => found.push(format!("field `{name}` is not declared")),
                    Some(field) if self.refuses(&field.kind, value) => {
                        found.push(format!("`{name}` cannot be `{value}`"));
                    }
                    Some(_) => {}
                }
            }
        }
        if let ("LPUSH" | "ZADD", Some(member)) = (command, arguments.last())
            && key.element.as_ref().is_none_or(|kind| self.refuses(kind, member))
        {
            found.push(format!("`{member}` is not a member"));
        }
        found
    }

    /// Says no only to what can be told without decoding.
    pub(crate) fn refuses(&self, kind: &ValueType, text: &str) -> bool {
        match kind {
            ValueType::Param(name) => !self.param(name).accepts_for_reading(text),
            ValueType::OneOf { words, open: false, .. } => !words.iter().any(|word| word == text),
            ValueType::Int(_) => text.parse::<i64>().is_err(),
            ValueType::Json(Some(_)) => !text.starts_with(['{', '[']),
            ValueType::AnyOf(kinds) => kinds.iter().all(|kind| self.refuses(kind, text)),
            _ => false,
        }
    }
}

/// A row of deviations.md: `| key | seed | ours | reason |`.
pub(crate) struct Deviation {
    pub(crate) key: String,
    pub(crate) seed: String,
    pub(crate) ours: String,
}

impl Deviation {
    pub(crate) fn read(line: &str) -> Self {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let ["", key, seed, ours, reason, ""] = cells.as_slice() else {
            panic!("not a row `| key | seed | ours | reason |`: {line}")
        };
        assert!([key, seed, ours, reason].iter().all(|cell| !cell.is_empty()), "an empty cell: {line}");
        Self { key: (*key).to_owned(), seed: (*seed).to_owned(), ours: (*ours).to_owned() }
    }

    /// Whether our value is this time; `12 h` does not say `2 h`.
    pub(crate) fn says(&self, time: &str) -> bool {
        format!(" {}", self.ours).contains(&format!(" {time}"))
    }
}

// ── The inventories ──
