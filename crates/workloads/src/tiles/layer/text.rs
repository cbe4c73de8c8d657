//! A query from a file, with its placeholders for zoom, column, row and envelope: pgdyno's own, and those of
//! configurations of renderers and tile servers.

use protocol::nearest;

use super::feature_table::WEB_MERCATOR;
use super::quoted::{quoted, starts_name};
use super::token::{self, OfZoom, Token};

/// Placeholders after a colon, and their replacements; `$1`, `$2` and `$3` are zoom, column and row.
const PLACES: [(&str, &str); 8] = [
    ("z", "$1"),
    ("x", "$2"),
    ("y", "$3"),
    ("envelope", "ST_TileEnvelope($1, $2, $3)"),
    ("xmin", "ST_XMin(ST_TileEnvelope($1, $2, $3))"),
    ("ymin", "ST_YMin(ST_TileEnvelope($1, $2, $3))"),
    ("xmax", "ST_XMax(ST_TileEnvelope($1, $2, $3))"),
    ("ymax", "ST_YMax(ST_TileEnvelope($1, $2, $3))"),
];

/// A statement with placeholders for zoom, column and row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct TileStatement {
    pieces: Vec<StatementPiece>,
    /// Name of the subquery that the text is, as in configurations: `(SELECT …) AS roads`.
    pub(super) alias: Option<String>,
    /// SRID of `!BBOX!` if it is not the map's.
    box_srid: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum StatementPiece {
    Text(String),
    /// Zoom, column or row: 0, 1 or 2.
    Place(usize),
    /// `!BBOX!`, in the projection of the tables.
    Box,
    /// A number that depends on the zoom; written as such, as renderers do.
    OfZoom(OfZoom),
}

