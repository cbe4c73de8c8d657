//! Detects misplaced passwords, and prefers false positives.
//!
//! A forgotten slash, `@` or quote puts a password into the name of a host or database, and every message
//! with that name would show it. So values that look like credentials are refused on input, and messages
//! never quote what was not understood.

use std::net::Ipv6Addr;

use super::error::ConnInfoError;

/// Whether a value looks like (a piece of) a connection string with a password.
fn may_hold_password(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let plain = lower.replace("%40", "@").replace("%3a", ":").replace("%3d", "=").replace("%2f", "/");
    [lower, plain].iter().any(|text| assigns_password(text) || has_credentials(text) || begins_as_uri(text))
}

/// `…:…@`: a colon, something, and a later `@`; or `…/…@…:`, a common way to write user, password, host and
/// port.
fn has_credentials(text: &str) -> bool {
    let behind = |mark: char, at: usize| {
        text[at + 1..].find(mark).filter(|&length| length > 0).map(|length| at + 1 + length)
    };
    text.find(':').is_some_and(|colon| behind('@', colon).is_some())
        || text.find('/').and_then(|slash| behind('@', slash)).is_some_and(|at| behind(':', at).is_some())
}

/// `password = `, `"passwd": `, `pwd=` and the like.
fn assigns_password(lower: &str) -> bool {
    ["password", "passwd", "passphrase", "passwort", "pass", "pwd", "secret", "token"].iter().any(|word| {
        lower.match_indices(word).any(|(at, _)| {
            let behind = lower[at + word.len()..].trim_start_matches(['"', '\'', '`', '_']).trim_start();
            behind.starts_with(['=', ':'])
        })
    })
}

/// `postgres:…` and `postgresql/…`: a URI, perhaps with a missing character.
fn begins_as_uri(lower: &str) -> bool {
    let text = lower.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\''));
    ["postgresql", "postgres"]
        .iter()
        .any(|scheme| text.strip_prefix(scheme).is_some_and(|rest| rest.starts_with([':', '/'])))
}

/// Refuses a value that looks like credentials.
pub(super) fn check(keyword: &'static str, value: &str) -> Result<(), ConnInfoError> {
    let looks_wrong = match keyword {
        // Passwords, and options that are never shown.
        "password" | "sslpassword" | "application_name" | "fallback_application_name" => false,
        "options" => !value.trim().is_empty() && !value.trim_start().starts_with('-'),
        "host" => !value.split(',').all(is_host),
        "user" => value.contains(':') || may_hold_password(value),
        "dbname" => value.contains("://") || value.starts_with("//") || may_hold_password(value),
        "service" => !value.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ')),
        // Paths, which messages show, and keywords.
        _ => {
            may_hold_password(value)
                || (value.contains(['@', '=', ';']) && !value.starts_with(['/', '.', '~']))
                || value.starts_with("//")
        }
    };
    if looks_wrong { Err(ConnInfoError::Misplaced { keyword }) } else { Ok(()) }
}

/// Refuses an unquoted, unencoded name with characters that separate the parts of a connection string: nobody
/// quotes or percent-encodes by mistake.
pub(super) fn check_bare(keyword: &'static str, value: &str) -> Result<(), ConnInfoError> {
    let looks_wrong = match keyword {
        // Some clouds have user names with `@`.
        "user" => value.contains(PARTING),
        "dbname" => value.contains('@') || value.contains(PARTING),
        _ => false,
    };
    if looks_wrong { Err(ConnInfoError::Misplaced { keyword }) } else { Ok(()) }
}

const PARTING: [char; 4] = [';', '=', '?', '&'];

/// Whether [`check_bare`] takes a value only in quotes.
pub(super) fn needs_quotes(value: &str) -> bool {
    value.contains('@') || value.contains(PARTING)
}

