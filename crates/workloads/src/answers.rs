//! The results of a sample of transactions, to check that arms do the same work before their speeds are
//! compared, or how much they differ. Rows are not kept: only a checksum and a sum of each column.

use sha2::{Digest, Sha256};
use spec::{AnswerDifference, ColumnDifference, ColumnError, MapDifference, MapZooms, same_layers};
use tile::{Tile, mvt};

use crate::pictures;

pub(crate) const SAMPLE: u64 = 16;
/// Most columns of a transaction with separate sums; the others count in the checksum of its rows.
const COLUMNS: usize = 64;
/// Bytes kept of a column's name, at least as many as in PostgreSQL.
const NAME: usize = 64;
/// OID of int8.
pub(crate) const NUMBER: u32 = 20;
/// OIDs of summable types: int8, int2, int4, float4, float8, numeric.
const NUMBERS: [u32; 6] = [NUMBER, 21, 23, 700, 701, 1700];

/// The results of one transaction. The order of rows is ignored: without ORDER BY it is undefined.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TransactionAnswer {
    pub rows: u64,
    /// Bytes of their values.
    pub bytes: u64,
    /// Sum over the rows of the first 64 bits of their SHA-256.
    pub checksum: u64,
    /// At most 64, in the order of statements.
    pub columns: Vec<AnswerColumn>,
    /// Which tile came back, and its bytes, uncompressed.
    pub tile: Option<(Tile, Vec<u8>)>,
}

/// A column of a transaction's rows.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerColumn {
    /// Made unique: `count (2)`.
    pub name: String,
    /// Sum over the rows of the first 64 bits of the SHA-256 of its value.
    pub checksum: u64,
    /// Sum of its values if it is numeric; NULL counts as 0.
    pub sum: Option<f64>,
}

impl TransactionAnswer {
    /// Counts a row whose columns start at index `first`, from [`Self::open`].
    pub(crate) fn add<'v>(&mut self, first: usize, values: impl IntoIterator<Item = Option<&'v str>>) {
        let mut hash = Sha256::new();
        for (at, value) in (first..).zip(values) {
            // A length before each value: NULL differs from an empty text, and "ab", "c" from "a", "bc".
            let length = value.map_or(u64::MAX, |value| value.len() as u64).to_le_bytes();
            hash.update(length);
            hash.update(value.unwrap_or_default());
            self.bytes += value.map_or(0, |value| value.len() as u64);
            if let Some(column) = self.columns.get_mut(at) {
                column.add(length, value);
            }
        }
        self.checksum = self.checksum.wrapping_add(first_bits(hash));
        self.rows += 1;
    }

    /// A tile that came back.
    pub(crate) fn of_tile(tile: Tile, bytes: Vec<u8>) -> Self {
        let length = bytes.len() as u64;
        let checksum = first_bits(Sha256::new_with_prefix(&bytes));
        let rows = u64::from(length > 0);
        Self { rows, bytes: length, checksum, columns: Vec::new(), tile: Some((tile, bytes)) }
    }

    /// Adds the columns of a statement with the OIDs of their types; returns the index of the first.
    pub(crate) fn open<'n>(&mut self, columns: impl IntoIterator<Item = (&'n str, u32)>) -> usize {
        let first = self.columns.len();
        for (name, type_oid) in columns {
            if self.columns.len() >= COLUMNS {
                // There is no room for further columns of this statement.
                break;
            }
            let plain: String = cut(name).to_owned();
            let mut told_apart = plain.clone();
            let mut number = 1;
            while self.columns.iter().any(|column| column.name == told_apart) {
                number += 1;
                told_apart = format!("{plain} ({number})");
            }
            let sum = (NUMBERS.contains(&type_oid) && !is_identifier(name)).then_some(0.0);
            self.columns.push(AnswerColumn { name: told_apart, checksum: 0, sum });
        }
        if self.columns.len() == first { COLUMNS } else { first }
    }

    fn is_like(&self, other: &Self) -> bool {
        (self.rows, self.bytes, self.checksum) == (other.rows, other.bytes, other.checksum)
    }

    fn column(&self, name: &str) -> Option<&AnswerColumn> {
        self.columns.iter().find(|column| column.name == name)
    }
}

