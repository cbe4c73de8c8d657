//! Unknown words and the right word nearest to them.

/// The choice nearest to `word`, if one is near enough to be meant.
#[must_use]
pub fn nearest<'a>(word: &str, choices: &[&'a str]) -> Option<&'a str> {
    let word = word.to_lowercase();
    let scored = choices.iter().map(|choice| (strsim::damerau_levenshtein(&word, choice), *choice));
    let (distance, choice) = scored.min_by_key(|(distance, _)| *distance)?;
    let near = distance <= 1 + choice.len() / 4 || choice.starts_with(&word) && word.len() > 1;
    near.then_some(choice)
}

/// `1 row`, `3 rows`.
#[must_use]
pub fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// `unknown builtin "tpcb"; did you mean "tpcb-like"? (there are tpcb-like, simple-update, select-only)`.
#[must_use]
pub fn unknown_word(kind: &str, word: &str, choices: &[&str]) -> String {
    let listed = choices.join(", ");
    match nearest(word, choices) {
        Some(right) => format!("unknown {kind} \"{word}\"; did you mean \"{right}\"? (there are {listed})"),
        None => format!("unknown {kind} \"{word}\"; there are {listed}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_offered_and_far_ones_are_not() {
        let choices = ["tpcb-like", "simple-update", "select-only"];
        let cases = [
            ("tpcb", Some("tpcb-like")),
            ("tpcb-lik", Some("tpcb-like")),
            ("Select_Only", Some("select-only")),
            ("vacuum", None),
            ("", None),
        ];
        for (word, wanted) in cases {
            assert_eq!(nearest(word, &choices), wanted, "{word}");
        }
    }
}
