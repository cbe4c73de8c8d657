//! Crashes of server processes, as the server's log reports them.

/// A process of a server that ended by a signal: the server then ends all sessions and recovers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerCrash {
    pub signal: u32,
    /// The server's own lines, oldest first, without the statement.
    pub lines: Vec<String>,
    /// What the process worked on, if the log tells.
    pub statement: Option<FailedStatement>,
}

/// The statement of a process that crashed; it may hold secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedStatement {
    /// The line before it: `DETAIL:  Failed process was running:`.
    pub head: String,
    pub text: String,
}

/// The word before or behind the number of a signal, in the languages of PostgreSQL's messages.
const SIGNAL: [&str; 12] = [
    "signal",
    "señal",
    "segnale",
    "sinal",
    "sinyal",
    "sygnał",
    "сигнал",
    "シグナル",
    "信号",
    "信號",
    "시그널",
    "სიგნალ",
];
/// Signs of why a process aborted itself: a failed assertion, and an error that ends the server.
const REASONS: [&str; 2] = ["TRAP: ", "PANIC:  "];
/// Lines before the end of a process in which its reason is looked for.
const BEFORE: usize = 200;
/// Printed when a server takes connections, again after a crash too.
const READY: &str = "ready to accept connections";

/// The first crash of a log.
pub(super) fn first_crash(log: &str) -> Option<ServerCrash> {
    let lines: Vec<&str> = log.lines().collect();
    let (at, signal) = lines.iter().enumerate().find_map(|(at, line)| Some((at, signal_of(line)?)))?;
    let before = &lines[at.saturating_sub(BEFORE)..at];
    let reason = before.iter().rfind(|line| REASONS.iter().any(|sign| line.contains(sign)));
    let shown = reason.into_iter().chain([&lines[at]]).map(|line| line.trim().to_owned());
    Some(ServerCrash { signal, lines: shown.collect(), statement: statement(&lines[at + 1..]) })
}

/// Whether the server of a log recovers from a crash.
pub(super) fn recovers(log: &str) -> bool {
    let last = log.lines().rfind(|line| signal_of(line).is_some() || line.contains(READY));
    last.is_some_and(|line| signal_of(line).is_some())
}

/// The signal that ended a process: `server process (PID 41) was terminated by signal 6: Aborted`. Words depend on the
/// language, numbers do not.
fn signal_of(line: &str) -> Option<u32> {
    let (_, named) = line.split_once("(PID ")?;
    let (pid, said) = named.split_once(')')?;
    if pid.is_empty() || !pid.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let is_named = SIGNAL.iter().any(|word| said.to_lowercase().contains(word));
    let digits = said.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok().filter(|_| is_named)
}

/// The next line's detail, with the lines that go on with it: the server indents these by a tab.
fn statement(after: &[&str]) -> Option<FailedStatement> {
    let (first, more) = after.split_first()?;
    let detail = first.find("DETAIL:  ")? + "DETAIL:  ".len();
    let text = detail + first[detail..].find(": ")? + ": ".len();
    let more = more.iter().take_while(|line| line.starts_with('\t')).map(|line| line.trim());
    let whole: Vec<&str> = std::iter::once(&first[text..]).chain(more).collect();
    Some(FailedStatement { head: first[..text].trim().to_owned(), text: whole.join(" ") })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRASHED: &str = "\
2026-11-27 14:34:39.629 UTC [31317] LOG:  database system is ready to accept connections
2026-11-27 14:34:49.518 UTC [31317] LOG:  server process (PID 31766) was terminated by signal 6: Aborted
2026-11-27 14:34:49.518 UTC [31317] DETAIL:  Failed process was running: SELECT f(1,
\t  'secret');
2026-11-27 14:34:49.518 UTC [31317] LOG:  terminating any other active server processes
";

    #[test]
    fn a_crash_is_read_with_its_statement() {
        let crash = first_crash(CRASHED).unwrap();
        assert_eq!(crash.signal, 6);
        assert_eq!(crash.lines.len(), 1);
        assert!(crash.lines[0].ends_with("was terminated by signal 6: Aborted"), "{crash:?}");
        let statement = crash.statement.unwrap();
        assert!(statement.head.ends_with("DETAIL:  Failed process was running:"), "{statement:?}");
        assert_eq!(statement.text, "SELECT f(1, 'secret');");
    }

    #[test]
    fn the_reason_of_an_abort_is_a_line_too() {
        let trap = "TRAP: failed Assert(\"x > 0\"), File: \"f.c\", Line: 12, PID: 31766\n";
        let panic = "2026-11-27 UTC [31766] PANIC:  corrupted item pointer: 4\n";
        for reason in [trap, panic] {
            let crash = first_crash(&format!("{reason}{CRASHED}")).unwrap();
            assert_eq!(crash.lines[0], reason.trim());
            assert_eq!(crash.lines.len(), 2);
        }
    }

    /// The number is the same in every language; an exit code does not count as a signal.
    #[test]
    fn signals_are_read_in_every_language() {
        for (line, wanted) in [
            ("LOG:  server process (PID 41) was terminated by signal 11: Segmentation fault", Some(11)),
            ("LOG:  checkpointer process (PID 9) was terminated by signal 9: Killed", Some(9)),
            (
                "LOG:  background worker \"parallel worker\" (PID 7) was terminated by signal 6: Aborted",
                Some(6),
            ),
            ("LOG:  client backend (PID 7) was terminated by signal 7: Bus error", Some(7)),
            ("LOG:  Serverprozess (PID 41) wurde von Signal 11 beendet: Segmentation fault", Some(11)),
            ("LOG:  processus serveur (PID 41) a été arrêté par le signal 6 : Aborted", Some(6)),
            ("LOG:  proceso de servidor (PID 41) fue terminado por una señal 6: Aborted", Some(6)),
            ("LOG:  процесс сервера (PID 41) был завершён по сигналу 6: Aborted", Some(6)),
            ("LOG:  サーバプロセス (PID 41)はシグナル11で終了しました: Segmentation fault", Some(11)),
            ("LOG:  服务器进程 (PID 41) 被信号 6 终止: Aborted", Some(6)),
            ("LOG:  server process (PID 41) exited with exit code 1", None),
            (
                "LOG:  background worker \"logical replication launcher\" (PID 25456) exited with exit code 1",
                None,
            ),
            ("LOG:  archive command was terminated by signal 9: Killed", None),
            ("ERROR:  (PID x) signal 6", None),
            ("LOG:  received fast shutdown request", None),
        ] {
            assert_eq!(signal_of(line), wanted, "{line}");
        }
    }

    #[test]
    fn a_server_recovers_until_it_is_ready_again() {
        assert!(recovers(CRASHED));
        let ready = "LOG:  database system is ready to accept connections\n";
        assert!(!recovers(&format!("{CRASHED}{ready}")));
        assert!(!recovers(ready) && !recovers(""));
    }
}
