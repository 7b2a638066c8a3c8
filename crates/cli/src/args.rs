//! The command line, defined once: parser, help, completions and man pages come from here.

#[cfg(feature = "embedded")]
use std::net::SocketAddr;
use std::path::PathBuf;
#[cfg(any(feature = "embedded", feature = "mempool", feature = "swarm"))]
use std::time::Duration;

#[cfg(feature = "embedded")]
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args as ClapArgs, Parser, Subcommand, value_parser};
#[cfg(feature = "embedded")]
use keyplane_store::Fsync;

/// Redis keyspaces as executable contracts.
///
/// A contract, keys.toml, says which keys there are, of which type, for how long, and who touches them. Keyplane checks it, explains it, and makes typed keys, docs and ACL users from it.
#[derive(Debug, Parser)]
#[command(
    name = "keyplane",
    version,
    max_term_width = 100,
    after_help = "Examples:\n  keyplane demo\n  keyplane keys match courtlistener:rate_limit:2024-09-17_14"
)]
pub(crate) struct Args {
    /// Print JSON for machines.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print less: results only, no words around them.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) given: Given,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Settings given on the command line. Variables and file are keyplane-config's to read: it knows what beats what.
#[derive(Debug, ClapArgs)]
pub(crate) struct Given {
    /// The store, such as redis://127.0.0.1:6379 or embedded:PATH; instead of KEYPLANE_URL and keyplane.toml. A password does not belong here: KEYPLANE_PASSWORD.
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// The file with settings; instead of KEYPLANE_CONFIG and ./keyplane.toml.
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// A short walk on a live store: typed keys, one script, refused writes, keys that age.
    #[cfg(feature = "embedded")]
    #[command(after_help = "Examples:\n  keyplane demo\n  keyplane demo --for 2m")]
    Demo(Demo),
    /// Read a contract: check, list, show, match, doc, acl, diff.
    #[command(
        subcommand,
        after_help = "Examples:\n  keyplane keys check systems/swarm/keys.toml\n  keyplane keys list --schema market"
    )]
    Keys(Keys),
    /// Run the embedded store with a port, so that redis-cli and any client can look in.
    #[cfg(feature = "embedded")]
    #[command(
        after_help = "The store of a folder belongs to one process; others that name the folder use it through that one.\n\nExit codes: 0 it was ended; 2 the folder, its log or the port cannot be used.\n\nExamples:\n  keyplane store\n  keyplane store ./data --listen 127.0.0.1:6390 --fsync always"
    )]
    Store(Store),
    /// A Cardano mempool that several nodes share.
    #[cfg(feature = "mempool")]
    #[command(
        subcommand,
        after_help = "Examples:\n  keyplane mempool sim\n  keyplane mempool status 914c51d2f3df4eec6173a53fc21d0ac1be93b2f3b22d677629c297ad8b307ad0"
    )]
    Mempool(Mempool),
    /// State of agent swarms: tasks that are finished once, votes, memories.
    #[cfg(feature = "swarm")]
    #[command(
        subcommand,
        after_help = "Examples:\n  keyplane swarm status swarm_abc123def456\n  keyplane swarm task claim swarm_abc123def456 --agent agent_dev00001"
    )]
    Swarm(crate::swarm::Swarm),
    /// Is the server there? Its product, version, role and round trip, one line per server.
    #[command(
        after_help = "Exit codes: 0 all answer; 2 bad settings; 3 a server cannot be reached; 4 interrupted.\n\nExamples:\n  keyplane ping --url redis://127.0.0.1:6379\n  keyplane ping --system market --count 1000"
    )]
    Ping {
        #[command(flatten)]
        whose: Whose,
        /// How many pings to each server.
        #[arg(short, long, default_value_t = 5, value_parser = value_parser!(u32).range(1..=1_000_000))]
        count: u32,
    },
    /// Is the server fit? Version, eviction, persistence, access, clock, latency, and what to change.
    #[command(
        after_help = "Exit codes: 0 fit, also with warnings; 1 something is bad; 2 bad settings; 3 the store cannot be reached; 4 interrupted.\nWhat the setting `accept` lists and what the user may not ask does not count.\n\nExamples:\n  keyplane doctor --url redis://127.0.0.1:6379\n  keyplane doctor --system mempool --json"
    )]
    Doctor {
        #[command(flatten)]
        whose: Whose,
    },
    /// Settings: every one with its source.
    #[command(
        subcommand,
        after_help = "Examples:\n  keyplane config show --changed\n  keyplane config doc > docs/config.md"
    )]
    Config(Config),
    /// Print completions for a shell.
    #[command(
        after_help = "Examples:\n  keyplane completions bash > /etc/bash_completion.d/keyplane\n  keyplane completions zsh > ~/.zfunc/_keyplane"
    )]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the man page, or write all of them to a folder.
    #[command(
        after_help = "Examples:\n  keyplane man | man -l -\n  keyplane man --dir ~/.local/share/man/man1"
    )]
    Man {
        /// Write one page per command here.
        #[arg(long)]
        dir: Option<PathBuf>,
    },
}

