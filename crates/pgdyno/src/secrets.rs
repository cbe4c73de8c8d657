//! Passwords that this process was given: arguments and variables that hold one are never quoted, whatever a message is
//! about. Messages are made without passwords; this is for a connection string in the place of a file, a number, a name.

use std::borrow::Cow;
use std::sync::OnceLock;

use protocol::postgres::Env;
use protocol::postgres::conninfo::{Shown, describes_connection, may_hold_password};

/// What stands in place of what is not shown.
const HIDDEN: &str = "(hidden: it may hold a password)";

/// Shorter passwords are not looked for by themselves: they are parts of other words.
const SHORTEST: usize = 3;

/// Variables that may hold a password, or a connection string with one.
fn is_telling(name: &str) -> bool {
    name.starts_with("PG") || name.starts_with("REDIS") || name.ends_with("_URL") || name.ends_with("_DSN")
}

/// A text without the passwords of this process.
pub(crate) fn covered(text: &str) -> Cow<'_, str> {
    static KNOWN: OnceLock<Vec<String>> = OnceLock::new();
    cover(text, KNOWN.get_or_init(|| known(std::env::args_os().skip(1).map(lossy), variables())))
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

/// What must not be shown: whole texts first, then the passwords in them.
fn known(
    arguments: impl Iterator<Item = String>,
    variables: impl Iterator<Item = (String, String)>,
) -> Vec<String> {
    let mut whole = Vec::new();
    let mut parts = Vec::new();
    for argument in arguments {
        // `--url=postgres://…` too.
        let value =
            argument.split_once('=').filter(|(name, _)| name.starts_with("--")).map(|(_, value)| value);
        let value = value.unwrap_or(&argument);
        if is_telling_text(value) {
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
            let Some(value) = value.strip_prefix(['=', ':']) else { continue };
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
        if shown.contains(secret.as_str()) {
            shown = Cow::Owned(shown.replace(secret.as_str(), HIDDEN));
        }
    }
    shown
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
        let known = known(arguments.map(str::to_owned).into_iter(), variables.into_iter());
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
}
