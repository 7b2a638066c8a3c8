//! No secret is ever printed, wherever it was put.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fmt::Write as _;
use std::path::Path;

use keyplane_config::{Flag, Section, Sources, read};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;

/// Files that hold a secret `S`, in the right place or in a wrong one.
const FILES: [&str; 26] = [
    "[store]\nurl = 'redis://u:S@h:6379/0'",
    "[store]\nurl = \"redis://:S@h\"",
    "[store]\nurl = 'redis+unix:///run/redis.sock?db=1&pass=S'",
    "[store]\nurl = 'redis://u:S'",
    "[store]\nurl = 'http://u:S@h'",
    "[store]\nurl = 'u:S@h'",
    "[store]\nurl = 'S@h'",
    "[store]\nurl = redis://u:S@h",
    "[store]\nurl = [\"redis://u:S@h\"]",
    "[store]\nurl = \"redis://u\\u003aS@h\"",
    "[store]\nurl = \"redis\\u003a//u:S@h\"",
    "[store]\nurl = \"redis://u\\u003aS\\u0040h\"",
    "[store]\nurl = \"\\u0072edis\\u003a//u\\u003aS\\u0040h\"",
    "[store]\nurl = '''\nredis://u:S@h'''",
    "[store]\nurl = 'redis://a'\npassword_file = 'x'\n[swarm]\nurl = 'redis://u:S@h'\npassword_file = 'y'",
    "[store]\npassword = 'S'",
    "[store]\npasword = 'S'",
    "[docket]\npassword = \"\"\"\nS\n\"\"\"",
    "[docket]\npassword = [\n'S'\n]",
    "[docket.password]\nvalue = 'S'",
    "[password]\nvalue = 'S'",
    "store = { password = 'S' }",
    "[[store]]\npassword = 'S'",
    "[store]\npassword = 'S",
    "[store]\npassword = \"\"\"\nS\n\"\"",
    "# password = 'S'\n[store]\ntls_cert = 'a'",
];

const VARIABLES: [(&str, &str); 10] = [
    ("KEYPLANE_PASSWORD", "S"),
    ("KEYPLANE_SWARM_PASSWORD", "S"),
    ("KEYPLANE_PASSWRD", "S"),
    ("KEYPLANE_URL", "redis://u:S@h"),
    ("KEYPLANE_URL", "redis://u:S"),
    ("KEYPLANE_URL", "u:S@h"),
    ("KEYPLANE_MARKET_URL", "http://u:S@h"),
    ("KEYPLANE_MARKET_URL", "unix:///s?password=S"),
    ("REDIS_HOST", "u:S@h"),
    ("REDIS_PASSWORD", "S"),
];

const FLAGS: [(&str, &str); 4] =
    [("url", "redis://u:S@h"), ("url", "redis://u:S"), ("url", "u:S@h"), ("password", "S")];

/// Everything that can be printed about these sources.
fn printed(sources: &Sources) -> String {
    match read(sources) {
        Err(error) => format!("{error}\n{error:?}\n{error:#?}\n{}", error.render(true)),
        Ok(config) => {
            let mut text = format!("{config:?}\n{config:#?}\n{:?}", config.rows());
            for section in Section::ALL {
                let settings = config.section(section);
                let _ = write!(text, "{settings:?} {:?}", settings.store());
                if let Some(url) = settings.url("url") {
                    let _ = write!(text, "{url} {url:?} {}", url.as_str());
                }
            }
            text
        }
    }
}

/// Pieces that occur in no name of ours, with the characters between them that a url, TOML or a shell may stumble over.
fn secret() -> impl Strategy<Value = (Vec<String>, String)> {
    let piece = "[B-DF-HJ-NP-TV-Z][B-DF-HJ-NP-TV-Z0-9]{5}";
    (prop::collection::vec((piece, "[-!$%&()*+,;=._~^<>/?#@:|ü]{0,2}"), 1..4)).prop_map(|pieces| {
        let whole = pieces.iter().map(|(piece, between)| format!("{piece}{between}")).collect();
        (pieces.into_iter().map(|(piece, _)| piece).collect(), whole)
    })
}

fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        let _ = if byte.is_ascii_alphanumeric() {
            write!(encoded, "{}", char::from(byte))
        } else {
            write!(encoded, "%{byte:02X}")
        };
        encoded
    })
}

