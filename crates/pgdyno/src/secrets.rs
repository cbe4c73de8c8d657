//! Passwords that this process was given: arguments and variables that hold one are never quoted, whatever a message is
//! about. Messages are made without passwords; this is for a connection string in the place of a file, a number, a name.

use std::borrow::Cow;
use std::sync::OnceLock;

use protocol::postgres::Env;
use protocol::postgres::conninfo::{Shown, describes_connection, may_hold_password, sql_may_hold_password};

use crate::options::AGAINST;

/// What stands in place of what is not shown.
const HIDDEN: &str = "(hidden: it may hold a password)";

/// Shorter passwords are not looked for by themselves.
const SHORTEST: usize = 3;

/// Shorter ones only where they are words of their own: they are parts of other words.
const SHORTEST_INSIDE: usize = 4;

/// Variables that may hold a password, or a connection string with one.
fn is_telling(name: &str) -> bool {
    name.starts_with("PG") || name.starts_with("REDIS") || name.ends_with("_URL") || name.ends_with("_DSN")
}

/// A text without the passwords of this process.
pub(crate) fn covered(text: &str) -> Cow<'_, str> {
    static KNOWN: OnceLock<Vec<String>> = OnceLock::new();
    let arguments = || std::env::args_os().skip(1).map(lossy).collect::<Vec<_>>();
    cover(text, KNOWN.get_or_init(|| known(&arguments(), variables())))
}

/// Whether a password stands among the arguments.
pub(crate) fn among_arguments() -> bool {
    std::env::args_os().skip(1).map(lossy).any(|argument| holds_password(&argument))
}

fn lossy(text: std::ffi::OsString) -> String {
    text.to_string_lossy().into_owned()
}

fn variables() -> impl Iterator<Item = (String, String)> {
    let variables = std::env::vars_os().map(|(name, value)| (lossy(name), lossy(value)));
    variables.filter(|(name, _)| is_telling(name))
}

/// Whether a text may hold a password: it looks like a connection, and is not one that is understood whole and has none.
pub(crate) fn is_telling_text(text: &str) -> bool {
    let without_password = || {
        let shown = Shown::of(text, &Env::empty().with_user("somebody"));
        shown.dsn.is_some() && shown.text == text.trim()
    };
    (may_hold_password(text) || describes_connection(text)) && !without_password()
}

/// An argument with the option that it is given to, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Argument<'a> {
    /// `--NAME=`, where both are one argument.
    pub(crate) option: &'a str,
    /// What `--against` is about, without its colon: that is part of no connection string.
    pub(crate) kind: Option<&'a str>,
    pub(crate) value: &'a str,
    is_sql: bool,
}

impl<'a> Argument<'a> {
    /// Of an argument and the one before it.
    pub(crate) fn of(before: Option<&str>, argument: &'a str) -> Self {
        let at = argument.find('=').filter(|_| argument.starts_with("--")).map_or(0, |at| at + 1);
        let (option, value) = argument.split_at(at);
        let name = if option.is_empty() { before.unwrap_or_default() } else { option.trim_end_matches('=') };
        Self { option, ..Self::of_option(name, value) }
    }

    /// Of the value of an option.
    pub(crate) fn of_option(name: &str, value: &'a str) -> Self {
        let known = |kind: &str| AGAINST.contains(&kind.trim());
        // It may be shortened as long as it is no other one.
        let against = name.len() > "--again".len() && "--against".starts_with(name);
        match value.split_once(':').filter(|(kind, _)| against && known(kind)) {
            Some((kind, value)) => {
                let kind = kind.trim();
                Self { option: "", kind: Some(kind), value: value.trim(), is_sql: kind == "sql" }
            }
            None => Self { option: "", kind: None, value, is_sql: name == "--undo" },
        }
    }

    /// Whether it may hold a password.
    pub(crate) fn is_telling(&self) -> bool {
        if self.is_sql { sql_may_hold_password(self.value) } else { is_telling_text(self.value) }
    }
}

