//! Every word of the language, once: the reader, the JSON Schema and the error messages all use these tables.

/// A word of a table.
pub(crate) struct Word {
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) required: bool,
    pub(crate) doc: &'static str,
}

/// What a word takes.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    Text,
    /// One text or a list of texts.
    Texts,
    Number,
    Flag,
    TextOrFlag,
    TextOrNumber,
    /// A table with these words.
    Table(&'static [Word]),
    /// A table of tables with these words, by name.
    Named(&'static [Word]),
    /// The same, where a plain text stands for `{ doc = "…" }`.
    NamedOrText(&'static [Word]),
    /// A table, or a list of tables, with these words.
    Tables(&'static [Word]),
    /// Texts by name.
    TextByName,
    /// One text or a list of texts, by name.
    TextsByName,
    /// A type: a short text or a table of type words.
    Type,
    /// Types by name.
    TypesByName,
    /// Several types.
    Types,
    /// The argument of a kind without argument: `true`.
    True,
    /// `true`, a text or a number: an optional argument.
    Optional,
}

const fn word(name: &'static str, shape: Shape, doc: &'static str) -> Word {
    Word { name, shape, required: false, doc }
}

const fn must(name: &'static str, shape: Shape, doc: &'static str) -> Word {
    Word { name, shape, required: true, doc }
}

pub(crate) const FILE: &[Word] = &[
    must("contract", Shape::Table(CONTRACT), "What this keyspace is."),
    word("limits", Shape::Table(LIMITS), "Ceilings for every key of the file; a key may only be stricter."),
    word("event", Shape::TextByName, "Moments that a TTL can refer to."),
    word("param", Shape::Named(PARAM), "Typed placeholders."),
    word("component", Shape::NamedOrText(COMPONENT), "Who touches keys; each becomes an ACL user."),
    word("key", Shape::Named(KEY), "The keys."),
    word("value", Shape::Named(VALUE), "Layouts of encoded values."),
    word("op", Shape::Named(OP), "Operations: who does what to which keys in one step."),
];

/// The file of a kit fragment.
pub(crate) const FRAGMENT_FILE: &[Word] = &[
    must("fragment", Shape::Table(FRAGMENT), "What this fragment is."),
    must("key", Shape::Named(KEY), "The helper keys; `<host>` stands for the pattern of the host key."),
];

pub(crate) const FRAGMENT: &[Word] = &[
    must("kit", Shape::Text, "The kit primitive."),
    must("doc", Shape::Text, "What the helper keys are for."),
    must("host", Shape::Texts, "Redis types that a host key may have."),
];

pub(crate) const CONTRACT: &[Word] = &[
    must("name", Shape::Text, "The name, also for --schema."),
    must("version", Shape::Text, "MAJOR.MINOR of the data."),
    must("doc", Shape::Text, "What the keyspace is for."),
    word(
        "namespace",
        Shape::Text,
        "Put before every key with ':' when not empty; a deployment may set another one.",
    ),
    word("tag", Shape::Text, "Default hash tag: applies to every key whose pattern contains it."),
];

pub(crate) const LIMITS: &[Word] = &[
    word("bytes", Shape::Text, "Size of one key, such as 512KB."),
    word("fields", Shape::Number, "Fields of a hash."),
    word("members", Shape::Number, "Members of a set, zset, list or stream."),
];

pub(crate) const MAX: &[Word] = &[
    word("bytes", Shape::Text, "Size of the key, such as 512KB."),
    word("fields", Shape::Number, "Fields of the hash."),
    word("members", Shape::Number, "Members of the set, zset, list or stream."),
    word("total", Shape::Text, "Size of this key and all keys linked to it, as one compressed snapshot."),
];

/// The words that say what a placeholder accepts: exactly one of them.
pub(crate) const PARAM_KINDS: &[&str] = &["text", "like", "one_of", "int", "hex", "bytes"];

pub(crate) const PARAM: &[Word] = &[
    word("text", Shape::True, "Any text without ':', braces, white space or control characters."),
    word("like", Shape::Text, "ASCII regular expression for the whole value."),
    word("one_of", Shape::Texts, "These words."),
    word("open", Shape::Flag, "With one_of: other text passes too."),
    word("int", Shape::Text, "A decimal number in this range, LO..HI."),
    word("hex", Shape::Number, "That many bytes in lowercase hex."),
    word("bytes", Shape::Number, "That many raw bytes; for names of hash fields, never in a key."),
    word("colons", Shape::Flag, "The value may hold ':'."),
    word("except", Shape::Texts, "Words this placeholder never takes."),
    word("legacy", Shape::Text, "Regular expression of old ids: accepted on reading, refused on writing."),
    word("doc", Shape::Text, "What it is."),
    word("example", Shape::Text, "A value that passes."),
];

pub(crate) const COMPONENT: &[Word] = &[
    must("doc", Shape::Text, "What it does."),
    word("read_only", Shape::Flag, "Never writes."),
    word("extra", Shape::Texts, "Commands without keys beyond the ordinary ones, such as info."),
];

pub(crate) const KEY: &[Word] = &[
    must("pattern", Shape::Text, "Segments between ':'; placeholders are <name>."),
    must("type", Shape::Texts, "string, hash, list, set, zset or stream; two when the use decides."),
    word(
        "tag",
        Shape::TextOrFlag,
        "The part of the pattern that is the hash tag on Cluster; false for none.",
    ),
    must("ttl", Shape::Table(TTL), "How long the key lives."),
    word("max", Shape::Table(MAX), "Limits of this key."),
    must("doc", Shape::Text, "What it is for."),
    word("note", Shape::Text, "What else a reader must know."),
    word("fields", Shape::TypesByName, "Fields of a hash or stream, or families of them."),
    word("value", Shape::Type, "What a string holds."),
    word("items", Shape::Type, "What the items of a list are."),
    word("members", Shape::Type, "What the members of a set or zset are."),
    word("score", Shape::Type, "What the score of a zset is."),
    word("writes", Shape::Texts, "Components that write it."),
    word("reads", Shape::Texts, "Components that read it."),
    word("peeks", Shape::Texts, "Components that read without changing."),
    word("puts", Shape::Texts, "Components that set it."),
    word("updates", Shape::Texts, "Components that change parts of it."),
    word("counts", Shape::Texts, "Components that increment it."),
    word("adds", Shape::Texts, "Components that add members."),
    word("removes", Shape::Texts, "Components that delete it or members of it."),
    word("produces", Shape::Texts, "Components that push to the list."),
    word("consumes", Shape::Texts, "Components that pop from the list."),
    word("appends", Shape::Texts, "Components that append to the stream."),
    word("prunes", Shape::Texts, "Components that trim it."),
    word("holds", Shape::Texts, "Components that take it as a lock."),
    word("swaps", Shape::Texts, "Components that rename it."),
    word("member_of", Shape::Text, "The key whose members these ids must be."),
    word("index_of", Shape::Text, "The key that this one indexes."),
    word("fields_of", Shape::Text, "The key whose fields this one has too."),
    word("via", Shape::Text, "outbox: fed through an outbox, because it lives on another slot."),
    word("use", Shape::Tables(USE), "Kit primitives whose helper keys join this contract."),
    word("acl_reach", Shape::Text, "Why its ACL pattern may reach further than the key."),
    word("example", Shape::Texts, "Concrete keys."),
    word("since", Shape::Text, "Version or date of birth."),
    word("deprecated", Shape::Text, "Date from which it should not be used."),
    word("remove_after", Shape::Text, "Date from which it may be gone."),
    word("alias_of", Shape::Text, "The key of which this is a second spelling."),
    word("replaced_by", Shape::Text, "What to use instead."),
];

pub(crate) const USE: &[Word] = &[must("kit", Shape::Text, "The kit primitive, such as queue or lease.")];

pub(crate) const TTL: &[Word] = &[
    must("policy", Shape::Text, "none, fixed, sliding, linked, refreshed, pruned, after or max."),
    word("for", Shape::Text, "A duration, such as 2h."),
    word("to", Shape::Text, "linked: the key it never dies before."),
    word("key", Shape::Text, "pruned: how long the key lives after the last write."),
    word("by", Shape::Text, "pruned: the component that prunes."),
    word("event", Shape::Text, "after: the event."),
    word("before", Shape::Table(BEFORE), "after: the limit until the event."),
    word("doc", Shape::Text, "What else there is to say."),
    word("setting", Shape::Text, "The configuration setting that overrides the duration."),
];

pub(crate) const BEFORE: &[Word] = &[
    must("for", Shape::Text, "A duration."),
    word("plus", Shape::Text, "The name of a duration known at run time that is added."),
];

/// The words that say what a field, value, member or score holds: exactly one of them.
pub(crate) const TYPE_KINDS: &[Word] = &[
    word("text", Shape::True, "UTF-8 text."),
    word("bytes", Shape::Optional, "Raw bytes, of that length."),
    word("hex", Shape::Optional, "Lowercase hex of that many bytes."),
    word("int", Shape::Optional, "A decimal integer in that range."),
    word("float", Shape::Optional, "A decimal number in that range."),
    word("decimal", Shape::True, "An exact decimal."),
    word("bool", Shape::Optional, "true/false or 1/0."),
    word("time", Shape::Text, "rfc3339, rfc3339ms, iso, unix_s, unix_ms or unix_us."),
    word("one_of", Shape::Texts, "One of these words."),
    word("like", Shape::Text, "Text of that shape."),
    word("param", Shape::Text, "A value of that placeholder's type."),
    word("template", Shape::Texts, "Text built from placeholders."),
    word("json", Shape::Optional, "JSON of that layout."),
    word("cbor", Shape::Optional, "CBOR of that layout."),
    word("list", Shape::Type, "Many of that type."),
    word("map", Shape::Type, "Many of that type, by text."),
    word("any_of", Shape::Types, "One of several types."),
];

/// The words beside the kind.
pub(crate) const TYPE_OPTIONS: &[Word] = &[
    word("open", Shape::Flag, "one_of: other words pass too."),
    word("moves", Shape::TextsByName, "one_of: the legal transitions."),
    word("required", Shape::Flag, "Always there."),
    word("nullable", Shape::Flag, "May be null, in a layout."),
    word("doc", Shape::Text, "What it is."),
    word("unit", Shape::Text, "Unit of measure."),
    word("example", Shape::Text, "A value."),
    word("default", Shape::Text, "What absence means."),
    word("max", Shape::TextOrNumber, "A number of characters, or a size in bytes such as 100KB."),
    word("writes", Shape::Texts, "The writers of the key that own this field."),
    word("since", Shape::Text, "Version or date of birth."),
    word("deprecated", Shape::Text, "Date from which it should not be used."),
    word("remove_after", Shape::Text, "Date from which it may be gone."),
    word("alias_of", Shape::Text, "The field of which this is a second spelling."),
    word("replaced_by", Shape::Text, "What to use instead."),
];

pub(crate) const VALUE: &[Word] = &[
    must("encoding", Shape::Text, "json or cbor."),
    word(
        "shape",
        Shape::Text,
        "object; array: the fields by position; list or map: many of the type in `of`.",
    ),
    word("doc", Shape::Text, "What it is."),
    word("fields", Shape::TypesByName, "Its fields."),
    word("of", Shape::Type, "list and map: what they hold."),
];

pub(crate) const OP: &[Word] = &[
    must("doc", Shape::Text, "What it does."),
    must("by", Shape::Texts, "Who does it."),
    word("script", Shape::Text, "The Lua file, when it is more than one command."),
    word("kit", Shape::Text, "The kit primitive that does it, in place of a script."),
    must("keys", Shape::TextsByName, "Verbs by key."),
    word("atomic", Shape::Flag, "false: a sequence of single commands."),
    word("event", Shape::Text, "The event it raises."),
];