/// The sources of every case above with this secret, alone and next to another mistake.
fn cases(secret: &str) -> Vec<(String, Sources)> {
    let mut cases = Vec::new();
    let empty = Sources::default;
    // With an `@` in it, what follows that is a host for everybody who looks at `redis://u:a@b`.
    let plain = |text: &str| !(secret.contains('@') && text.contains("redis://u:S") && !text.contains('@'));
    for file in FILES.into_iter().filter(|file| plain(file)) {
        let text = file.replace('S', secret);
        cases.push((file.to_owned(), empty().file("keyplane.toml", text.clone())));
        cases.push((
            file.to_owned(),
            empty().file("keyplane.toml", format!("{text}\n[swarm]\npool_size = 0\n")),
        ));
        cases.push((file.to_owned(), empty().file("keyplane.toml", format!("nothing = 1\n{text}\n"))));
    }
    for (name, value) in VARIABLES.into_iter().filter(|(_, value)| plain(value)) {
        let sources = empty().variable(name, value.replace('S', secret));
        cases.push((name.to_owned(), sources.clone()));
        cases.push((name.to_owned(), sources.clone().variable("KEYPLANE_POOL_SIZE", "0")));
        cases.push((
            name.to_owned(),
            sources.variable("REDIS_HOST", "a").variable("KEYPLANE_PASSWORD_FILE", "f"),
        ));
    }
    for (setting, value) in FLAGS.into_iter().filter(|(_, value)| plain(value)) {
        let flag = Flag::new("--flag", Section::Store, setting, value.replace('S', secret));
        assert!(!format!("{flag:?}").contains(secret));
        cases.push((setting.to_owned(), empty().flag(flag)));
    }
    cases
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 100,
        // The seed of a failure is written beside this file and tried first from then on.
        failure_persistence: Some(Box::new(FileFailurePersistence::WithSource("regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_prints_a_secret((pieces, whole) in secret()) {
        for (what, sources) in cases(&whole).into_iter().chain(cases(&encoded(&whole))) {
            let printed = printed(&sources);
            for piece in &pieces {
                let line = printed.lines().find(|line| line.contains(piece.as_str()));
                prop_assert_eq!(line, None, "{}: {} of {}", what, piece, whole);
            }
        }
    }
}

#[test]
fn a_secret_that_should_be_read_is_read() {
    let password = |sources: &Sources| {
        read(sources).unwrap().section(Section::Docket).store().unwrap().password.unwrap().reveal().to_owned()
    };
    assert_eq!(password(&Sources::default().variable("KEYPLANE_PASSWORD", "a b")), "a b");
    assert_eq!(password(&Sources::default().variable("KEYPLANE_DOCKET_URL", "redis://:a%20b@h")), "a b");
    assert_eq!(password(&Sources::default().file("k.toml", "[docket]\nurl = 'redis://:a%20b@h'")), "a b");
}

/// A file with these bytes and this mode, named by the environment; what comes of it.
fn from_file(bytes: &[u8], mode: u32) -> Result<String, String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("redis.password");
    std::fs::write(&path, bytes).unwrap();
    set_mode(&path, mode);
    let sources = Sources::default().variable("KEYPLANE_PASSWORD_FILE", path.to_str().unwrap());
    let config = read(&sources).unwrap();
    let row = config.rows().into_iter().find(|row| row.name == "password").unwrap();
    assert_eq!((&*row.value, &*row.source.to_string()), ("(set)", "KEYPLANE_PASSWORD_FILE"));
    match config.section(Section::Swarm).store() {
        Ok(store) => Ok(store.password.unwrap().reveal().to_owned()),
        Err(error) => Err(error.to_string().replace(path.to_str().unwrap(), "FILE")),
    }
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(not(unix))]
fn set_mode(_: &Path, _: u32) {}

#[test]
fn a_password_file_holds_the_password_and_maybe_a_newline() {
    for (bytes, password) in
        [("pw", "pw"), ("pw\n", "pw"), ("pw\r\n", "pw"), ("pw\n\n", "pw\n"), (" pw ", " pw ")]
    {
        assert_eq!(from_file(bytes.as_bytes(), 0o600).as_deref(), Ok(password));
    }
}

#[test]
fn a_password_file_that_holds_something_else_is_refused() {
    let head = "error[bad-value]: password_file FILE (KEYPLANE_PASSWORD_FILE)";
    let told = |bytes: &[u8]| from_file(bytes, 0o600).unwrap_err();
    let empty = format!("{head} is empty\n  = help: write the password into it, or leave password_file out");
    assert_eq!((told(b""), told(b"\n")), (empty.clone(), empty));
    assert_eq!(
        told(&[b'x'; 5000]),
        format!("{head} is longer than 4096 bytes\n  = help: it holds the password and nothing else")
    );
    assert!(told(&[0xff]).starts_with(&format!("{head} cannot be read: ")));
}

#[cfg(unix)]
#[test]
fn a_password_file_that_every_user_may_read_is_refused() {
    assert_eq!(
        from_file(b"pw", 0o644).unwrap_err(),
        "error[bad-value]: password_file FILE (KEYPLANE_PASSWORD_FILE) may be read by every user of this machine\n  \
         = help: chmod 600 FILE; where a container mounts it, give the secret mode 0400 or 0440"
    );
    assert_eq!(from_file(b"pw", 0o640).as_deref(), Ok("pw"), "a group is somebody's decision");
}

#[test]
fn a_password_file_is_read_only_when_it_counts() {
    let sources = Sources::default()
        .file("/nowhere/keyplane.toml", "[store]\npassword_file = \"redis.password\"\n")
        .variable("KEYPLANE_SWARM_PASSWORD", "pw");
    let config = read(&sources).unwrap();
    assert_eq!(config.section(Section::Swarm).store().unwrap().password.unwrap().reveal(), "pw");
    let told = config.section(Section::Docket).store().unwrap_err().to_string();
    let head =
        "error[bad-value]: password_file /nowhere/redis.password (/nowhere/keyplane.toml:2) cannot be read: ";
    assert!(told.starts_with(head), "{told}");
    assert!(told.ends_with("= help: name a file that this user may read"), "{told}");
}
