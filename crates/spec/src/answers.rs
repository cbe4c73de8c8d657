//! How the answers of an arm differ from the base's: rows, and sums of numeric columns.

use serde::{Deserialize, Serialize};

use crate::words::count;

/// Most columns that [`AnswerDifference::words`] names; the data holds all of them.
const NAMED: usize = 8;

/// How the answers of one script in an arm differ from the base's, over the transactions of a sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AnswerDifference {
    /// The arm's script or layer; `None` where a workload has only one.
    pub script: Option<String>,
    pub transactions: u64,
    /// Transactions of the sample with another answer.
    pub differ: u64,
    pub rows: u64,
    pub base_rows: u64,
    pub rows_differ: u64,
    /// Columns whose values differ, in the arm's order.
    pub columns: Vec<ColumnDifference>,
    /// For tiles: how their content differs. `differ` then counts tiles whose map or attributes differ, not
    /// tiles that differ only in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map: Option<MapDifference>,
}

/// How the tiles of an arm differ from the base's, over a whole sample. A feature is the same if no part of
/// it is farther from the base's feature than a pixel (1/256 of a tile's side).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MapDifference {
    pub features: u64,
    pub base_features: u64,
    pub only_here: u64,
    pub only_there: u64,
    /// Features in both, with geometry farther than a pixel from the base's. Runs of earlier versions count
    /// these in `only_here` and `only_there`.
    #[serde(default)]
    pub moved: u64,
    /// Features in both at the same place, with other attributes.
    pub attributes_differ: u64,
    /// Features in both at the same place, with another feature id.
    #[serde(default)]
    pub ids_differ: u64,
    /// Layers with another name than the base's: own name, and the base's.
    #[serde(default)]
    pub renamed: Vec<(String, String)>,
    /// Greatest distance between features that count as the same, pixels.
    pub farthest_px: f64,
    pub zooms: Vec<u8>,
    /// The same zooms by kind of difference; empty in runs of earlier versions.
    #[serde(default)]
    pub zooms_of: MapZooms,
    pub most_at: String,
    /// Tiles not compared completely because they have too many vertices.
    pub gave_up: u64,
    /// Tiles that are not valid vector tiles.
    pub unreadable: u64,
    /// Differences of tiles that are pictures; `None` if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pictures: Option<PictureDifference>,
}

/// How tiles that are pictures differ from the base's, in tiles.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct PictureDifference {
    /// Pictures with other pixels. A few other pixels do not count: lossy compression makes them.
    pub pixels: u64,
    /// Greatest share of other pixels in a picture.
    pub most_share: f64,
    /// Pictures of another size.
    pub sizes: u64,
    /// Places where only one of the arms has a picture.
    pub only_one: u64,
}

impl PictureDifference {
    fn words(&self) -> String {
        let share = percent(self.most_share);
        let kinds = [
            (self.pixels, format!("with other pixels (up to {share} of a picture)")),
            (self.sizes, "of another size".to_owned()),
            (self.only_one, "in one of both only".to_owned()),
        ];
        let mut parts = Vec::new();
        for (number, how) in kinds.into_iter().filter(|(number, _)| *number > 0) {
            let pictures = if parts.is_empty() { count(number, "picture") } else { number.to_string() };
            parts.push(format!("{pictures} {how}"));
        }
        parts.join(", ")
    }
}

/// Zooms of the tiles whose features differ in one way.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MapZooms {
    pub only_here: Vec<u8>,
    pub only_there: Vec<u8>,
    pub moved: Vec<u8>,
    pub attributes_differ: Vec<u8>,
    pub ids_differ: Vec<u8>,
}

