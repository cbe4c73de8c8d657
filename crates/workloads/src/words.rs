//! Unknown words.

use protocol::nearest;

/// `unknown builtin "tpcb"; did you mean "tpcb-like"? (there are tpcb-like, simple-update, select-only)`.
#[must_use]
pub fn unknown_word(kind: &str, word: &str, choices: &[&str]) -> String {
    let listed = choices.join(", ");
    match nearest(word, choices.iter().copied()) {
        Some(right) => format!("unknown {kind} \"{word}\"; did you mean \"{right}\"? (there are {listed})"),
        None => format!("unknown {kind} \"{word}\"; there are {listed}"),
    }
}
