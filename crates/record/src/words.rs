//! Numbers with their nouns.

/// `1 run`, `3 runs`.
#[must_use]
pub fn count(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "1 clients gave up".
    #[test]
    fn one_is_no_plural() {
        let words = [0, 1, 2].map(|number| count(number, "client"));
        assert_eq!(words, ["0 clients", "1 client", "2 clients"]);
    }
}