impl MapDifference {
    fn words(&self, base: &str) -> String {
        if let Some(pictures) = self.pictures.filter(|_| self.features + self.base_features == 0) {
            return format!("{}; most at {}", pictures.words(), self.most_at);
        }
        let kinds = [
            (self.only_here, "only here".to_owned(), &self.zooms_of.only_here),
            (self.only_there, format!("only in {base}"), &self.zooms_of.only_there),
            (self.moved, "with geometry farther than a pixel away".to_owned(), &self.zooms_of.moved),
            (self.attributes_differ, "with other attributes".to_owned(), &self.zooms_of.attributes_differ),
            (self.ids_differ, "with another id".to_owned(), &self.zooms_of.ids_differ),
        ];
        let (mut parts, mut told) = (Vec::new(), Vec::<u8>::new());
        for (number, how, zooms) in kinds.into_iter().filter(|(number, ..)| *number > 0) {
            let features = if parts.is_empty() { count(number, "feature") } else { number.to_string() };
            let at = if zooms.is_empty() { String::new() } else { format!(" ({})", zoom_words(zooms)) };
            parts.push(format!("{features} {how}{at}"));
            told.extend(zooms);
        }
        parts.extend(self.pictures.as_ref().map(PictureDifference::words));
        if self.unreadable > 0 {
            parts.push(format!("{} no vector tile", count(self.unreadable, "answer")));
        }
        if self.gave_up > 0 {
            parts.push(format!("{} too large to be compared in full", count(self.gave_up, "tile")));
        }
        let sums = if self.features == self.base_features {
            format!("{} in both", count(self.features, "feature"))
        } else {
            format!("{} against {}", count(self.features, "feature"), self.base_features)
        };
        let all_told = self.zooms.iter().all(|zoom| told.contains(zoom));
        let zooms = if all_told { String::new() } else { format!("{}, ", zoom_words(&self.zooms)) };
        format!("{} of {sums}; {zooms}most at {}", parts.join(", "), self.most_at)
    }
}

impl MapDifference {
    /// `layer roads is called default in old.sql, so a style that fits one shows an empty map for the other`.
    fn names(&self, base: &str) -> Option<String> {
        let names =
            self.renamed.iter().map(|(here, there)| format!("layer {here} is called {there} in {base}"));
        let names: Vec<String> = names.collect();
        (!names.is_empty()).then(|| {
            format!("{}, so a style that fits one shows an empty map for the other", names.join(", "))
        })
    }
}

/// `z12`, `z12 z14`, `z12 to z14`.
fn zoom_words(zooms: &[u8]) -> String {
    let mut zooms = zooms.to_vec();
    zooms.sort_unstable();
    zooms.dedup();
    let runs = zooms.chunk_by(|one, next| next - one == 1).map(|run| match run {
        [first, _, .., last] => format!("z{first} to z{last}"),
        few => few.iter().map(|zoom| format!("z{zoom}")).collect::<Vec<_>>().join(" "),
    });
    runs.collect::<Vec<_>>().join(" ")
}

/// A column whose values differ from the base's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ColumnDifference {
    /// The second column of the same name in a transaction is `NAME (2)`.
    pub column: String,
    /// Transactions in which its values differ; for text, only among transactions with the same number of
    /// rows.
    pub differ: u64,
    /// Error of its sum, where it holds numbers in both.
    pub error: Option<ColumnError>,
}

/// Relative error of the sum over rows: |own - base| / |base| of each transaction, as a share.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ColumnError {
    /// Median over the transactions with a defined error; `None` if there are none.
    pub median: Option<f64>,
    pub greatest: Option<f64>,
    /// Transactions without a defined error, left out: the base's sum is 0 and the arm's is not, or a sum is
    /// not finite.
    pub undefined: u64,
}

impl ColumnError {
    /// Compares the sums of an arm and of the base, transaction by transaction. If both are 0, there is no
    /// error.
    #[must_use]
    pub fn of(sums: impl IntoIterator<Item = (f64, f64)>) -> Self {
        let (mut errors, mut undefined) = (Vec::new(), 0);
        for (own, base) in sums {
            let error = if own == base { 0.0 } else { (own - base).abs() / base.abs() };
            if error.is_finite() && own.is_finite() {
                errors.push(error);
            } else {
                undefined += 1;
            }
        }
        errors.sort_by(f64::total_cmp);
        let middle = errors.len() / 2;
        let median = match errors.len() % 2 {
            _ if errors.is_empty() => None,
            1 => Some(errors[middle]),
            _ => Some(f64::midpoint(errors[middle - 1], errors[middle])),
        };
        Self { median, greatest: errors.last().copied(), undefined }
    }

    fn words(&self) -> String {
        let undefined = match self.undefined {
            0 => String::new(),
            some => format!("of {} without a relative error (0 in the base)", count(some, "transaction")),
        };
        match (self.median, self.greatest) {
            (Some(median), Some(greatest)) => {
                let but = if undefined.is_empty() { String::new() } else { format!(", but {undefined}") };
                format!("is off by {} in the median, {} at most{but}", percent(median), percent(greatest))
            }
            _ => format!("has other values, {undefined}"),
        }
    }
}

impl ColumnDifference {
    fn words(&self) -> String {
        let how = self.error.map_or_else(|| "has other values".to_owned(), |error| error.words());
        format!("{} {how}", self.column)
    }
}

