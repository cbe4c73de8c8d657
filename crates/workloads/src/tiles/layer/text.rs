//! A tile query from a file, with its placeholders for zoom, column, row and envelope.

use protocol::nearest;

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
pub(super) struct TileStatement(Vec<StatementPiece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum StatementPiece {
    Text(String),
    /// Zoom, column or row: 0, 1 or 2.
    Place(usize),
}

impl TileStatement {
    /// With these values for the placeholders.
    pub(super) fn with(&self, values: &[String; 3]) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            StatementPiece::Text(text) => text.as_str(),
            StatementPiece::Place(number) => values[*number].as_str(),
        });
        pieces.collect()
    }

    fn push_str(&mut self, text: &str) {
        match self.0.last_mut() {
            Some(StatementPiece::Text(last)) => last.push_str(text),
            _ => self.0.push(StatementPiece::Text(text.to_owned())),
        }
    }

    /// Appends text in which `$1`, `$2` and `$3` are placeholders.
    fn push_places(&mut self, text: &str) {
        for (number, part) in text.split('$').enumerate() {
            let digit = part.chars().next().and_then(|digit| digit.to_digit(10)).filter(|_| number > 0);
            let rest = match digit {
                Some(digit) => {
                    self.0.push(StatementPiece::Place(digit as usize - 1));
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
        self.0.iter().all(|piece| matches!(piece, StatementPiece::Text(text) if text.trim().is_empty()))
    }
}

/// The one statement of a file.
///
/// # Errors
/// In words: no statement, several of them, an unknown placeholder, none at all, or an unclosed quote.
pub(super) fn read(text: &str) -> Result<TileStatement, String> {
    let mut out = TileStatement::default();
    let mut rest = text;
    let mut places = 0;
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
            places += 1;
            rest = &rest[1 + name.len()..];
        } else {
            let length = next.len_utf8();
            out.push_str(&rest[..length]);
            rest = &rest[length..];
        }
    }
    if out.is_empty() {
        Err("holds no statement".to_owned())
    } else if places == 0 {
        Err("does not depend on the tile; use :z, :x and :y, or :envelope in it".to_owned())
    } else {
        Ok(out)
    }
}

pub(super) fn first_column(statement: &TileStatement) -> TileStatement {
    let mut whole = TileStatement(vec![StatementPiece::Text("SELECT answer.tile FROM (".to_owned())]);
    whole.0.extend(statement.0.iter().cloned());
    whole.push_str(") AS answer (tile)");
    whole
}

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

fn starts_name(text: &str) -> bool {
    text.chars().next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
}

/// Length of the quoted part or comment at the beginning; 0 without one.
fn quoted(text: &str) -> Result<usize, String> {
    let unclosed = |what: &str| format!("{what} is not closed");
    let to = |end: &str, from: usize, what: &str| match text[from..].find(end) {
        Some(at) => Ok(from + at + end.len()),
        None => Err(unclosed(what)),
    };
    if text.starts_with("--") {
        return Ok(text.find('\n').map_or(text.len(), |at| at + 1));
    }
    if text.starts_with("/*") {
        return comment(text).ok_or_else(|| unclosed("a comment"));
    }
    if text.starts_with('"') {
        return to("\"", 1, "a quoted name");
    }
    if text.starts_with('\'') {
        return to("'", 1, "a quote");
    }
    if (text.starts_with('E') || text.starts_with('e')) && text[1..].starts_with('\'') {
        return escaped(text).ok_or_else(|| unclosed("a quote"));
    }
    match dollar_tag(text) {
        Some(tag) => to(tag, tag.len(), tag),
        None => Ok(0),
    }
}

/// Comments may be nested.
fn comment(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += rest.chars().next()?.len_utf8();
        }
    }
    None
}

/// `E'it\'s'`.
fn escaped(text: &str) -> Option<usize> {
    let mut skip = false;
    for (at, letter) in text.char_indices().skip(2) {
        match letter {
            _ if skip => skip = false,
            '\\' => skip = true,
            '\'' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// `$$` or `$tag$`, but not `$1`.
fn dollar_tag(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('$')?;
    let end = inner.find('$')?;
    let name = &inner[..end];
    let is_tag = name.is_empty()
        || starts_name(name) && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    is_tag.then(|| &text[..end + 2])
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
            assert_eq!(statement.with(&["$1", "$2", "$3"].map(str::to_owned)).trim(), wanted, "{text}");
        }
        let quoted = read("select '$1', :z").unwrap();
        assert_eq!(quoted.with(&["12", "0", "0"].map(str::to_owned)), "select '$1', 12");
    }

    #[test]
    fn what_is_no_tile_query_says_why() {
        for (text, wanted) in [
            ("", "holds no statement"),
            ("-- nothing\n;", "holds no statement"),
            ("select 1", "does not depend on the tile"),
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