#[cfg(feature = "mempool")]
#[derive(Debug, Subcommand)]
pub(crate) enum Mempool {
    /// Run a node: it takes transactions in, offers them to peers, stands for election, and applies the chain that is pushed to it.
    #[command(
        after_help = "Nodes with the same store and key prefix share one pool and its peers; on one machine they differ in their port. No two of them offer the same transaction to the same peer. The chain is pushed to every node: POST /api/chain/forward and /api/chain/back. /openapi.json describes the API.\n\nExit codes: 0 it was ended; 2 bad settings, or an address that needs a token; 3 the store cannot be reached.\n\nExamples:\n  keyplane mempool run --config keyplane.toml\n  keyplane mempool run --listen 127.0.0.1:8091 --log debug\n  keyplane mempool run --peer relay-1=http://127.0.0.1:8190/api/submit/tx"
    )]
    Run(Serve),
    /// Take a transaction into the pool, and print its id.
    #[command(
        after_help = "Exit codes: 0 accepted; 1 refused: duplicate, conflicting input, full; 2 no transaction; 3 the store cannot be reached.\n\nExamples:\n  keyplane mempool submit signed.tx\n  cat signed.hex | keyplane mempool submit -"
    )]
    Submit {
        /// The signed transaction in CBOR, binary or hex; `-` reads standard input.
        file: PathBuf,
    },
    /// Where are these transactions? Stage, depth, block. Exits 1 when the pool does not know one.
    #[command(
        after_help = "Examples:\n  keyplane mempool status 914c51d2f3df4eec6173a53fc21d0ac1be93b2f3b22d677629c297ad8b307ad0\n  keyplane mempool status --json $(cat ids.txt)"
    )]
    Status {
        /// Ids of transactions.
        #[arg(required = true)]
        hashes: Vec<String>,
    },
    /// List transactions: the pending ones in their order, those inflight, the newest finished ones.
    #[command(
        after_help = "Examples:\n  keyplane mempool list\n  keyplane mempool list --stage confirmed --json"
    )]
    List {
        /// Only those in this stage.
        #[arg(long, value_parser = ["pending", "propagated", "acknowledged", "confirmed", "finalized", "dropped"])]
        stage: Option<String>,
        /// At most so many.
        #[arg(long, default_value_t = 100, value_parser = value_parser!(u32).range(1..=1_000_000))]
        limit: u32,
    },
    /// Follow every change of a stage, on every node, as it happens.
    #[command(
        after_help = "A gap is told, never skipped.\n\nExamples:\n  keyplane mempool tail\n  keyplane mempool tail --from 0-0 --count 100 --json"
    )]
    Tail {
        /// Begin behind this event; 0-0 begins with the oldest. By default with what comes next.
        #[arg(long, value_name = "ID")]
        from: Option<String>,
        /// End after so many events.
        #[arg(long)]
        count: Option<u64>,
    },
    /// Which node is the watcher? Exits 1 when none is.
    #[command(after_help = "Examples:\n  keyplane mempool leader\n  keyplane mempool leader --json")]
    Leader,
    /// Replay a recorded chain: each transaction is received before the block that holds it, then empty blocks settle it.
    #[command(
        after_help = "Without a url it runs in memory and leaves nothing behind. Of blocks of several chains the longest chain is taken.\n\nIn the result, finalized and dropped are the transactions that have become so during the replay and are so in the end, whether the pool still keeps them (max_finalized) or not; pending are those that are neither.\n\nExamples:\n  keyplane mempool replay blocks.jsonl txs.jsonl\n  keyplane mempool replay blocks.jsonl txs.jsonl --json --url redis://127.0.0.1:6379"
    )]
    Replay {
        /// Blocks, one JSON object per line: hash, prev, slot, number, txs.
        blocks: PathBuf,
        /// Transactions, one JSON object per line: hash, era, cbor.
        txs: PathBuf,
    },
    /// Watch three nodes share a pool while the chain forks and the watcher is stopped.
    #[command(
        after_help = "Without a url it runs in memory and leaves nothing behind.\n\nExamples:\n  keyplane mempool sim\n  keyplane mempool sim --for 1m --json"
    )]
    Sim {
        /// How long.
        #[arg(long = "for", value_name = "TIME", default_value = "30s", value_parser = keyplane_schema::parse_duration)]
        lasts: Duration,
    },
}