impl AnswerDifference {
    /// Text that continues a sentence after the arm's name: `returns other values than a in 3 of 16
    /// transactions, and as many rows: area is off by …`.
    #[must_use]
    pub fn words(&self, base: &str) -> String {
        if let Some(map) = &self.map {
            let of = count(self.transactions, "tile");
            let script = self.script.as_ref().map(|script| format!(" (layer {script})")).unwrap_or_default();
            let names = map.names(base);
            if self.differ == 0 {
                return format!("names layers otherwise than {base}{script}: {}", names.unwrap_or_default());
            }
            return format!(
                "shows another map than {base} in {} of {of}{script}: {}{}",
                self.differ,
                map.words(base),
                names.map(|names| format!("; {names}")).unwrap_or_default()
            );
        }
        let of = count(self.transactions, "transaction");
        let first = if self.rows == self.base_rows && self.rows_differ == 0 {
            format!("returns other values than {base} in {} of {of}, and as many rows", self.differ)
        } else if self.rows == self.base_rows {
            format!(
                "returns other rows than {base} in {} of {of}, as many in all ({})",
                self.rows_differ, self.rows
            )
        } else {
            let word = if self.rows < self.base_rows { "fewer" } else { "more" };
            let by = count(self.rows.abs_diff(self.base_rows), "row");
            let several = match self.rows_differ {
                all if all == self.transactions => String::new(),
                some => format!(", in {some} of them"),
            };
            format!(
                "returns {by} {word} than {base} ({} against {} in {of}{several})",
                self.rows, self.base_rows
            )
        };
        let mut named: Vec<String> = self.columns.iter().take(NAMED).map(ColumnDifference::words).collect();
        let more = self.columns.len().saturating_sub(NAMED);
        named.extend((more > 0).then(|| format!("{} more", count(more as u64, "column"))));
        let columns = if named.is_empty() { String::new() } else { format!(": {}", named.join("; ")) };
        let script = self.script.as_ref().map(|script| format!(" (script {script})")).unwrap_or_default();
        format!("{first}{script}{columns}")
    }
}

