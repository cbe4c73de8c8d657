//! Suggests the nearest known word for an unknown one.

/// The choice nearest to `word`, if it is near enough; case is ignored.
#[must_use]
pub fn nearest<'a>(word: &str, choices: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let distance = |choice: &str| strsim::damerau_levenshtein(&word, &choice.to_lowercase());
    let scored = choices.into_iter().map(|choice| (distance(choice), choice));
    let (distance, choice) = scored.min_by_key(|(distance, _)| *distance)?;
    let near = distance <= 1 + choice.len().min(word.len()) / 4;
    (near || word.len() > 1 && choice.starts_with(&word)).then_some(choice)
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
            assert_eq!(nearest(word, choices), wanted, "{word}");
        }
    }
}
