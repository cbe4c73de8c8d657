//! Synthetic extracts: the same from a seed, whole, valid, and like real ones.

mod calibration;
mod content;
mod measure;
mod valid;

use std::io::Cursor;
use std::num::NonZeroUsize;

use osm::extract::{Header, Object, read};
use osm::synth::{SynthOptions, WrittenExtract, write};

/// An extract in memory.
pub struct Extract {
    pub made: WrittenExtract,
    pub bytes: Vec<u8>,
}

impl Extract {
    pub fn new(scale: &str, seed: u64, threads: usize) -> Self {
        let threads = NonZeroUsize::new(threads).unwrap();
        let options = SynthOptions { scale: scale.parse().unwrap(), seed, threads };
        let mut bytes = Vec::new();
        let made = write(&options, &mut bytes, &mut |_| (), &|| false).unwrap();
        Self { made, bytes }
    }

    pub fn objects(&self) -> Vec<Object> {
        objects(&self.bytes).1
    }
}

/// A file's header, and all its objects.
pub fn objects(bytes: &[u8]) -> (Header, Vec<Object>) {
    let mut objects = Vec::new();
    let header = read(&mut Cursor::new(bytes), &mut |object| objects.push(object)).unwrap();
    (header, objects)
}

/// Says why a test was not run.
#[expect(clippy::print_stderr, reason = "a test has no other way to say it")]
pub fn not_run(why: &str) {
    eprintln!("not run: {why}");
}