/// A share as percent with two significant digits.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        0.0 => "0 %".to_owned(),
        10.0.. => format!("{percent:.0} %"),
        1.0.. => format!("{percent:.1} %"),
        0.1.. => format!("{percent:.2} %"),
        0.001.. => format!("{percent:.4} %"),
        _ => "less than 0.001 %".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_those_worked_out_by_hand() {
        // 10 against 8: 25 %; 9 against 10: 10 %; both 0: none; -5 against -4: 25 %.
        let error = ColumnError::of([(10.0, 8.0), (9.0, 10.0), (0.0, 0.0), (-5.0, -4.0)]);
        assert_eq!(error.greatest, Some(0.25));
        assert!((error.median.unwrap() - 0.175).abs() < 1e-12, "between 0.1 and 0.25: {error:?}");
        assert_eq!(error.undefined, 0);
        assert_eq!(error.words(), "is off by 18 % in the median, 25 % at most");
        let of_zero = ColumnError::of([(3.0, 0.0), (f64::NAN, 1.0), (2.0, 4.0)]);
        assert_eq!(of_zero, ColumnError { median: Some(0.5), greatest: Some(0.5), undefined: 2 });
        let none = ColumnError::of([(3.0, 0.0)]);
        assert_eq!(
            none.words(),
            "has other values, of 1 transaction without a relative error (0 in the base)"
        );
        for (share, said) in [
            (0.0, "0 %"),
            (1e-9, "less than 0.001 %"),
            (0.00012, "0.0120 %"),
            (0.0123, "1.2 %"),
            (3.0, "300 %"),
        ] {
            assert_eq!(percent(share), said);
        }
    }

    #[test]
    fn another_map_is_named() {
        let map = MapDifference {
            features: 90,
            base_features: 92,
            only_here: 1,
            only_there: 3,
            zooms: vec![12, 14],
            most_at: "12/2212/1610".into(),
            ..MapDifference::default()
        };
        let difference = AnswerDifference {
            script: None,
            transactions: 32,
            differ: 2,
            rows: 32,
            base_rows: 32,
            rows_differ: 0,
            columns: Vec::new(),
            map: Some(map),
        };
        // The form of earlier versions, without zooms by kind.
        let said = "shows another map than old.sql in 2 of 32 tiles: 1 feature only here, 3 only in old.sql \
                    of 90 features against 92; z12 z14, most at 12/2212/1610";
        assert_eq!(difference.words("old.sql"), said);
    }

    #[test]
    fn pictures_have_pixels_and_no_features() {
        let pictures = PictureDifference { pixels: 3, most_share: 0.123, sizes: 0, only_one: 1 };
        let map = MapDifference {
            pictures: Some(pictures),
            zooms: vec![9],
            most_at: "9/266/198".into(),
            ..MapDifference::default()
        };
        let said = "3 pictures with other pixels (up to 12 % of a picture), 1 in one of both only; most at 9/266/198";
        assert_eq!(map.words("old"), said);
    }

    #[test]
    fn zooms_are_told_by_what_differs_at_them() {
        let zooms_of = MapZooms {
            only_there: vec![13],
            moved: vec![12, 13],
            attributes_differ: vec![14, 12, 13],
            ..MapZooms::default()
        };
        let map = MapDifference {
            features: 20,
            base_features: 20,
            only_there: 7,
            moved: 5,
            attributes_differ: 9,
            zooms: vec![12, 13, 14],
            zooms_of,
            most_at: "12/2212/1610".into(),
            ..MapDifference::default()
        };
        let said = "7 features only in full.sql (z13), 5 with geometry farther than a pixel away (z12 z13), \
                    9 with other attributes (z12 to z14) of 20 features in both; most at 12/2212/1610";
        assert_eq!(map.words("full.sql"), said);
        // A zoom with another problem.
        let unread = MapDifference { unreadable: 1, zooms: vec![12, 13, 14, 16], ..map };
        assert!(unread.words("full.sql").ends_with("in both; z12 to z14 z16, most at 12/2212/1610"));
    }

    #[test]
    fn other_ids_and_names_of_layers_are_named() {
        let map = MapDifference {
            features: 70,
            base_features: 70,
            ids_differ: 6,
            renamed: vec![("streets".into(), "roads".into())],
            zooms: vec![9],
            zooms_of: MapZooms { ids_differ: vec![9], ..MapZooms::default() },
            most_at: "9/276/201".into(),
            ..MapDifference::default()
        };
        let difference = AnswerDifference {
            script: None,
            transactions: 8,
            differ: 1,
            rows: 8,
            base_rows: 8,
            rows_differ: 0,
            columns: Vec::new(),
            map: Some(map.clone()),
        };
        let names =
            "layer streets is called roads in a, so a style that fits one shows an empty map for the other";
        let said = format!(
            "shows another map than a in 1 of 8 tiles: 6 features with another id (z9) of 70 features in both; most at 9/276/201; {names}"
        );
        assert_eq!(difference.words("a"), said);
        let only_names = MapDifference { ids_differ: 0, zooms: Vec::new(), ..map };
        let difference = AnswerDifference { differ: 0, map: Some(only_names), ..difference };
        assert_eq!(difference.words("a"), format!("names layers otherwise than a: {names}"));
    }

    #[test]
    fn differences_are_named() {
        let error = Some(ColumnError { median: Some(0.01), greatest: Some(0.5), undefined: 0 });
        let area = ColumnDifference { column: "area".into(), differ: 2, error };
        let name = ColumnDifference { column: "name".into(), differ: 1, error: None };
        let same_rows = AnswerDifference {
            script: None,
            transactions: 16,
            differ: 2,
            rows: 40,
            base_rows: 40,
            rows_differ: 0,
            columns: vec![area, name],
            map: None,
        };
        let said = "returns other values than a in 2 of 16 transactions, and as many rows: \
                    area is off by 1.0 % in the median, 50 % at most; name has other values";
        assert_eq!(same_rows.words("a"), said);
        let fewer = AnswerDifference {
            rows: 39,
            rows_differ: 1,
            script: Some("x.sql".into()),
            columns: Vec::new(),
            ..same_rows.clone()
        };
        let said =
            "returns 1 row fewer than a (39 against 40 in 16 transactions, in 1 of them) (script x.sql)";
        assert_eq!(fewer.words("a"), said);
        let moved = AnswerDifference { rows_differ: 2, columns: Vec::new(), ..same_rows.clone() };
        assert_eq!(
            moved.words("a"),
            "returns other rows than a in 2 of 16 transactions, as many in all (40)"
        );
        let many = vec![same_rows.columns[1].clone(); 10];
        assert!(AnswerDifference { columns: many, ..same_rows }.words("a").ends_with("; 2 columns more"));
    }
}