/// What must not be shown: whole texts first, then the passwords in them.
fn known(arguments: &[String], variables: impl Iterator<Item = (String, String)>) -> Vec<String> {
    let mut whole = Vec::new();
    let mut parts = Vec::new();
    let before = std::iter::once(None).chain(arguments.iter().map(|argument| Some(argument.as_str())));
    for (before, argument) in before.zip(arguments) {
        let argument = Argument::of(before, argument);
        let value = argument.value;
        if argument.is_telling() {
            parts.extend(passwords(value));
            whole.push(value.to_owned());
            whole.extend(as_path(value));
            // Some messages name only what stands before an `=`.
            let name = value.split_once('=').map(|(name, _)| name).filter(|name| may_hold_password(name));
            whole.extend(name.map(str::to_owned));
        }
    }
    for (name, value) in variables {
        if name == "PGPASSWORD" {
            parts.push(value);
        } else if is_telling_text(&value) {
            parts.extend(passwords(&value));
            whole.push(value);
        }
    }
    parts.retain(|part| part.len() >= SHORTEST);
    for list in [&mut whole, &mut parts] {
        list.sort_by_key(|text| std::cmp::Reverse(text.len()));
        list.dedup();
    }
    whole.into_iter().chain(parts).collect()
}

/// What is left of a URI with a password where it was taken for a path: it behind the slashes, and folders above that.
fn as_path(value: &str) -> Vec<String> {
    let behind = value.split_once("//").filter(|_| may_hold_password(value)).map(|(_, rest)| rest);
    let folders = std::iter::successors(behind, |path| path.rsplit_once('/').map(|(folder, _)| folder));
    folders.filter(|folder| folder.len() >= SHORTEST).map(str::to_owned).collect()
}

/// What may be the password in a text, as it is written and decoded.
fn passwords(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let authority = text.split_once("//").map_or(text, |(_, rest)| rest);
    if let Some((user, _)) = authority.rsplit_once('@')
        && let Some((_, password)) = user.split_once([':', '/'])
    {
        found.push(password.to_owned());
        // Or only the first part of it is, where further `@` follow.
        found.extend(password.split_once('@').map(|(first, _)| first.to_owned()));
    } else if let Some((_, behind)) = authority.split_once(':') {
        // The host was forgotten, or it is a port.
        let end = behind.find(['/', '?']).unwrap_or(behind.len());
        let password = &behind[..end];
        found.extend((!password.bytes().all(|byte| byte.is_ascii_digit())).then(|| password.to_owned()));
    }
    let lower = text.to_ascii_lowercase();
    for word in ["password", "passwd", "pass", "pwd"] {
        for (at, _) in lower.match_indices(word) {
            let Some(value) = text.get(at + word.len()..).map(str::trim_start) else { continue };
            // SQL has neither between them.
            let text_of_sql = value.starts_with('\'').then_some(value);
            let Some(value) = value.strip_prefix(['=', ':']).or(text_of_sql) else { continue };
            let value = value.trim_start().trim_start_matches(['\'', '"']);
            let end = value.find(|c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '&' | ';'));
            found.push(value[..end.unwrap_or(value.len())].to_owned());
        }
    }
    let decoded: Vec<_> = found.iter().map(|text| decoded(text)).collect();
    found.extend(decoded);
    found
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let hex = (*first == b'%').then(|| behind.get(..2)).flatten();
        let byte = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn cover<'a>(text: &'a str, known: &[String]) -> Cow<'a, str> {
    let mut shown = Cow::Borrowed(text);
    for secret in known.iter().filter(|secret| !secret.is_empty()) {
        if secret.len() < SHORTEST_INSIDE {
            shown = Cow::Owned(without_word(&shown, secret));
        } else if shown.contains(secret.as_str()) {
            shown = Cow::Owned(shown.replace(secret.as_str(), HIDDEN));
        }
    }
    shown
}

/// Without these characters where they are no part of a longer word.
fn without_word(text: &str, word: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let (mut shown, mut rest, mut before) = (String::new(), text, None);
    while let Some((ahead, behind)) = rest.split_once(word) {
        let last = ahead.chars().next_back().or(before);
        let inside = last.is_some_and(is_part) || behind.chars().next().is_some_and(is_part);
        shown.push_str(ahead);
        shown.push_str(if inside { word } else { HIDDEN });
        before = word.chars().next_back();
        rest = behind;
    }
    shown + rest
}