/// Where a node serves what.
#[cfg(feature = "mempool")]
#[derive(Debug, ClapArgs)]
pub(crate) struct Serve {
    /// Where to serve the API; instead of the setting.
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,
    /// Where to serve gRPC (UTxO RPC's SubmitService); instead of the setting. By default nowhere.
    #[cfg(feature = "grpc")]
    #[arg(long, value_name = "ADDR")]
    pub(crate) grpc: Option<String>,
    /// A peer that is offered transactions over HTTP; several may be given, instead of the setting.
    #[arg(long = "peer", value_name = "NAME=URL")]
    pub(crate) peers: Vec<String>,
    /// What to say on stderr.
    #[arg(long, default_value = "info", value_parser = ["error", "warn", "info", "debug"])]
    pub(crate) log: String,
}

#[cfg(feature = "embedded")]
#[derive(Debug, ClapArgs)]
pub(crate) struct Demo {
    /// How long the depot works, then the mempool, then the swarm; 0s leaves them out.
    #[arg(long = "for", value_name = "TIME", default_value = "15s", value_parser = duration)]
    pub(crate) lasts: Duration,
}

/// As contracts write it: 500ms, 30s, 2m.
#[cfg(any(feature = "embedded", feature = "swarm"))]
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    if text == "0" || text == "0s" {
        return Ok(Duration::ZERO);
    }
    keyplane_schema::parse_duration(text)
}

#[cfg(feature = "embedded")]
#[derive(Debug, ClapArgs)]
pub(crate) struct Store {
    /// The folder of its log. By default the one that every command uses when no url is set: in the user's state directory.
    #[arg(conflicts_with = "memory")]
    pub(crate) path: Option<PathBuf>,
    /// List the commands that the store knows, as a Markdown page, and do nothing else.
    #[arg(long)]
    pub(crate) commands: bool,
    /// Keep nothing: it ends with this process.
    #[arg(long)]
    pub(crate) memory: bool,
    /// Where to listen; loopback only.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:6380")]
    pub(crate) listen: SocketAddr,
    /// When a change counts as kept: on the disk, within a second, or when the system likes. By default as the setting says.
    #[arg(long, value_parser = fsync())]
    pub(crate) fsync: Option<Fsync>,
}

#[cfg(feature = "embedded")]
fn fsync() -> impl TypedValueParser<Value = Fsync> {
    let words = Fsync::ALL.map(|(_, word)| word);
    PossibleValuesParser::new(words).map(|word| Fsync::named(&word).unwrap_or_default())
}