fn is_host(host: &str) -> bool {
    if host.starts_with(['/', '@']) {
        return !host.starts_with("//")
            && !host.trim_start_matches('@').contains('@')
            && !may_hold_password(host);
    }
    let address = host.split('%').next().unwrap_or_default();
    let named = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    host.trim().chars().all(named) || (address.parse::<Ipv6Addr>().is_ok() && !host.contains('@'))
}

/// The server options, with hidden values for settings other than the server's built-in ones, such as an
/// application's keys.
pub(super) fn shown_options(options: &str) -> String {
    let mut shown: Vec<String> = Vec::new();
    for word in words(options) {
        let of_c = shown.last().is_some_and(|last| last == "-c");
        shown.push(shown_option(word, of_c));
    }
    shown.join(" ")
}

/// Replaces a setting that is not shown; harmless if sent to a server.
const HIDDEN: &str = "pgdyno.hidden=yes";

fn shown_option(word: &str, behind_c: bool) -> String {
    let own = |setting: &str| {
        setting.split_once('=').is_some_and(|(name, _)| {
            name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
                && !may_hold_password(setting)
        })
    };
    let setting = word.strip_prefix("--").or_else(|| word.strip_prefix("-c")).unwrap_or(word);
    let dash = match &word[..word.len() - setting.len()] {
        "" if !behind_c => "-c",
        dash => dash,
    };
    if own(setting) || word == "-c" || word == "--" { word.to_owned() } else { format!("{dash}{HIDDEN}") }
}

/// Splits at blanks; a backslash makes the next character part of the word.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut escaped) = (0, false);
    for (at, c) in text.char_indices() {
        if c.is_whitespace() && !escaped {
            words.push(&text[start..at]);
            start = at + c.len_utf8();
        }
        escaped = c == '\\' && !escaped;
    }
    words.push(&text[start..]);
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_connection_strings_are_known() {
        for text in [
            "postgres://u:geheim@h/d",
            "postgresql//u:geheim@h",
            "postgres:/u:geheim@h",
            "POSTGRES://u:geheim@h",
            " 'postgres://h'",
            "u:geheim@h",
            ":geheim@h",
            "u%3Ageheim%40h",
            "u/geheim@h:5432",
            "host=h passwd=geheim",
            "Host=h;Password = geheim",
            "{\"password\": \"geheim\"}",
            "pwd=geheim",
        ] {
            assert!(may_hold_password(text), "{text}");
        }
        for text in [
            "shop",
            "me@there",
            "db.example.org",
            "::1",
            "/var/lib/postgresql/15",
            "password_encryption = 1",
            "a = 5",
            "select-only@3",
            "scripts/a.sql@3",
            "tiles: 5",
            "",
        ] {
            assert!(!may_hold_password(text), "{text}");
        }
    }

    #[test]
    fn hosts_are_names_addresses_and_folders() {
        for host in
            ["", "h", "db-1.example.org", "10.0.0.1", "::1", "fe80::1%eth0", "/run/pg", "@abstract", "dörfli"]
        {
            assert!(is_host(host), "{host}");
        }
        for host in [
            "u:geheim",
            "u:geheim@h",
            "geheim@h",
            "//u:geheim@h",
            "h;password=x",
            "a b",
            "/u:geheim@h",
            "h?x",
        ] {
            assert!(!is_host(host), "{host}");
        }
    }

    #[test]
    fn options_show_only_settings_of_the_server() {
        for (options, wanted) in [
            ("-c jit=off", "-c jit=off"),
            ("-cjit=off --work-mem=4MB", "-cjit=off --work-mem=4MB"),
            ("-c app.key=geheim -c jit=off", "-c pgdyno.hidden=yes -c jit=off"),
            ("-c search_path=a,\\ b", "-c search_path=a,\\ b"),
            ("-c app.key=a\\ geheim", "-c pgdyno.hidden=yes"),
            ("-cgeheim", "-cpgdyno.hidden=yes"),
        ] {
            assert_eq!(shown_options(options), wanted);
            assert_eq!(shown_options(wanted), wanted);
        }
    }
}
