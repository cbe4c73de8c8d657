//! Which lines of an experiment file may be shown: those that could hold a password are not, neither in a message nor in
//! what is stored. The file may be full of mistakes, so it is read here by its lines alone, and in doubt a line is hidden.

use std::ops::Range;

use protocol::nearest;
use protocol::postgres::Env;
use protocol::postgres::conninfo::{Shown, describes_connection, may_hold_password};
use serde_json::Value;
use toml_parser::Source;
use toml_parser::lexer::{Token, TokenKind};

use super::written;

/// What stands in place of what is hidden.
pub(super) const HIDDEN: &str = "(hidden: it may hold a password)";

/// A key with its value, a header, or a comment: one line, or several.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Statement {
    /// Bytes of the file.
    span: Range<usize>,
    /// Dotted path of the key, without its quotes; of a header or comment, that of its table.
    path: Vec<String>,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Key,
    /// A header, a comment, an empty line, or anything else without `=`.
    Other,
}

/// The file as it may be shown.
#[derive(Debug)]
pub(super) struct Hidden<'a> {
    pub(super) source: &'a str,
    statements: Vec<Statement>,
}

impl<'a> Hidden<'a> {
    /// Of a file's text.
    pub(super) fn of(source: &'a str) -> Self {
        Self { source, statements: statements(source) }
    }

    /// Whether what stands at this byte may be shown.
    pub(super) fn shows(&self, at: usize) -> bool {
        self.statement(at).is_none_or(|statement| !self.hides(statement))
    }

    /// The whole value (or line) that stands at this byte.
    pub(super) fn around(&self, at: usize) -> &'a str {
        self.statement(at).map_or("", |statement| &self.source[statement.span.clone()])
    }

    /// Where the key or table that stands at this byte, and has this name, stands first.
    pub(super) fn first_of(&self, at: usize, name: &str) -> Option<usize> {
        let path = &self.statement(at)?.path;
        let path = &path[..=path.iter().rposition(|part| part == name)?];
        self.statements.iter().find(|statement| statement.path == path).map(|first| first.span.start)
    }

    /// A line (its bytes) as it may be shown.
    pub(super) fn line(&self, line: &Range<usize>) -> String {
        let text = self.source[line.clone()].trim_end();
        let Some(statement) = self.statement(line.start).filter(|statement| self.hides(statement)) else {
            return text.to_owned();
        };
        let begins = line.start <= statement.span.start;
        match key_of(text).filter(|_| begins && statement.kind == Kind::Key) {
            Some(key) => format!("{key} = {HIDDEN}"),
            None => HIDDEN.to_owned(),
        }
    }

    /// The file without secrets, to be kept; `url` is what stands for the server's own description. It can be read again,
    /// and asks for what was hidden.
    pub(super) fn text(&self, url: Option<&str>) -> String {
        let mut text = String::new();
        for statement in &self.statements {
            let own = &self.source[statement.span.clone()];
            let path: Vec<&str> = statement.path.iter().map(String::as_str).collect();
            // A file that could be read has nothing but these in its target, and a Redis has no password.
            let kept =
                matches!(path[..], ["target", "redis" | "managed" | "change_server" | "tile_servers", ..])
                    && !may_hold_password(own);
            let end = if own.ends_with('\n') { "\n" } else { "" };
            match (&path[..], key_of(own.lines().next().unwrap_or_default())) {
                (["target", "url"], Some(key)) if statement.kind == Kind::Key => {
                    let url = serde_json::Value::from(url.unwrap_or(HIDDEN)).to_string();
                    text.push_str(&format!("{key} = {url}{end}"));
                }
                _ if kept || !self.hides(statement) => text.push_str(own),
                (_, Some(key)) if statement.kind == Kind::Key => {
                    text.push_str(&format!("{key} = \"{HIDDEN}\"{end}"));
                }
                _ => text.push_str(&format!("# {HIDDEN}{end}")),
            }
        }
        text
    }

    fn statement(&self, at: usize) -> Option<&Statement> {
        let found = self.statements.partition_point(|statement| statement.span.end <= at);
        self.statements.get(found)
    }

    fn hides(&self, statement: &Statement) -> bool {
        let text = &self.source[statement.span.clone()];
        let plain = without_casts(text);
        if could_hold(&plain)
            || could_hold(&plain.replace(char::is_whitespace, ""))
            || pieces(&plain).any(could_hold)
        {
            return true;
        }
        if statement.kind == Kind::Other {
            let text = text.trim();
            let told = text.is_empty() || text.starts_with(['#', '[']) || is_plain(text);
            return !told;
        }
        let (key, table) = statement.path.split_last().expect("a key has a path");
        // What stands below these has names of the user's own: a level may be called large.
        let names = ["settings", "workload", "version", "pooler", "change", "placement", "storage"];
        let told = if names.contains(&statement.path[0].as_str()) { 1 } else { statement.path.len() };
        let target = statement.path[..told].iter().any(|part| nearest(part, ["target"]).is_some());
        if target {
            let known = matches!(
                key.as_str(),
                "managed" | "change_server" | "tile_servers" | "name" | "version" | "extensions"
            );
            let behind = text.split_once('=').map_or("", |(_, value)| value);
            return !known
                || behind.contains([':', '@', '/'])
                || pieces(behind).any(|piece| piece.contains('='));
        }
        let value = text.split_once('=').map_or(text, |(_, value)| value);
        // The names of the file's own changes are factors.
        let varied = matches!(table.last().map(String::as_str), Some("factors"))
            && self
                .statements
                .iter()
                .any(|other| other.path.starts_with(&["change".to_owned(), key.clone()]));
        !varied && !is_known(table, key) && !is_plain(value)
    }
}