impl AnswerColumn {
    fn add(&mut self, length: [u8; 8], value: Option<&str>) {
        let mut hash = Sha256::new();
        hash.update(length);
        hash.update(value.unwrap_or_default());
        self.checksum = self.checksum.wrapping_add(first_bits(hash));
        if let (Some(sum), Some(value)) = (&mut self.sum, value) {
            *sum += value.parse::<f64>().unwrap_or(f64::NAN);
        }
    }
}

/// Whether a column's name suggests identifiers, whose sum means nothing.
fn is_identifier(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "id" || name.ends_with("_id")
}

fn first_bits(hash: Sha256) -> u64 {
    let digest = hash.finalize();
    u64::from_le_bytes(digest[..8].try_into().expect("a digest is longer than 8 bytes"))
}

fn cut(name: &str) -> &str {
    let end = (0..=NAME.min(name.len())).rev().find(|at| name.is_char_boundary(*at));
    &name[..end.unwrap_or(0)]
}

/// A sample of transactions.
#[derive(Debug, Clone, PartialEq)]
pub enum Sampled {
    /// For each script that can be chosen, or layer; drawn alike in all arms.
    Answers(Vec<ScriptAnswers>),
    /// With the reason.
    NotTaken(String),
}

/// The results of one script.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptAnswers {
    pub script: String,
    /// One per transaction.
    pub answers: Vec<TransactionAnswer>,
}

impl Sampled {
    /// How the answers of an arm differ from the base's, per script; only scripts that differ, and nothing if
    /// unknown. Scripts and layers match by [`same_layers`]; others are not compared.
    #[must_use]
    pub fn differences(&self, base: &Self) -> Vec<AnswerDifference> {
        let (Self::Answers(ours), Self::Answers(theirs)) = (self, base) else { return Vec::new() };
        let several = ours.len() > 1;
        let name = |script: &ScriptAnswers| several.then(|| script.script.clone());
        let pairs = same_layers(&names(theirs), &names(ours)).into_iter();
        let pairs = pairs.map(|(own, base)| (&ours[own], &theirs[base]));
        pairs.filter_map(|(own, base)| difference(name(own), own, base)).collect()
    }

    /// Layers of maps, own and of the base, without a counterpart on the other side: they cannot be compared.
    #[must_use]
    pub fn without_other<'s>(&'s self, base: &'s Self) -> [Vec<&'s str>; 2] {
        match (self, base) {
            (Self::Answers(ours), Self::Answers(theirs)) if is_map(ours) => {
                let (ours, theirs) = (names(ours), names(theirs));
                let same = same_layers(&theirs, &ours);
                let own = (0..ours.len()).filter(|at| !same.contains_key(at)).map(|at| ours[at]).collect();
                let taken: Vec<&usize> = same.values().collect();
                let of_base = (0..theirs.len()).filter(|at| !taken.contains(&at)).map(|at| theirs[at]);
                [own, of_base.collect()]
            }
            _ => Default::default(),
        }
    }
}

fn names(scripts: &[ScriptAnswers]) -> Vec<&str> {
    scripts.iter().map(|script| script.script.as_str()).collect()
}

fn is_map(scripts: &[ScriptAnswers]) -> bool {
    scripts.iter().flat_map(|script| &script.answers).any(|answer| answer.tile.is_some())
}

fn difference(script: Option<String>, own: &ScriptAnswers, base: &ScriptAnswers) -> Option<AnswerDifference> {
    let (ours, theirs) = (&own.answers[..], &base.answers[..]);
    if ours.iter().chain(theirs).any(|answer| answer.tile.is_some()) {
        return other_map(script, ours, theirs, [&own.script, &base.script]);
    }
    let pairs = || ours.iter().zip(theirs);
    let rows = |answers: &[TransactionAnswer]| answers.iter().map(|answer| answer.rows).sum::<u64>();
    let differ = pairs().filter(|(own, base)| !own.is_like(base)).count() as u64;
    let without_pair = ours.len().abs_diff(theirs.len()) as u64;
    let rows_differ = pairs().filter(|(own, base)| own.rows != base.rows).count() as u64 + without_pair;
    let (rows, base_rows) = (rows(ours), rows(theirs));
    (differ > 0 || ours.len() != theirs.len() && rows != base_rows).then(|| AnswerDifference {
        script,
        transactions: theirs.len() as u64,
        differ,
        rows,
        base_rows,
        rows_differ,
        columns: if ours.len() == theirs.len() { columns(ours, theirs) } else { Vec::new() },
        map: None,
    })
}

