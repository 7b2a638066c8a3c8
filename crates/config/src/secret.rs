//! The file that holds a password.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use keyplane_schema::Code;
use keyplane_url::Secret;

use crate::error::Fault;

/// More than this is not a password but the wrong file.
const LONGEST: u64 = 4096;

/// Reads the password from its file. `named_by` is the setting's source, for messages.
pub(crate) fn from_file(path: &Path, named_by: &str) -> Result<Secret, Fault> {
    let shown = path.display();
    let fault = |why: String| Fault::new(Code::BadValue, format!("password_file {shown} ({named_by}) {why}"));
    let unreadable = |error: std::io::Error| {
        fault(format!("cannot be read: {error}")).help("name a file that this user may read")
    };
    let file = File::open(path).map_err(unreadable)?;
    // Asked of the open file, not of the path: nobody can swap it in between.
    let about = file.metadata().map_err(unreadable)?;
    if others_may_read(&about) {
        return Err(fault("may be read by every user of this machine".to_owned()).help(format!(
            "chmod 600 {shown}; where a container mounts it, give the secret mode 0400 or 0440"
        )));
    }
    let mut text = String::new();
    file.take(LONGEST + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > LONGEST {
        return Err(
            fault(format!("is longer than {LONGEST} bytes")).help("it holds the password and nothing else")
        );
    }
    // Editors and `echo` end a file with a newline that is not part of the password.
    let text = text.strip_suffix('\n').map_or(&*text, |line| line.strip_suffix('\r').unwrap_or(line));
    if text.is_empty() {
        return Err(
            fault("is empty".to_owned()).help("write the password into it, or leave password_file out")
        );
    }
    Ok(Secret::new(text))
}

#[cfg(unix)]
fn others_may_read(about: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    about.mode() & 0o004 != 0
}

/// Elsewhere the folder decides, and the standard library cannot tell.
#[cfg(not(unix))]
fn others_may_read(_: &std::fs::Metadata) -> bool {
    false
}
