//! Which runs of the merged files are parts of one load, and what becomes of them.

use std::collections::BTreeMap;

use spec::Validity;

/// A run that has one or more parts of a load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Piece {
    /// Index of the file.
    pub(super) source: usize,
    pub(super) run: i64,
    pub(super) experiment: i64,
    pub(super) uuid: String,
    pub(super) load: String,
    pub(super) of: u32,
    /// Whether it was made by a merge.
    pub(super) is_sum: bool,
    /// Identities of its parts in their own files, by number.
    pub(super) parts: BTreeMap<u32, String>,
    /// Of its parts, by number.
    pub(super) validity: Vec<Validity>,
}

/// What the merged file has of a load.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LoadRuns<'p> {
    /// This run as it is.
    One(&'p Piece),
    /// Their sum.
    Sum(Vec<&'p Piece>),
}

/// Why parts cannot be added.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unsummable<'p> {
    /// The same part twice.
    Twice { number: u32, of: [&'p Piece; 2] },
    /// Two sums have a part in common, and each another one besides.
    Overlap { number: u32, of: [&'p Piece; 2] },
}

/// The run of one load. A piece whose parts another one has, too, is left out.
pub(super) fn run_of_load<'p>(pieces: &[&'p Piece]) -> Result<LoadRuns<'p>, Unsummable<'p>> {
    let mut largest_first = pieces.to_vec();
    largest_first.sort_by_key(|piece| (std::cmp::Reverse(piece.parts.len()), piece.source, piece.run));
    let mut kept: Vec<&Piece> = Vec::new();
    for piece in largest_first {
        let has =
            |other: &Piece| piece.parts.iter().all(|(number, uuid)| other.parts.get(number) == Some(uuid));
        if kept.iter().any(|other| has(other)) {
            continue;
        }
        let common = kept.iter().find_map(|other| {
            piece
                .parts
                .iter()
                .find_map(|(number, uuid)| Some((*number, uuid, *other, other.parts.get(number)?)))
        });
        match common {
            Some((number, uuid, other, own)) if uuid == own => {
                return Err(Unsummable::Overlap { number, of: [other, piece] });
            }
            Some((number, _, other, _)) => return Err(Unsummable::Twice { number, of: [other, piece] }),
            None => kept.push(piece),
        }
    }
    match kept[..] {
        [only] if only.is_sum => Ok(LoadRuns::One(only)),
        _ => Ok(LoadRuns::Sum(kept)),
    }
}

/// Pieces by load.
pub(super) fn by_load(pieces: &[Piece]) -> BTreeMap<&str, Vec<&Piece>> {
    let mut loads: BTreeMap<&str, Vec<&Piece>> = BTreeMap::new();
    for piece in pieces {
        loads.entry(&piece.load).or_default().push(piece);
    }
    loads
}

/// The identity of the run of a load: its 32 hex digits in the form of all identities, so that two merges of the same
/// parts make the same run.
pub(super) fn identity(load: &str) -> String {
    uuid::Uuid::parse_str(load).map_or_else(|_| load.to_owned(), |uuid| uuid.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(source: usize, parts: &[(u32, &str)]) -> Piece {
        Piece {
            source,
            run: 1,
            experiment: 1,
            uuid: format!("run {source}"),
            load: "ab".repeat(16),
            of: 3,
            is_sum: parts.len() > 1,
            parts: parts.iter().map(|(number, uuid)| (*number, (*uuid).to_owned())).collect(),
            validity: vec![Validity::Valid; parts.len()],
        }
    }

    #[test]
    fn parts_are_added_once() {
        let [one, two, three] = [(1, "a"), (2, "b"), (3, "c")].map(|part| piece(part.0 as usize, &[part]));
        let both = piece(4, &[(1, "a"), (2, "b")]);
        let all = piece(5, &[(1, "a"), (2, "b"), (3, "c")]);
        assert_eq!(run_of_load(&[&two, &one]), Ok(LoadRuns::Sum(vec![&one, &two])));
        assert_eq!(run_of_load(&[&one]), Ok(LoadRuns::Sum(vec![&one])), "its doubt has to be added");
        assert_eq!(run_of_load(&[&one, &both, &two, &three]), Ok(LoadRuns::Sum(vec![&both, &three])));
        assert_eq!(run_of_load(&[&one, &both, &all, &three]), Ok(LoadRuns::One(&all)));
        assert_eq!(run_of_load(&[&both, &both]), Ok(LoadRuns::One(&both)));
    }

    #[test]
    fn what_cannot_be_added_is_named() {
        let [both, other] = [&[(1, "a"), (2, "b")], &[(2, "b"), (3, "c")]].map(|parts| piece(0, parts));
        assert_eq!(
            run_of_load(&[&both, &other]),
            Err(Unsummable::Overlap { number: 2, of: [&both, &other] })
        );
        let twice = piece(2, &[(2, "x")]);
        assert_eq!(run_of_load(&[&both, &twice]), Err(Unsummable::Twice { number: 2, of: [&both, &twice] }));
    }

    #[test]
    fn a_load_has_one_identity() {
        assert_eq!(identity(&"ab".repeat(16)), "abababab-abab-abab-abab-abababababab");
    }
}
