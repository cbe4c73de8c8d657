//! What came back for a sample of transactions, so that arms can be seen to do the same work before their speeds are compared.

use record::count;
use sha2::{Digest, Sha256};

/// Transactions of a sample.
pub(crate) const SAMPLE: u64 = 16;

/// What came back for one transaction. The order of rows does not count: without ORDER BY it means nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answer {
    /// Rows.
    pub rows: u64,
    /// Bytes of their values.
    pub bytes: u64,
    /// Sum over the rows of the first 64 bits of their SHA-256.
    pub checksum: u64,
}

impl Answer {
    /// Counts a row.
    pub(crate) fn add<'v>(&mut self, values: impl IntoIterator<Item = Option<&'v str>>) {
        let mut hash = Sha256::new();
        for value in values {
            // A length before each value: NULL is no empty text, and "ab", "c" is not "a", "bc".
            hash.update(value.map_or(u64::MAX, |value| value.len() as u64).to_le_bytes());
            hash.update(value.unwrap_or_default());
            self.bytes += value.map_or(0, |value| value.len() as u64);
        }
        let digest = hash.finalize();
        let first: [u8; 8] = digest[..8].try_into().expect("a digest is longer than 8 bytes");
        self.checksum = self.checksum.wrapping_add(u64::from_le_bytes(first));
        self.rows += 1;
    }
}

/// A sample of transactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sampled {
    /// One for each, drawn alike in all arms.
    Answers(Vec<Answer>),
    /// None, and why.
    NotTaken(String),
}

impl Sampled {
    /// What differs between the answers of an arm and those of the base, in words that go on from the arm's name; `None`
    /// where nothing does, or where it is not known.
    #[must_use]
    pub fn difference(&self, base: &Self, base_name: &str) -> Option<String> {
        let (Self::Answers(ours), Self::Answers(theirs)) = (self, base) else { return None };
        let rows = |answers: &[Answer]| answers.iter().map(|answer| answer.rows).sum::<u64>();
        let (own, other) = (rows(ours), rows(theirs));
        let of = count(theirs.len() as u64, "transaction");
        if own != other {
            let (by, word) = (own.abs_diff(other), if own < other { "fewer" } else { "more" });
            let by = count(by, "row");
            return Some(format!("returns {by} {word} than {base_name} ({own} against {other} in {of})"));
        }
        let differ = ours.iter().zip(theirs).filter(|(own, other)| own != other).count();
        (differ > 0)
            .then(|| format!("returns other values than {base_name} in {differ} of {of}, and as many rows"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rows: &[&[Option<&str>]]) -> Answer {
        let mut answer = Answer::default();
        rows.iter().for_each(|row| answer.add(row.iter().copied()));
        answer
    }

    #[test]
    fn rows_in_another_order_are_the_same_answer() {
        let [a, b]: [&[Option<&str>]; 2] = [&[Some("a"), None], &[Some("b"), Some("")]];
        assert_eq!(answer(&[a, b]), answer(&[b, a]));
        assert_ne!(answer(&[a, b]), answer(&[a, a]));
        assert_ne!(answer(&[&[Some("ab"), Some("c")]]), answer(&[&[Some("a"), Some("bc")]]));
        assert_ne!(answer(&[&[None]]), answer(&[&[Some("")]]));
    }

    #[test]
    fn differences_are_named() {
        let (one, two) = (answer(&[&[Some("1")]]), answer(&[&[Some("1")], &[Some("2")]]));
        let other = answer(&[&[Some("3")]]);
        let cases = [
            (vec![one, one], vec![one, one], None),
            (
                vec![one, two],
                vec![two, two],
                Some("returns 1 row fewer than a (3 against 4 in 2 transactions)"),
            ),
            (
                vec![two, two],
                vec![one, one],
                Some("returns 2 rows more than a (4 against 2 in 2 transactions)"),
            ),
            (
                vec![one, other],
                vec![one, one],
                Some("returns other values than a in 1 of 2 transactions, and as many rows"),
            ),
        ];
        for (own, base, wanted) in cases {
            let found = Sampled::Answers(own).difference(&Sampled::Answers(base), "a");
            assert_eq!(found.as_deref(), wanted);
        }
        let none = Sampled::NotTaken("it writes".to_owned());
        assert_eq!(none.difference(&Sampled::Answers(vec![one]), "a"), None);
    }
}
