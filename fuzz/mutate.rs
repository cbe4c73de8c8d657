//! Runs a fuzz target inside the ordinary tests: over its committed corpus, then over inputs made from that.
//!
//! The inputs are the same in every run: their number and the seed they are made from are given, and no clock is
//! read. The tests of the crates include this file by its path.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Longest input made, in bytes.
const LONGEST: usize = 2048;
/// Most changes made to one input.
const MOST_CHANGES: u64 = 4;
/// Bytes that mean something in one of the languages, or lie at an edge.
const TELLING: &[u8] = b"\0\x01\x7f\x80\xff\n\r \t:;,.'\"$@*+-%&=()[]\\/0123456789DRSZEN";

/// Gives `body` every file of `corpus/<target>`, then `count` inputs made from them, starting from `seed`.
///
/// # Panics
/// When `body` does; the input that made it is then printed as a string literal. Also when there is no corpus.
pub fn run(target: &str, seed: u64, count: usize, body: fn(&[u8])) {
    let corpus = corpus(target);
    assert!(!corpus.is_empty(), "no corpus for {target}");
    for (name, input) in &corpus {
        attempt(name, input, body);
    }
    let mut random = Random(seed);
    for number in 0..count {
        let input = made(&corpus, &mut random);
        attempt(&format!("input {number} of seed {seed}"), &input, body);
    }
}

/// The files of the corpus in the order of their names.
fn corpus(target: &str) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("a folder that can be read").path())
        .map(|path| (path.display().to_string(), std::fs::read(&path).expect("a file that can be read")))
        .collect();
    files.sort();
    files
}

fn attempt(name: &str, input: &[u8], body: fn(&[u8])) {
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(input))) {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let reason = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or_default();
        panic!("failed on {name}: b\"{}\": {reason}", input.escape_ascii());
    }
}

/// An input made by some changes to one of the corpus.
fn made(corpus: &[(String, Vec<u8>)], random: &mut Random) -> Vec<u8> {
    let mut input = random.pick(corpus).1.clone();
    for _ in 0..=random.below(MOST_CHANGES) {
        change(&mut input, corpus, random);
    }
    input.truncate(LONGEST);
    input
}

fn change(input: &mut Vec<u8>, corpus: &[(String, Vec<u8>)], random: &mut Random) {
    let range = random.range(input.len());
    let start = range.start;
    match random.below(8) {
        0 => {
            if let Some(byte) = input.get_mut(start) {
                *byte ^= 1 << random.below(8);
            }
        }
        1 => {
            if let Some(byte) = input.get_mut(start) {
                *byte = *random.pick(TELLING);
            }
        }
        2 => input.insert(start, *random.pick(TELLING)),
        3 => input.insert(start, random.below(256) as u8),
        4 => drop(input.drain(range)),
        5 => {
            let piece = input[range].to_vec();
            let to = random.below(input.len() as u64 + 1) as usize;
            input.splice(to..to, piece);
        }
        6 => {
            let other = &random.pick(corpus).1;
            let piece = other[random.range(other.len())].to_vec();
            input.splice(range, piece);
        }
        _ => input.truncate(start),
    }
}

/// Steele, Lea and Flood's SplitMix64.
struct Random(u64);

impl Random {
    /// A number below `bound`, which is above 0; a bias of one in 2^50 does not matter here.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut value = self.0;
        value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (value ^ (value >> 31)) % bound
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u64) as usize]
    }

    /// A range inside of `length` things, short more often than long.
    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length as u64 + 1);
        let longest = self.below(length as u64 - start + 1) + 1;
        let end = (start + self.below(longest)).min(length as u64);
        start as usize..end as usize
    }
}
