//! The passfile, `~/.pgpass`: lines of `host:port:database:user:password`.

use std::path::Path;

use super::config::Config;
use super::env::{Env, File};
use super::hosts::{HostAddress, is_default_folder};
use super::password::{Password, PasswordSource};

/// Looks up the password of each host without one. Faults of the file become warnings, as in libpq.
pub(super) fn look_up(config: &mut Config, path: &Path, env: &Env) {
    let file = match env.read(path) {
        Ok(None) => return,
        Ok(Some(file)) => file,
        Err(error) => {
            config.warnings.push(format!("could not read password file \"{}\": {error}", path.display()));
            return;
        }
    };
    if let Some(fault) = fault(&file) {
        config.warnings.push(format!("password file \"{}\" {fault}", path.display()));
        return;
    }
    for spec in &mut config.hosts {
        let host = match &spec.host {
            HostAddress::Unix(folder) if is_default_folder(folder) => "localhost".to_owned(),
            HostAddress::Unix(folder) => folder.to_string_lossy().into_owned(),
            HostAddress::Tcp { name, .. } => name.clone(),
        };
        let wanted = [host, spec.port.to_string(), config.dbname.clone(), config.user.clone()];
        spec.password = find(&file.content, &wanted)
            .map(|password| Password::new(password, PasswordSource::Passfile(path.to_owned())));
    }
}

/// Why a passfile must not be used.
fn fault(file: &File) -> Option<&'static str> {
    if !file.plain {
        Some("is not a plain file")
    } else if file.mode & 0o077 != 0 {
        Some("has group or world access; permissions should be u=rw (0600) or less")
    } else {
        None
    }
}

fn find(content: &[u8], wanted: &[String; 4]) -> Option<Vec<u8>> {
    content.split(|&b| b == b'\n').filter(|line| !line.starts_with(b"#")).find_map(|line| {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let rest = wanted.iter().try_fold(line, |rest, value| behind_match(rest, value.as_bytes()))?;
        Some(unescaped_field(rest))
    })
}

/// The rest of `line` if its first field is `*` or equals `value`.
fn behind_match<'a>(line: &'a [u8], value: &[u8]) -> Option<&'a [u8]> {
    if let Some(rest) = line.strip_prefix(b"*:") {
        return Some(rest);
    }
    let mut rest = line;
    for &expected in value {
        let (&first, behind) = rest.split_first()?;
        // A bare colon ends the field; a backslash makes the next byte literal.
        let (byte, behind) = match first {
            b':' => return None,
            b'\\' => behind.split_first().map(|(&byte, behind)| (byte, behind))?,
            byte => (byte, behind),
        };
        if byte != expected {
            return None;
        }
        rest = behind;
    }
    rest.strip_prefix(b":")
}

/// The field at the start of `rest` without its backslashes.
fn unescaped_field(rest: &[u8]) -> Vec<u8> {
    let mut field = Vec::with_capacity(rest.len());
    let mut bytes = rest.iter().copied();
    while let Some(byte) = bytes.next() {
        match byte {
            b':' => break,
            b'\\' => field.push(bytes.next().unwrap_or(byte)),
            _ => field.push(byte),
        }
    }
    field
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn the_first_matching_line_counts() {
        for (file, expected) in [
            ("h:5432:d:u:secret", Some("secret")),
            ("h:5432:d:u:", Some("")),
            ("*:*:*:*:any", Some("any")),
            ("other:*:*:*:no\nh:*:*:*:second\n*:*:*:*:third", Some("second")),
            ("#h:5432:d:u:comment\nh:5432:d:u:line", Some("line")),
            ("h:5432:d:u:windows\r\n", Some("windows")),
            (r"h:5432:d:u:a\:b\\c", Some(r"a:b\c")),
            ("h:5432:d:u:ends:here", Some("ends")),
            (r"\h:54\32:d:u:escaped", Some("escaped")),
            ("h*:5432:d:u:no", None),
            ("h:5432:d:uu:no", None),
            ("h:5432:d:", None),
            ("h:5432:d:u", None),
            ("h:5433:d:u:no", None),
            ("", None),
            ("\\", None),
        ] {
            let wanted = ["h", "5432", "d", "u"].map(str::to_owned);
            assert_eq!(find(file.as_bytes(), &wanted).as_deref(), expected.map(str::as_bytes), "{file:?}");
        }
    }

    #[test]
    fn names_with_colons_and_backslashes_match_when_escaped() {
        let wanted = ["::1", "5432", r"a\b", "*"].map(str::to_owned);
        assert_eq!(find(br"\:\:1:5432:a\\b:\*:x", &wanted).as_deref(), Some(&b"x"[..]));
        assert_eq!(find(br"::1:5432:a\\b:\*:x", &wanted), None);
    }
}
