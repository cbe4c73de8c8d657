//! The text of a crash.

use server::managed::ServerCrash;
use workloads::without_literals;

/// The server's lines with the statement; its literals may be secrets.
pub(crate) fn lines(crash: &ServerCrash) -> Vec<String> {
    let statement = crash.statement.iter().map(|own| format!("{} {}", own.head, without_literals(&own.text)));
    crash.lines.iter().cloned().chain(statement).collect()
}

#[cfg(test)]
mod tests {
    use server::managed::FailedStatement;

    use super::*;

    #[test]
    fn a_statement_is_shown_without_its_literals() {
        let text = "SELECT login('ann', 'secret') WHERE id = 4711 AND note = 'cut o".to_owned();
        let statement = FailedStatement { head: "DETAIL:  Failed process was running:".to_owned(), text };
        let crash =
            ServerCrash { signal: 11, lines: vec!["LOG:  ended".to_owned()], statement: Some(statement) };
        let shown = lines(&crash);
        assert_eq!(shown.len(), 2);
        assert!(shown[1].starts_with("DETAIL:  Failed process was running: SELECT login("), "{shown:?}");
        for secret in ["ann", "secret", "4711", "cut"] {
            assert!(!shown[1].contains(secret), "{shown:?}");
        }
    }
}