/// Whose settings are used to reach the store.
#[derive(Debug, ClapArgs)]
pub(crate) struct Whose {
    /// Connect as this system does, with its own url, user and timeouts; by default as the section store says.
    #[arg(long, value_name = "NAME", value_parser = ["mempool", "docket", "market", "swarm", "sequencer"])]
    pub(crate) system: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Show every setting with its value and where that comes from. Secrets are shown as (set).
    #[command(
        after_help = "Settings that are wrong are shown with their place, and exit 2.\n\nExamples:\n  keyplane config show\n  keyplane config show --changed --config /etc/keyplane.toml"
    )]
    Show {
        /// Only settings that were given; no defaults.
        #[arg(long)]
        changed: bool,
    },
    /// Print all settings that there are as a Markdown page.
    #[command(after_help = "Examples:\n  keyplane config doc\n  keyplane config doc > docs/config.md")]
    Doc,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Keys {
    /// Is this contract sound? Shows every fault with its line, the reason and what to do.
    #[command(
        after_help = "Examples:\n  keyplane keys check --json systems/*/keys.toml\n  keyplane keys check keys.toml --scripts src/scripts"
    )]
    Check {
        /// Contracts: files, or names of built-in ones. ./keys.toml when none is named.
        files: Vec<String>,
        /// Also the Lua scripts in this folder: each against its operation, and whether every operation has its own.
        #[arg(long, value_name = "DIR")]
        scripts: Option<PathBuf>,
    },
    /// List the keys of contracts.
    #[command(after_help = "Examples:\n  keyplane keys list\n  keyplane keys list --schema swarm --json")]
    List {
        #[command(flatten)]
        chosen: Chosen,
        /// Also the helper keys of kit primitives.
        #[arg(long)]
        helpers: bool,
    },
    /// Show everything about one key.
    #[command(after_help = "Examples:\n  keyplane keys show agent\n  keyplane keys show --schema market ob")]
    Show {
        /// The key's name in its contract; `contract/name` where two have it.
        name: String,
        #[command(flatten)]
        chosen: Chosen,
    },
    /// Which key of the contract is this? Exits 1 when one matches nothing.
    #[command(
        after_help = "Examples:\n  keyplane keys match ob:BTCUSDT swarm:index:active\n  redis-cli --scan | keyplane keys match --json -"
    )]
    Match {
        /// Concrete keys, as they are in Redis; `-` reads them from standard input, one per line.
        #[arg(required = true)]
        keys: Vec<String>,
        #[command(flatten)]
        chosen: Chosen,
    },
    /// Print a contract as a Markdown page.
    #[command(
        after_help = "Examples:\n  keyplane keys doc swarm\n  keyplane keys doc ./keys.toml > docs/keys.md"
    )]
    Doc {
        /// A file, or the name of a built-in contract. ./keys.toml when none is named.
        schema: Option<String>,
    },
    /// ACL users from owners and operations: what each component may do, declared and effective.
    #[command(
        after_help = "Examples:\n  keyplane keys acl --schema sequencer\n  keyplane keys acl --schema sequencer --print"
    )]
    Acl {
        #[command(flatten)]
        chosen: Chosen,
        /// Print the rules, one `ACL SETUSER` line per component. Passwords are not part of them.
        #[arg(long)]
        print: bool,
    },
    /// What changed between two contracts, and do programs built on the old one still work? Exits 1 when some break.
    #[command(
        after_help = "Examples:\n  keyplane keys diff old/keys.toml keys.toml\n  keyplane keys diff --json swarm ./keys.toml"
    )]
    Diff {
        /// The old contract: a file, or the name of a built-in one.
        old: String,
        /// The new contract.
        new: String,
    },
    /// Print a JSON Schema of keys.toml, for completion in editors.
    #[command(
        after_help = "Examples:\n  keyplane keys json-schema > keys.schema.json\n  keyplane keys json-schema | head"
    )]
    JsonSchema,
}

/// Which contracts, and how their keys are spelled.
#[derive(Debug, ClapArgs)]
pub(crate) struct Chosen {
    /// A contract: a file, or a built-in name (mempool, docket, market, swarm, sequencer). May be given more than once. ./keys.toml by default, else all built-in ones.
    #[arg(long = "schema", value_name = "FILE|NAME")]
    pub(crate) schemas: Vec<String>,
    /// The namespace of the deployment, instead of the contract's own.
    #[arg(long)]
    pub(crate) namespace: Option<String>,
    /// Keys carry hash tags, as on Cluster.
    #[arg(long)]
    pub(crate) hash_tags: bool,
}