/// What of a server's description is kept with the file.
pub(super) fn kept_url(url: &str) -> String {
    // A name of a variable says nothing, what is in it may; the rest is shown as far as it holds no password.
    let name = url.strip_prefix('$').map(|name| name.trim_matches(['{', '}']));
    let variable = name.is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
    let shown = Shown::of(url, &Env::process());
    match shown.dsn {
        _ if variable => url.to_owned(),
        Some(_) if shown.text == url => shown.text,
        dsn => dsn.unwrap_or_else(|| HIDDEN.to_owned()),
    }
}

/// Whether a text may hold a password, or describes a connection, whatever is in it.
fn could_hold(text: &str) -> bool {
    may_hold_password(text) || describes_connection(text)
}

/// SQL has colons and `@` of its own.
fn without_casts(text: &str) -> String {
    text.replace("::", " ")
}

/// Texts in quotes.
fn pieces(value: &str) -> impl Iterator<Item = &str> {
    value.split(['"', '\'']).skip(1).step_by(2)
}

/// Whether there are only numbers, or a word like true.
fn is_plain(text: &str) -> bool {
    let value = text.split('#').next().unwrap_or_default();
    value.chars().all(|c| c.is_ascii_digit() || " \t\r\n.,[]+-_{}".contains(c))
        || matches!(value.trim(), "true" | "false")
}

/// Whether a key belongs there, or looks like one that does; names that the file chooses belong where they may stand.
fn is_known(table: &[String], key: &str) -> bool {
    let table: Vec<&str> = table.iter().map(String::as_str).collect();
    let (place, chosen) = match table[..] {
        ["workload" | "settings" | "prepare", ..] | ["full", "factors", _, ..] | ["factors", _, ..] => {
            ("", true)
        }
        ["pooler", _, "settings", ..] => ("", true),
        ["pooler", _] => ("pooler.NAME", false),
        ["version", _] => ("version.NAME", false),
        ["storage", _] => ("storage.NAME", false),
        ["change", _, _] => ("change.NAME.LEVEL", false),
        ["change", _, _, "do" | "undo"] => return key == "command",
        _ => (&*table.join("."), false),
    };
    if chosen {
        return !matches!(key, "pw" | "url" | "uri" | "dsn" | "auth" | "key");
    }
    let known = written::below(place);
    // Short words are near to many.
    known.contains(&key) || key.len() > 4 && nearest(key, known.iter().copied()).is_some()
}

/// What stands before the `=`, if it is no more than a key.
fn key_of(line: &str) -> Option<&str> {
    let key = line.split_once('=')?.0.trim();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '"' | '\'' | ' ');
    (!key.is_empty() && key.len() <= 80 && key.chars().all(plain)).then_some(key)
}

fn path_of(key: &str) -> impl Iterator<Item = String> {
    key.split('.').map(|part| part.trim().trim_matches(['"', '\'']).to_owned())
}

/// The header of a table, e.g. `[target]`.
fn header(line: &str) -> Option<Vec<String>> {
    let text = line.split('#').next().unwrap_or_default().trim();
    let inside = text.strip_prefix('[')?.strip_suffix(']')?;
    let name = inside.trim_start_matches('[').trim_end_matches(']').trim();
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '"' | '\'' | ' ');
    (!name.is_empty() && name.chars().all(plain)).then(|| path_of(name).collect())
}