fn holds_password(argument: &str) -> bool {
    let argument = argument.strip_prefix("url:").map_or(argument, str::trim_start);
    let in_uri = ["postgres://", "postgresql://"].iter().any(|scheme| {
        argument.strip_prefix(scheme).is_some_and(|rest| {
            let authority = rest.split(['/', '?']).next().unwrap_or_default();
            let user = authority.rsplit_once('@').map(|(user, _)| user);
            user.and_then(|user| user.split_once(':')).is_some_and(|(_, password)| !password.is_empty())
                || rest.split(['?', '&']).skip(1).any(|pair| pair.starts_with("password="))
        })
    });
    in_uri || argument.split_whitespace().any(|pair| pair.starts_with("password="))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_seen_where_they_can_stand() {
        let cases = [
            ("postgres://me:geheim@host/db", true),
            ("postgresql://me:geheim@host/db", true),
            ("postgres://me@host/db?password=geheim", true),
            ("host=x password=geheim", true),
            ("url: postgres://me:geheim@host/db", true),
            ("postgres://me@host:5432/db", false),
            ("postgres://me:@host/db", false),
            ("host=x user=me", false),
            ("select 'password=x' from t", false),
            ("plain", false),
        ];
        for (argument, wanted) in cases {
            assert_eq!(holds_password(argument), wanted, "{argument}");
        }
    }

    #[test]
    fn what_was_given_is_not_quoted() {
        let arguments = [
            "run",
            "postgres://u:geh%40eim@h/db",
            "--file=host=h password=zweites x",
            "host=/run/pg user=me dbname=shop",
        ];
        let variables = [("PGPASSWORD".to_owned(), "drittes".to_owned())];
        let known = known(&arguments.map(str::to_owned), variables.into_iter());
        for (text, wanted) in [
            ("cannot read postgres://u:geh%40eim@h/db", "cannot read (hidden: it may hold a password)"),
            ("/x/postgres:/u:geh%40eim@h/db", "/x/postgres:/(hidden: it may hold a password)"),
            ("role geh@eim", "role (hidden: it may hold a password)"),
            ("zweites, drittes", "(hidden: it may hold a password), (hidden: it may hold a password)"),
            ("run h", "run h"),
            // An address without a password was hidden too.
            ("at host=/run/pg user=me dbname=shop", "at host=/run/pg user=me dbname=shop"),
        ] {
            assert_eq!(cover(text, &known), wanted);
        }
    }

    /// Parts of our own words were replaced, and the commands to be typed again with them.
    #[test]
    fn what_is_compared_is_not_taken_for_a_user_and_a_password() {
        let sentences = [
            "\"script: ad.sql@2, b.sql\": arms one and one-x are the same; give --same if A against A is meant",
            "target: host=/run/pgdyno has no weight right after its @",
        ];
        for argument in [
            "script: ad.sql@2, b.sql",
            "script: we@2.sql",
            "script: me@x.sql@1",
            "url: host=/run/pgdyno port=5433",
            "sql: create index i on t ((x::text)) where tags @> 'a'",
            "version: 17, 18",
        ] {
            for arguments in
                [vec!["--against".to_owned(), argument.to_owned()], vec![format!("--against={argument}")]]
            {
                let known = known(&arguments, std::iter::empty());
                assert_eq!(known, Vec::<String>::new(), "{argument}");
                for sentence in sentences {
                    assert_eq!(cover(sentence, &known), sentence);
                }
            }
        }
        // Elsewhere the same may be one.
        assert!(!known(&["url:geheim@h/d".to_owned()], std::iter::empty()).is_empty());
        for argument in [
            "url: postgres://me:geheim@h/d",
            "script: me:geheim@h",
            "sql: alter role r password 'geheim'",
            "host:geheim@h",
            "settings: primary_conninfo='host=h password=geheim'",
        ] {
            let known = known(&["--against".to_owned(), argument.to_owned()], std::iter::empty());
            let shown = cover("role geheim", &known);
            assert_eq!(shown, format!("role {HIDDEN}"), "{argument}");
            assert!(!cover(&format!("--against '{argument}'"), &known).contains("geheim"));
        }
    }

    #[test]
    fn a_short_password_is_no_part_of_other_words() {
        let known = known(&["postgres://me:and@h/d".to_owned()], std::iter::empty());
        for (text, wanted) in [
            ("redundant, sand and", format!("redundant, sand {HIDDEN}")),
            ("and andand and", format!("{HIDDEN} andand {HIDDEN}")),
            ("'and'", format!("'{HIDDEN}'")),
        ] {
            assert_eq!(cover(text, &known), wanted);
        }
    }
}
