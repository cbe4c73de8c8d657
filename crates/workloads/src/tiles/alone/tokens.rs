//! Words and parentheses of SQL, without texts and comments.

use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TokenKind {
    /// In lower case.
    Word(String),
    Open,
    Close,
    Semicolon,
    /// `:=`.
    Becomes,
    /// `$1`.
    Parameter(usize),
    Text,
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    pub(super) place: Range<usize>,
}

impl Token {
    pub(super) fn is_word(&self, wanted: &str) -> bool {
        matches!(&self.kind, TokenKind::Word(word) if word == wanted)
    }
}

pub(super) fn tokens(text: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        let (kind, length) = token(&text[at..], letter);
        if let Some(kind) = kind {
            found.push(Token { kind, place: at..at + length });
        }
        at += length;
    }
    found
}

/// The next token, and its bytes; no kind for blanks and comments.
fn token(rest: &str, letter: char) -> (Option<TokenKind>, usize) {
    let up_to =
        |end: &str, from: usize| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
    match letter {
        _ if letter.is_whitespace() => (None, letter.len_utf8()),
        _ if rest.starts_with("--") => (None, up_to("\n", 2)),
        _ if rest.starts_with("/*") => (None, up_to("*/", 2)),
        _ if rest.starts_with(":=") => (Some(TokenKind::Becomes), 2),
        '\'' => (Some(TokenKind::Text), up_to("'", 1)),
        '"' => {
            let end = up_to("\"", 1);
            (Some(TokenKind::Word(rest[1..end].trim_end_matches('"').to_owned())), end)
        }
        '$' => dollar(rest),
        '(' => (Some(TokenKind::Open), 1),
        ')' => (Some(TokenKind::Close), 1),
        ';' => (Some(TokenKind::Semicolon), 1),
        _ if letter.is_alphabetic() || letter == '_' => {
            let length = rest.find(|next: char| !(next.is_alphanumeric() || next == '_' || next == '$'));
            let length = length.unwrap_or(rest.len());
            (Some(TokenKind::Word(rest[..length].to_lowercase())), length)
        }
        _ => (Some(TokenKind::Other), letter.len_utf8()),
    }
}

/// A parameter, or a text in dollar quotes.
fn dollar(rest: &str) -> (Option<TokenKind>, usize) {
    let digits = rest[1..].find(|next: char| !next.is_ascii_digit()).map_or(rest.len(), |at| at + 1);
    if let Ok(number) = rest[1..digits].parse() {
        return (Some(TokenKind::Parameter(number)), digits);
    }
    let Some(end) = rest[1..].find('$').map(|at| at + 2) else { return (Some(TokenKind::Other), 1) };
    let (tag, body) = rest.split_at(end);
    (Some(TokenKind::Text), body.find(tag).map_or(rest.len(), |at| end + at + end))
}

/// The words of a text, in lower case.
pub(super) fn words(text: &str) -> Vec<String> {
    let word = |token: Token| match token.kind {
        TokenKind::Word(word) => Some(word),
        _ => None,
    };
    tokens(text).into_iter().filter_map(word).collect()
}

/// The text with other words for its parameters; unknown ones stay.
pub(super) fn with_parameters(text: &str, named: impl Fn(usize) -> Option<String>) -> String {
    let mut out = String::new();
    let mut from = 0;
    for token in tokens(text) {
        if let TokenKind::Parameter(number) = token.kind
            && let Some(name) = named(number)
        {
            out.push_str(&text[from..token.place.start]);
            out.push_str(&name);
            from = token.place.end;
        }
    }
    out.push_str(&text[from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_comments_hide_their_words() {
        let text = "SELECT 'a (b', \"C d\" -- e (\n, $q$ f ; $q$ /* g ) */ + h_1($2) := ;";
        assert_eq!(words(text), ["select", "C d", "h_1"]);
        let count = |wanted: TokenKind| tokens(text).iter().filter(|token| token.kind == wanted).count();
        let counts =
            [TokenKind::Open, TokenKind::Close, TokenKind::Semicolon, TokenKind::Becomes, TokenKind::Text];
        assert_eq!(counts.map(count), [1, 1, 1, 1, 2]);
        assert_eq!(
            with_parameters("$1 + '$1' + $3", |number| (number == 1).then(|| "z".into())),
            "z + '$1' + $3"
        );
        for broken in ["'", "$a", "$a$ b", "\"", "/* x", "é$", "$"] {
            let _ = tokens(broken);
        }
    }
}