/// Parts the text at lines where a key, a header or a comment begins.
fn statements(source: &str) -> Vec<Statement> {
    let mut statements: Vec<Statement> = Vec::new();
    let mut table: Vec<String> = Vec::new();
    let mut open = 0;
    for tokens in Source::new(source)
        .lex()
        .collect::<Vec<_>>()
        .split_inclusive(|token| token.kind() == TokenKind::Newline)
    {
        let start = statements.last().map_or(0, |last| last.span.end);
        let span = start..tokens.last().map_or(start, |token| token.span().end());
        let line = source[span.clone()].lines().next().unwrap_or_default();
        let name = header(line);
        let key = key_of(line).filter(|_| name.is_none());
        // A value with open brackets goes on, unless the line looks like something else.
        if open > 0
            && name.is_none()
            && key.is_none()
            && let Some(last) = statements.last_mut()
        {
            last.span.end = span.end;
            open += opened(tokens);
            continue;
        }
        open = if name.is_some() { 0 } else { opened(tokens) };
        let (path, kind) = match (name, key) {
            (Some(name), _) => {
                table = name;
                (table.clone(), Kind::Other)
            }
            (_, Some(key)) if !line.trim_start().starts_with('#') => {
                (table.iter().cloned().chain(path_of(key)).collect(), Kind::Key)
            }
            // A value whose key is missing or not plain may go on as well.
            _ => (table.clone(), Kind::Other),
        };
        if !span.is_empty() {
            statements.push(Statement { span, path, kind });
        }
    }
    statements
}

/// How many brackets are opened, less those that are closed.
fn opened(tokens: &[Token]) -> i32 {
    let bracket = |token: &Token| match token.kind() {
        TokenKind::LeftSquareBracket | TokenKind::LeftCurlyBracket => 1,
        TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket => -1,
        _ => 0,
    };
    tokens.iter().map(bracket).sum()
}

/// A message in which no text in quotes shows what may hold a password. `around` is the part of the file it is about, if
/// that is hidden.
pub(super) fn covered(message: &str, around: Option<&str>) -> String {
    let mut out = message.to_owned();
    if let Some(around) = around {
        // A text may have quotes of its own.
        if let (Some(first), Some(last)) = (out.find('"'), out.rfind('"'))
            && first < last
        {
            out.replace_range(first + 1..last, "(hidden)");
        }
        // A shorter text is not a password, and is a part of many words.
        for text in texts(around).iter().filter(|text| text.len() > 2) {
            out = out.replace(text.as_str(), "(hidden)");
        }
    }
    // Ours are the examples with an ellipsis.
    let secret = |piece: &str| could_hold(piece) && !piece.contains('…');
    let out = in_quotes(&out, '"', &secret);
    let out = in_quotes(&out, '`', &|piece| secret(piece) || piece.contains('@'));
    // A quote in the text itself, or none around it.
    if secret(&out) {
        return "this is not right, and why is not shown because it may hold a password".to_owned();
    }
    out
}

/// The texts in a piece of the file, as they are meant; as they are written where it cannot be read.
fn texts(around: &str) -> Vec<String> {
    fn collect(value: &toml::Value, texts: &mut Vec<String>) {
        match value {
            toml::Value::String(text) => texts.push(text.clone()),
            toml::Value::Array(values) => values.iter().for_each(|value| collect(value, texts)),
            toml::Value::Table(values) => values.iter().for_each(|(_, value)| collect(value, texts)),
            _ => {}
        }
    }
    let Ok(table) = toml::from_str::<toml::Table>(around) else {
        let value = around.split_once('=').map_or(around, |(_, value)| value);
        return pieces(value).filter(|piece| piece.len() > 2).map(str::to_owned).collect();
    };
    let mut texts = Vec::new();
    collect(&toml::Value::Table(table), &mut texts);
    texts
}

/// A text with what is hidden in the quotes left out.
fn in_quotes(text: &str, quote: char, hidden: &dyn Fn(&str) -> bool) -> String {
    let shown = |(number, piece)| if number % 2 == 1 && hidden(piece) { "(hidden)" } else { piece };
    text.split(quote).enumerate().map(shown).collect::<Vec<_>>().join(&quote.to_string())
}

/// A value as it may be shown.
pub(crate) fn shown_value(value: &str) -> &str {
    if could_hold(&without_casts(value)) { HIDDEN } else { value }
}

