//! Any bytes, in pieces of any length: the same commands as in one piece, and each comes back when it is sent again.
#![no_main]

use keyplane_engine::{Broken, Decoder};
use libfuzzer_sys::fuzz_target;

type Commands = Vec<Vec<Vec<u8>>>;

fn decode<'b>(pieces: impl IntoIterator<Item = &'b [u8]>) -> (Commands, Option<Broken>) {
    let (mut decoder, mut commands) = (Decoder::default(), Vec::new());
    for piece in pieces {
        decoder.feed(piece);
        loop {
            match decoder.next_command() {
                Ok(Some(args)) => {
                    assert!(!args.is_empty());
                    commands.push(args.iter().map(|arg| arg.to_vec()).collect());
                }
                Ok(None) => break,
                Err(broken) => return (commands, Some(broken)),
            }
        }
    }
    (commands, None)
}

fn encode(commands: &Commands) -> Vec<u8> {
    let mut bytes = Vec::new();
    for command in commands {
        bytes.extend(format!("*{}\r\n", command.len()).into_bytes());
        for arg in command {
            bytes.extend(format!("${}\r\n", arg.len()).into_bytes());
            bytes.extend_from_slice(arg);
            bytes.extend_from_slice(b"\r\n");
        }
    }
    bytes
}

fuzz_target!(|data: &[u8]| {
    let [cut, sent @ ..] = data else { return };
    let whole = decode([sent]);
    assert_eq!(decode(sent.chunks(usize::from(*cut).max(1))), whole);
    assert_eq!(decode([encode(&whole.0).as_slice()]), (whole.0, None));
});
