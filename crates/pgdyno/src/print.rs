//! The only place that writes to standard output and standard error.

use std::io::{ErrorKind, IsTerminal, Write};

use owo_colors::OwoColorize;

/// Writes data to standard output. A reader that went away (`| head`) is no error.
pub(crate) fn data(text: &str) -> std::io::Result<()> {
    let mut out = anstream::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        done => done,
    }
}

/// Writes one line of talk to standard error.
pub(crate) fn talk(line: &str) {
    let _ = writeln!(anstream::stderr().lock(), "{line}");
}

/// Writes text to standard error as it is: colours too, which the caller chose.
pub(crate) fn talk_as_is(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

/// A warning.
pub(crate) fn warning(text: &str) {
    talk(&format!("{} {text}", "warning:".yellow().bold()));
}

/// An error, with what to try.
pub(crate) fn error(text: &str, hint: Option<&str>) {
    talk(&format!("{} {text}", "error:".red().bold()));
    if let Some(hint) = hint {
        talk(&format!(" {} {hint}", "try:".cyan().bold()));
    }
}

/// Whether talk goes to a person who sees lines redrawn.
pub(crate) fn is_interactive() -> bool {
    std::io::stderr().is_terminal()
}

/// A password among our own arguments can be read by every user of this machine: say so once.
pub(crate) fn warn_of_secrets() {
    if std::env::args().skip(1).any(|argument| holds_password(&argument)) {
        warning(
            "a password stands among the arguments, where other users of this machine can read it; \
             use PGPASSWORD, a passfile (~/.pgpass) or a service file",
        );
    }
}

fn holds_password(argument: &str) -> bool {
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
    use super::holds_password;

    #[test]
    fn passwords_are_seen_where_they_can_stand() {
        let cases = [
            ("postgres://me:geheim@host/db", true),
            ("postgresql://me:geheim@host/db", true),
            ("postgres://me@host/db?password=geheim", true),
            ("host=x password=geheim", true),
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
}