/// Plain data with the values of what is called a password, or holds one, left out; for records that people read.
pub(crate) fn without_secrets(value: &Value) -> Value {
    match value {
        Value::Object(entries) => {
            let shown = |(name, value): (&String, &Value)| {
                let secret = value.is_string() && may_hold_password(&format!("{name}="));
                (name.clone(), if secret { HIDDEN.into() } else { without_secrets(value) })
            };
            Value::Object(entries.iter().map(shown).collect())
        }
        Value::Array(values) => values.iter().map(without_secrets).collect(),
        Value::String(text) if may_hold_password(&without_casts(text)) => HIDDEN.into(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(source: &str) -> String {
        let hidden = Hidden::of(source);
        let mut start = 0;
        let lines = source.split_inclusive('\n').map(|line| {
            let span = start..start + line.len();
            start = span.end;
            hidden.line(&span)
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn lines_that_could_hold_a_password_are_not_shown() {
        for text in [
            "[target]\nurll = \"host=h geheim\"",
            "[target]\nurl = [\"host=h\", \"geheim\"]",
            "[target]\nurl = [\n \"host=h\",\n \"geheim\"\n]",
            "[target]\nurl = \"\"\"host=h\ngeheim\"\"\"",
            "[target]\nurl = '''\ngeheim",
            "[target]\nurl = geheim",
            "[target]\nurl geheim",
            "[target]\nurl = \"geheim",
            "[target]\ngeheim",
            "[targt]\nadress = \"geheim\"",
            "target.url = \"geheim\"",
            "target = { url = \"geheim\" }",
            "target = {\n url = \"geheim\" }",
            "url = \"geheim\"",
            "dsn = \"geheim\"",
            "# url = \"postgres://u:geheim@h\"",
            "[measure]\npw = \"geheim\"",
            "[measure]\npw = geheim",
            "dsn = geheim",
            "[prepare]\nurl = \"postgres://u:geheim@h\"",
            "[target]\nmanaged = { url = \"u:geheim@h\" }",
            "[target]\nredis = \"redis://:geheim@h\"",
            "question = \"\"\"postgres://u:\ngeheim@h\"\"\"",
            "[settings.a]\nprimary_conninfo = \"host=h password=geheim\"",
            "geheim\n",
            "[pooler.p]\npw = \"geheim\"",
            "[change.a.b]\ndsn = \"geheim\"",
            "[change.a.b]\ndo = \"ALTER ROLE r PASSWORD 'geheim'\"",
            "[factors]\nown = \"geheim\"",
            "[factors]\na.url = \"geheim\"",
        ] {
            assert!(!shown(text).contains("geheim"), "{text}\n{}", shown(text));
        }
    }

    #[test]
    fn other_lines_are_shown_as_they_are() {
        for text in [
            "question = \"Is it faster?\"\n# a remark\n[factors]\nclients = [1,\n 4]\nworkload = \"a\"",
            "[measure]\nwarmpu = \"2s\"\nronds = 4\nduration = \"ten seconds\"",
            "[workload.a]\npgbench = { builtin = \"select-only\", mode = \"simpel\" }",
            "[settings.large]\nwork_mem = \"64MB\"\n[change.index.target]\ndo = \"CREATE INDEX i ON t (x)\"",
            "[settings.big]\nshared_buffers = \"25% of memory\"\npassword_encryption = \"md5\"",
            "[target]\nmanaged = { extensions = [\"postgis\"], redis = true }\nchange_server = 1",
            "[pooler.p]\npool_mode = \"transaction\"\nsettings = { server_lifetime = \"60\" }",
            "[change.index.b]\ndo = \"CREATE INDEX i ON t (x)\"\nundo = { command = \"true\" }\ncheck = \"SELECT 1\"\n\
             [factors]\nindex = \"b\"\na.mode = \"simple\"\n\"a.builtin\" = \"select-only\"\n\
             [full.factors]\nindex = \"b\"",
        ] {
            assert_eq!(shown(text).replace("\n\n", "\n"), text);
        }
    }

    #[test]
    fn what_is_kept_can_be_read_again() {
        let text = "question = \"?\"\n[target]\nurl = \"postgres://u:geheim@h\" # mine\nredis = \"redis://h:1\"\n\
                    # was: postgres://u:geheim@old\n[load]\nlimit = \"1s\"\n";
        let wanted = "question = \"?\"\n[target]\nurl = \"host=h user=u\"\nredis = \"redis://h:1\"\n\
                      # (hidden: it may hold a password)\n[load]\nlimit = \"1s\"\n";
        assert_eq!(Hidden::of(text).text(Some("host=h user=u")), wanted);
    }

    #[test]
    fn messages_quote_nothing_secret() {
        let hidden = Some("url = \"geheim\"");
        for (message, around, wanted) in [
            ("`a` cannot be \"b\"", None, "`a` cannot be \"b\""),
            ("`a` cannot be \"postgres://u:geheim@h\"", None, "`a` cannot be \"(hidden)\""),
            ("`target.url` is not \"geheim\"", hidden, "`target.url` is not \"(hidden)\""),
            ("there is no [workload.geheim]", hidden, "there is no [workload.(hidden)]"),
        ] {
            assert_eq!(covered(message, around), wanted);
        }
        assert!(!covered("no key u:geheim@h", None).contains("geheim"));
    }
}