impl TileStatement {
    /// At a zoom, with these values for zoom, column and row.
    pub(super) fn with(&self, z: u8, values: &[String; 3]) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                StatementPiece::Text(plain) => text.push_str(plain),
                StatementPiece::Place(number) => text.push_str(&values[*number]),
                StatementPiece::Box => text.push_str(&self.bounding_box(values)),
                StatementPiece::OfZoom(number) => text.push_str(&number.at(z)),
            }
        }
        text
    }

    fn bounding_box(&self, [z, x, y]: &[String; 3]) -> String {
        let envelope = format!("ST_TileEnvelope({z}, {x}, {y})");
        match self.box_srid {
            Some(srid) => format!("ST_Transform({envelope}, {srid})"),
            None => envelope,
        }
    }

    /// `!BBOX!` is in this SRID.
    pub(super) fn with_box_in(mut self, srid: i64) -> Self {
        self.box_srid = (srid != WEB_MERCATOR).then_some(srid);
        self
    }

    /// Whether it has any placeholder.
    pub(super) fn is_of_tile(&self) -> bool {
        self.pieces.iter().any(|piece| !matches!(piece, StatementPiece::Text(_)))
    }

    /// Whether it has a placeholder for the tile's place, not only its zoom.
    pub(super) fn is_of_place(&self) -> bool {
        let is_place =
            |piece: &StatementPiece| matches!(piece, StatementPiece::Place(1 | 2) | StatementPiece::Box);
        self.pieces.iter().any(is_place)
    }

    /// Why it can make no tile, whatever the server says: nothing in it changes with the tile, and it has no
    /// rows to select by place.
    pub(super) fn problem(&self) -> Option<&'static str> {
        let selects = |text: &str| {
            text.split(|letter: char| !letter.is_alphanumeric()).any(|word| word.eq_ignore_ascii_case("from"))
        };
        let has_rows =
            self.pieces.iter().any(|piece| matches!(piece, StatementPiece::Text(text) if selects(text)));
        let is_rows = has_rows && !self.calls(&["st_asmvt"]);
        (!self.is_of_tile() && !is_rows).then_some(SAME_FOR_ALL)
    }

    /// Whether one of these functions is called, written in lower case.
    pub(super) fn calls(&self, functions: &[&str]) -> bool {
        let texts = self.pieces.iter().filter_map(|piece| match piece {
            StatementPiece::Text(text) => Some(text.to_lowercase()),
            _ => None,
        });
        let is_called = |text: &str, function: &str| {
            text.match_indices(function)
                .any(|(at, _)| text[at + function.len()..].trim_start().starts_with('('))
        };
        texts.into_iter().any(|text| functions.iter().any(|function| is_called(&text, function)))
    }

    /// The statement as a subquery between these texts, in which `$1`, `$2` and `$3` are placeholders.
    pub(super) fn within(&self, before: &str, after: &str) -> Self {
        let mut whole = Self { pieces: Vec::new(), ..self.clone() };
        whole.push_places(before);
        whole.pieces.extend(self.pieces.iter().cloned());
        whole.push_places(after);
        whole
    }

    fn push_str(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(StatementPiece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(StatementPiece::Text(text.to_owned())),
        }
    }

    fn push_token(&mut self, token: Token) {
        self.pieces.push(match token {
            Token::Box => StatementPiece::Box,
            Token::Place(number) => StatementPiece::Place(number),
            Token::OfZoom(number) => StatementPiece::OfZoom(number),
        });
    }

    /// Appends text in which `$1`, `$2` and `$3` are placeholders.
    fn push_places(&mut self, text: &str) {
        for (number, part) in text.split('$').enumerate() {
            let digit = part.chars().next().and_then(|digit| digit.to_digit(10)).filter(|_| number > 0);
            let rest = match digit {
                Some(digit) => {
                    self.pieces.push(StatementPiece::Place(digit as usize - 1));
                    &part[1..]
                }
                None => part,
            };
            if !rest.is_empty() {
                self.push_str(rest);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.pieces.iter().all(|piece| matches!(piece, StatementPiece::Text(text) if text.trim().is_empty()))
    }
}

/// The one statement of a file.
///
/// # Errors
/// In words: no statement, several of them, an unknown placeholder, or an unclosed quote.
pub(super) fn read(text: &str) -> Result<TileStatement, String> {
    let Some(subquery) = super::subquery::of(text)? else { return statement(text) };
    let read = statement(&format!("SELECT * FROM {} AS {}", subquery.text, subquery.written_alias))?;
    Ok(TileStatement { alias: Some(subquery.alias), ..read })
}

fn statement(text: &str) -> Result<TileStatement, String> {
    let mut out = TileStatement::default();
    let mut rest = text;
    let mut ended = false;
    while let Some(next) = rest.chars().next() {
        let length = quoted(rest)?;
        if length > 0 {
            let part = &rest[..length];
            // A comment may contain anything, and the statement continues after it.
            let is_comment = part.starts_with("--") || part.starts_with("/*");
            if ended && !is_comment {
                return Err(SEVERAL.to_owned());
            }
            out.push_str(if is_comment { " " } else { part });
            rest = &rest[length..];
        } else if ended && !next.is_whitespace() && next != ';' {
            return Err(SEVERAL.to_owned());
        } else if next == ';' {
            ended = !out.is_empty();
            rest = &rest[1..];
        } else if rest.starts_with("::") {
            out.push_str("::");
            rest = &rest[2..];
        } else if next == ':' && starts_name(&rest[1..]) {
            let name: String =
                rest[1..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            out.push_places(place(&name)?);
            rest = &rest[1 + name.len()..];
        } else if let Some(name) = token::written(rest) {
            out.push_token(Token::of(name)?);
            rest = &rest[2 + name.len()..];
        } else {
            let length = next.len_utf8();
            out.push_str(&rest[..length]);
            rest = &rest[length..];
        }
    }
    if out.is_empty() { Err("holds no statement".to_owned()) } else { Ok(out) }
}

pub(super) const SAME_FOR_ALL: &str =
    "does not depend on the tile; use :z, :x and :y, or :envelope, or !bbox! in it";
const SEVERAL: &str = "holds several statements; a tile is made by one";

fn place(name: &str) -> Result<&'static str, String> {
    if let Some((_, text)) = PLACES.iter().find(|(known, _)| *known == name) {
        return Ok(text);
    }
    let names = PLACES.map(|(name, _)| name);
    let hint = match nearest(name, names) {
        Some(right) => format!("did you mean :{right}?"),
        None => format!("there are :{}", names.join(", :")),
    };
    Err(format!("unknown placeholder :{name}; {hint}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_become_parameters_and_quotes_stay() {
        for (text, wanted) in [
            ("select f(:z,:x,:y);\n", "select f($1,$2,$3)"),
            (
                "select ':z'::text, \":x\", $$ :y $$, a::int from t -- :nothing\nwhere g && :envelope",
                "select ':z'::text, \":x\", $$ :y $$, a::int from t  where g && ST_TileEnvelope($1, $2, $3)",
            ),
            (
                "select E'\\':z', :xmin /* :a /* :b */ */",
                "select E'\\':z', ST_XMin(ST_TileEnvelope($1, $2, $3))",
            ),
            ("-- a tile\nselect :z ; -- that was it\n", "select $1"),
            ("select 'it''s', :y, a[1:2], $t$;$t$", "select 'it''s', $3, a[1:2], $t$;$t$"),
        ] {
            let statement = read(text).unwrap();
            assert_eq!(statement.with(14, &["$1", "$2", "$3"].map(str::to_owned)).trim(), wanted, "{text}");
        }
        let quoted = read("select '$1', :z").unwrap();
        assert_eq!(quoted.with(12, &["12", "0", "0"].map(str::to_owned)), "select '$1', 12");
    }

    #[test]
    fn tokens_of_configurations_are_filled_in() {
        let shown = |text: &str, srid: i64, z: u8| {
            let statement = read(text).unwrap().with_box_in(srid);
            statement.with(z, &["$1", "$2", "$3"].map(str::to_owned)).trim().to_owned()
        };
        let tegola =
            "SELECT gid, ST_AsBinary(geom) AS geom FROM t WHERE geom && !BBOX! AND minzoom <= !ZOOM!";
        assert_eq!(
            shown(tegola, 4326, 9),
            "SELECT gid, ST_AsBinary(geom) AS geom FROM t WHERE geom && ST_Transform(ST_TileEnvelope($1, $2, $3), 4326) AND minzoom <= 9"
        );
        let mapnik = "(SELECT way, '!bbox!' AS a FROM t\n  WHERE way && !bbox! AND a != 3 AND way_area > !pixel_width!::real*!pixel_height!::real) AS \"land use\" ;";
        assert_eq!(
            shown(mapnik, 3857, 14),
            "SELECT * FROM (SELECT way, '!bbox!' AS a FROM t\n  WHERE way && ST_TileEnvelope($1, $2, $3) AND a != 3 AND way_area > 9.554628535647032::real*9.554628535647032::real) AS \"land use\""
        );
        assert_eq!(read(mapnik).unwrap().alias.as_deref(), Some("land use"));
        assert!(shown("select z(!scale_denominator!)", 3857, 0).starts_with("select z(559082264.02"));
        let of = |text: &str| read(text).map(|read| (read.is_of_tile(), read.is_of_place())).unwrap();
        assert_eq!(of("select way from t"), (false, false));
        assert_eq!(of("select way from t where z <= !zoom!"), (true, false));
        assert_eq!(of("select f(!z!, !x!, !y!)"), (true, true));
        let problem = |text: &str| read(text).unwrap().problem();
        assert_eq!(problem("select way from t"), None);
        for text in ["select 1", "select ST_AsMVT(t) from t", "select ':z'"] {
            assert_eq!(problem(text), Some(SAME_FOR_ALL), "{text}");
        }
        assert!(read("select ST_AsMVT (t) from t").unwrap().calls(&["st_asmvt"]));
        assert!(!read("select st_asmvtgeom(t) from t").unwrap().calls(&["st_asmvt"]));
    }

    #[test]
    fn what_is_no_tile_query_says_why() {
        for (text, wanted) in [
            ("", "holds no statement"),
            ("-- nothing\n;", "holds no statement"),
            ("select !bobx!", "did you mean !bbox!?"),
            ("select !GEOM_FIELD!", "the configuration of a tile server"),
            ("select :z; select :x", "several statements"),
            ("select :z; 'x'", "several statements"),
            ("select :zz", "unknown placeholder :zz"),
            ("select :envelop", "did you mean :envelope?"),
            ("select ':z", "a quote is not closed"),
            ("select :z /* x", "a comment is not closed"),
            ("select $a$ :z", "$a$ is not closed"),
        ] {
            let problem = read(text).unwrap_err();
            assert!(problem.contains(wanted), "{problem} for {text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,80}") {
            let _ = read(&text);
        }
    }
}