/// Differences of an arm's tiles; nothing if all show the same map, whatever their bytes.
fn other_map(
    script: Option<String>,
    ours: &[TransactionAnswer],
    theirs: &[TransactionAnswer],
    names: [&str; 2],
) -> Option<AnswerDifference> {
    let mut map = MapDifference::default();
    let (mut tiles, mut differ, mut most) = (0, 0, 0);
    for own in ours {
        let Some((place, bytes)) = &own.tile else { continue };
        // Tiles of a zoom may have taken too long in one of the arms.
        let same_place =
            |answer: &&TransactionAnswer| answer.tile.as_ref().is_some_and(|(other, _)| other == place);
        let Some((_, base)) = theirs.iter().find(same_place).and_then(|answer| answer.tile.as_ref()) else {
            continue;
        };
        tiles += 1;
        let by = match (pictures::compare(bytes, base), mvt::compare(bytes, base)) {
            (Some(found), _) => found.add_to(map.pictures.get_or_insert_default()),
            (None, Ok(found)) => {
                let total = found.total;
                map.features += total.here;
                map.base_features += total.there;
                map.only_here += total.only_here;
                map.only_there += total.only_there;
                map.moved += total.moved;
                map.attributes_differ += total.attributes_differ;
                map.ids_differ += total.ids_differ;
                add_names(&mut map.renamed, &found, names);
                add_zoom(&mut map.zooms_of, place.z, &total);
                map.farthest_px = map.farthest_px.max(total.farthest_px);
                map.gave_up += u64::from(total.gave_up);
                total.only_here + total.only_there + total.moved + total.attributes_differ + total.ids_differ
            }
            (None, Err(_)) => {
                map.unreadable += 1;
                u64::MAX
            }
        };
        if by > 0 {
            differ += 1;
            add_once(&mut map.zooms, place.z);
            if by > most {
                (most, map.most_at) = (by, place.to_string());
            }
        }
    }
    let rows = |answers: &[TransactionAnswer]| answers.iter().map(|answer| answer.rows).sum::<u64>();
    (differ > 0 || !map.renamed.is_empty()).then(|| AnswerDifference {
        script,
        transactions: tiles,
        differ,
        rows: rows(ours),
        base_rows: rows(theirs),
        rows_differ: 0,
        columns: Vec::new(),
        map: Some(map),
    })
}

/// Adds layers with other names, unless both have the name of their table: two tables have two names.
fn add_names(renamed: &mut Vec<(String, String)>, found: &mvt::TileDifference, sources: [&str; 2]) {
    for (here, there) in found.renamed() {
        let pair = (here.to_owned(), there.to_owned());
        let is_expected = is_named_after(here, sources[0]) && is_named_after(there, sources[1]);
        if !is_expected && !renamed.contains(&pair) {
            renamed.push(pair);
        }
    }
}

/// Whether a layer has the name of its table, as pgdyno and tile servers name layers.
fn is_named_after(layer: &str, source: &str) -> bool {
    let table = source.rsplit('.').next().unwrap_or(source).trim_matches('"');
    layer == source || layer == table || Some(layer) == table.strip_prefix("planet_osm_")
}

fn add_zoom(zooms: &mut MapZooms, zoom: u8, total: &mvt::Difference) {
    let kinds = [
        (&mut zooms.only_here, total.only_here),
        (&mut zooms.only_there, total.only_there),
        (&mut zooms.moved, total.moved),
        (&mut zooms.attributes_differ, total.attributes_differ),
        (&mut zooms.ids_differ, total.ids_differ),
    ];
    for (zooms, _) in kinds.into_iter().filter(|(_, features)| *features > 0) {
        add_once(zooms, zoom);
    }
}

