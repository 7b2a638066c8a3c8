//! Any file in place of a log: never a panic. It is used up to the end of a whole step, or refused with a place in it.
//!
//! The first byte says what the rest is: a file as it is; steps, each on lines of its own with its checksums before it, so
//! that anything can stand in a step; or the same with one byte changed afterwards.
#![no_main]

use keyplane_engine::log::{Chain, Loaded, LogError, load};
use keyplane_engine::{Decoder, Engine, Settings, Time};
use libfuzzer_sys::fuzz_target;

fn engine() -> Engine {
    Engine::new(Settings::default(), Time::from_millis(1_700_000_000_000))
}

/// The lines of a step as commands; what is no command stays as it is.
fn step(lines: &[u8]) -> Vec<u8> {
    let mut step = Vec::new();
    for line in lines.split(|byte| *byte == b'\n') {
        let mut decoder = Decoder::default();
        decoder.feed(line);
        decoder.feed(b"\n");
        match decoder.next_command() {
            Ok(Some(args)) => {
                step.extend(format!("*{}\r\n", args.len()).into_bytes());
                for arg in args.iter() {
                    step.extend(format!("${}\r\n", arg.len()).into_bytes());
                    step.extend_from_slice(arg);
                    step.extend_from_slice(b"\r\n");
                }
            }
            _ => step.extend_from_slice(line),
        }
    }
    step
}

fn file(steps: &[u8]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut chain = Chain::begin(&mut file);
    for lines in steps.split(|byte| *byte == b';') {
        chain.write(&step(lines), &mut file);
    }
    file
}

fn read(file: &[u8]) -> Result<Loaded, LogError> {
    let loaded = load(file, &mut engine());
    match &loaded {
        Ok(loaded) => {
            assert_eq!(loaded.end + loaded.torn, file.len() as u64);
            let again = load(&file[..loaded.end as usize], &mut engine()).expect("what was used can be used");
            assert_eq!((again.steps, again.torn), (loaded.steps, 0));
        }
        Err(LogError::Damaged { offset, .. }) => assert!(*offset < file.len() as u64),
        Err(_) => {}
    }
    loaded
}

fuzz_target!(|data: &[u8]| {
    match data {
        [0, file @ ..] => drop(read(file)),
        [1, place, bit, steps @ ..] => {
            let sound = file(steps);
            let mut changed = sound.clone();
            let place = usize::from(*place) * sound.len() / 256;
            changed[place] ^= 1 << (bit % 8);
            // Nothing that was changed is used.
            if let (Ok(sound), Ok(changed)) = (read(&sound), read(&changed)) {
                assert!(changed.steps < sound.steps && changed.end <= place as u64);
            }
        }
        [_, steps @ ..] => drop(read(&file(steps))),
        [] => {}
    }
});