fn add_once(zooms: &mut Vec<u8>, zoom: u8) {
    if !zooms.contains(&zoom) {
        zooms.push(zoom);
    }
}

/// Columns with other values, in the arm's order. Branches of a script may leave some out of a transaction.
fn columns(ours: &[TransactionAnswer], theirs: &[TransactionAnswer]) -> Vec<ColumnDifference> {
    let mut names: Vec<&str> = Vec::new();
    for column in ours.iter().flat_map(|answer| &answer.columns) {
        if !names.contains(&column.name.as_str()) {
            names.push(&column.name);
        }
    }
    names.into_iter().filter_map(|name| column(name, ours, theirs)).collect()
}

fn column(name: &str, ours: &[TransactionAnswer], theirs: &[TransactionAnswer]) -> Option<ColumnDifference> {
    let pairs: Vec<(&TransactionAnswer, &AnswerColumn, &TransactionAnswer, &AnswerColumn)> = ours
        .iter()
        .zip(theirs)
        .filter_map(|(own, base)| Some((own, own.column(name)?, base, base.column(name)?)))
        .collect();
    let sums: Option<Vec<(f64, f64)>> =
        pairs.iter().map(|(_, own, _, base)| Some((own.sum?, base.sum?))).collect();
    // With another number of rows, a text column differs in any case.
    let counts = |own: &TransactionAnswer, base: &TransactionAnswer| sums.is_some() || own.rows == base.rows;
    let is_other = |(own, ours, base, theirs): &&(
        &TransactionAnswer,
        &AnswerColumn,
        &TransactionAnswer,
        &AnswerColumn,
    )| { counts(own, base) && ours.checksum != theirs.checksum };
    let differ = pairs.iter().filter(is_other).count() as u64;
    (differ > 0).then(|| ColumnDifference {
        column: name.to_owned(),
        differ,
        error: sums.map(ColumnError::of),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INT: u32 = 23;
    const TEXT: u32 = 25;

    /// Rows of columns `a`, `b`, … of these types.
    fn typed(types: &[u32], rows: &[&[Option<&str>]]) -> TransactionAnswer {
        let mut answer = TransactionAnswer::default();
        let first = answer.open(["a", "b", "c"].into_iter().zip(types.iter().copied()));
        rows.iter().for_each(|row| answer.add(first, row.iter().copied()));
        answer
    }

    fn answer(rows: &[&[Option<&str>]]) -> TransactionAnswer {
        typed(&[TEXT, TEXT], rows)
    }

    fn sampled(answers: Vec<TransactionAnswer>) -> Sampled {
        Sampled::Answers(vec![ScriptAnswers { script: "x.sql".into(), answers }])
    }

    fn difference(own: Vec<TransactionAnswer>, base: Vec<TransactionAnswer>) -> Option<String> {
        let found = sampled(own).differences(&sampled(base));
        assert!(found.len() <= 1);
        found.first().map(|difference| difference.words("a"))
    }

    #[test]
    fn rows_in_another_order_are_the_same_answer() {
        let [a, b]: [&[Option<&str>]; 2] = [&[Some("a"), None], &[Some("b"), Some("")]];
        assert_eq!(answer(&[a, b]), answer(&[b, a]));
        let differ = |own: &[&[Option<&str>]], base: &[&[Option<&str>]]| !answer(own).is_like(&answer(base));
        assert!(differ(&[a, b], &[a, a]));
        assert!(differ(&[&[Some("ab"), Some("c")]], &[&[Some("a"), Some("bc")]]));
        assert!(differ(&[&[None]], &[&[Some("")]]));
        // 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1: equal values in another order are equal.
        let rows: [&[Option<&str>]; 3] = [&[Some("0.1")], &[Some("0.2")], &[Some("0.3")]];
        let [x, y, z] = rows;
        assert_eq!(difference(vec![typed(&[701], &[x, y, z])], vec![typed(&[701], &[z, y, x])]), None);
    }

    #[test]
    fn differences_of_rows_are_named() {
        let (one, two) = (answer(&[&[Some("1")]]), answer(&[&[Some("1")], &[Some("2")]]));
        let other = answer(&[&[Some("3")]]);
        let cases = [
            (vec![&one, &one], vec![&one, &one], None),
            (
                vec![&one, &two],
                vec![&two, &two],
                Some("returns 1 row fewer than a (3 against 4 in 2 transactions, in 1 of them)"),
            ),
            (
                vec![&two, &two],
                vec![&one, &one],
                Some("returns 2 rows more than a (4 against 2 in 2 transactions)"),
            ),
            (
                vec![&one, &other],
                vec![&one, &one],
                Some(
                    "returns other values than a in 1 of 2 transactions, and as many rows: a has other values",
                ),
            ),
        ];
        for (own, base, wanted) in cases {
            let [own, base] = [own, base].map(|answers| answers.into_iter().cloned().collect());
            assert_eq!(difference(own, base).as_deref(), wanted);
        }
        let none = Sampled::NotTaken("it writes".to_owned());
        assert!(none.differences(&sampled(vec![one])).is_empty());
    }

    #[test]
    fn numbers_that_are_names_are_not_added_up() {
        let mut answer = TransactionAnswer::default();
        answer.open([("osm_id", NUMBER), ("ID", NUMBER), ("paid", NUMBER), ("area", 701)]);
        let summed: Vec<bool> = answer.columns.iter().map(|column| column.sum.is_some()).collect();
        assert_eq!(summed, [false, false, true, true]);
    }

    /// Areas 10 + 20 against 8 + 20, then 5 against 5: errors 2/28 and 0.
    #[test]
    fn errors_of_numbers_are_measured_and_what_is_the_same_is_not_named() {
        let types = [INT, 1700, TEXT];
        let row = |id: &'static str, area: Option<&'static str>| [Some(id), area, Some("x")];
        let own = vec![
            typed(&types, &[&row("1", Some("10")), &row("2", Some("20.0"))]),
            typed(&types, &[&row("3", Some("5")), &row("4", None)]),
        ];
        let base = vec![
            typed(&types, &[&row("1", Some("8")), &row("2", Some("20.0"))]),
            typed(&types, &[&row("3", Some("5")), &row("4", None)]),
        ];
        let found = sampled(own).differences(&sampled(base));
        let [only] = &found[..] else { panic!("{found:?}") };
        assert_eq!((only.transactions, only.differ, only.rows, only.rows_differ), (2, 1, 4, 0));
        let [area] = &only.columns[..] else { panic!("{only:?}") };
        assert_eq!((area.column.as_str(), area.differ), ("b", 1));
        let error = area.error.unwrap();
        assert!((error.greatest.unwrap() - 2.0 / 28.0).abs() < 1e-12, "{error:?}");
        assert!((error.median.unwrap() - 1.0 / 28.0).abs() < 1e-12, "{error:?}");
    }

    #[test]
    fn columns_are_bounded_and_told_apart() {
        let mut answer = TransactionAnswer::default();
        let long = "é".repeat(100);
        for _ in 0..100 {
            let first = answer.open([(long.as_str(), INT), ("n", INT)]);
            answer.add(first, [Some("1"), Some("2")]);
        }
        assert_eq!((answer.columns.len(), answer.rows), (COLUMNS, 100));
        assert_eq!(answer.columns[3].name, "n (2)");
        assert!(answer.columns[0].name.len() <= NAME);
        assert!(answer.columns.iter().all(|column| column.sum.unwrap() <= 2.0), "each column is its own");
    }

    #[test]
    fn layers_in_lists_of_other_lengths_are_compared_by_name_or_not_at_all() {
        let tile = Tile { z: 14, x: 8851, y: 6439 };
        let layer = |name: &str, bytes: &[u8]| ScriptAnswers {
            script: name.to_owned(),
            answers: vec![TransactionAnswer::of_tile(tile, bytes.to_vec())],
        };
        // A tile with one layer "a" of one point, and nothing.
        let full = b"\x1a\x11\x0a\x01a\x12\x07\x18\x01\x22\x03\x09\x00\x00\x28\x80\x20\x78\x02";
        let base = Sampled::Answers(vec![layer("roads", full)]);
        let more = Sampled::Answers(vec![layer("poi", b""), layer("roads", full)]);
        assert!(more.differences(&base).is_empty());
        assert_eq!(more.without_other(&base), [vec!["poi"], vec![]]);
        let other = Sampled::Answers(vec![layer("roads", b""), layer("poi", b"")]);
        let found = other.differences(&base);
        let [only] = &found[..] else { panic!("{found:?}") };
        assert_eq!((only.script.as_deref(), only.differ), (Some("roads"), 1));
        let two = Sampled::Answers(vec![layer("a", full), layer("b", full)]);
        assert!(base.differences(&two).is_empty());
        assert_eq!(base.without_other(&two), [vec!["roads"], vec!["a", "b"]]);
        assert_eq!(base.without_other(&base), [Vec::<&str>::new(), Vec::new()]);
    }

    /// Regression: tiles were "the same", and a style that fits one layer showed an empty map for the other.
    #[test]
    fn another_name_of_a_layer_is_a_difference_unless_it_is_the_name_of_its_table() {
        let tile = Tile { z: 8, x: 138, y: 100 };
        let with = |script: &str, layer: u8| {
            let mut bytes =
                b"\x1a\x11\x0a\x01a\x12\x07\x18\x01\x22\x03\x09\x00\x00\x28\x80\x20\x78\x02".to_vec();
            bytes[4] = layer;
            let answers = vec![TransactionAnswer::of_tile(tile, bytes)];
            Sampled::Answers(vec![ScriptAnswers { script: script.to_owned(), answers }])
        };
        let found = with("new.sql", b'b').differences(&with("old.sql", b'a'));
        let [only] = &found[..] else { panic!("{found:?}") };
        assert_eq!((only.differ, only.map.as_ref().unwrap().renamed.len()), (0, 1));
        assert!(
            only.words("old.sql").starts_with("names layers otherwise than old.sql: layer b is called a")
        );
        assert!(with("maps.\"b\"", b'b').differences(&with("planet_osm_a", b'a')).is_empty());
        assert!(with("new.sql", b'a').differences(&with("old.sql", b'a')).is_empty());
    }

    #[test]
    fn scripts_of_a_mix_are_told_apart() {
        let script = |name: &str, value: &str| ScriptAnswers {
            script: name.into(),
            answers: vec![typed(&[INT], &[&[Some(value)]])],
        };
        let base = Sampled::Answers(vec![script("one.sql", "1"), script("two.sql", "4")]);
        let own = Sampled::Answers(vec![script("one.sql", "1"), script("two.sql", "5")]);
        let found = own.differences(&base);
        let [only] = &found[..] else { panic!("{found:?}") };
        assert_eq!(only.script.as_deref(), Some("two.sql"));
        assert_eq!(only.columns[0].error.unwrap().greatest, Some(0.25));
        // Another order is not a difference.
        let turned = Sampled::Answers(vec![script("two.sql", "4"), script("one.sql", "1")]);
        assert!(turned.differences(&base).is_empty());
    }

    /// Of two scripts against one of them, the rows of the other counted as missing: "1 row fewer".
    #[test]
    fn a_script_that_one_arm_lacks_is_no_difference() {
        let script = |name: &str, value: &str| ScriptAnswers {
            script: name.into(),
            answers: vec![typed(&[INT], &[&[Some(value)]])],
        };
        let both = Sampled::Answers(vec![script("one.sql", "1"), script("two.sql", "4")]);
        let one = Sampled::Answers(vec![script("two.sql", "4")]);
        assert_eq!((one.differences(&both), both.differences(&one)), (Vec::new(), Vec::new()));
        let other = Sampled::Answers(vec![script("two.sql", "5")]);
        assert_eq!(other.differences(&both)[0].differ, 1);
    }
}
