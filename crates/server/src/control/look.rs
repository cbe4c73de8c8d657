//! Checks over a second connection whether a server, and one process of it, still work. It runs on a separate
//! thread, so that the thread that waits on the first connection sees its answer at once.

use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use protocol::postgres::Place;
use protocol::postgres::sql::Sql;
use spec::Error;

use super::{ConnectFailure, Control, Timeouts};
use crate::stop::Stop;

/// Time between two attempts of one check.
const AGAIN: Duration = Duration::from_secs(1);

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerCheck {
    /// No answer in time; why the last attempt failed.
    NoAnswer(String),
    /// The server answers; nothing more is known.
    Speaks,
    /// The server answers, and has no such process.
    Gone,
    /// The server answers, and reports what its process does.
    Works(ProcessActivity),
}

/// The activity of a server process in `pg_stat_activity`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessActivity {
    /// `active`, `idle` …; unknown where the server does not track it.
    pub(super) state: Option<String>,
    /// E.g. `Lock: relation`.
    pub(super) waits_for: Option<String>,
    /// When it entered this state, formatted by the server.
    pub(super) since: Option<String>,
}

/// Runs one check at a time.
#[derive(Debug, Default)]
pub struct ServerChecker {
    under_way: Option<(Receiver<ServerCheck>, Stop)>,
    /// When the last look ended.
    ended: Option<Instant>,
}

impl ServerChecker {
    /// Whether a check is running.
    pub fn is_busy(&self) -> bool {
        self.under_way.is_some()
    }

    /// When the last check ended.
    pub fn ended(&self) -> Option<Instant> {
        self.ended
    }

    /// Starts a check of the server at `place`, and of its process `pid`, if known.
    pub fn begin(&mut self, place: &Place, pid: Option<u32>, bound: Duration) {
        let (quit, place) = (Stop::new(), place.clone());
        let (sender, seen) = mpsc::channel();
        let timeouts =
            Timeouts { stop: quit.clone(), answer: Some(bound), look_after: None, look_bound: bound };
        let looking = thread::Builder::new().name("look".to_owned()).spawn(move || {
            // The receiver may have given up.
            let _ = sender.send(look(&place, pid, &timeouts));
        });
        // Without a thread nothing is checked; the next check may succeed.
        self.ended = Some(Instant::now());
        self.under_way = looking.is_ok().then_some((seen, quit));
    }

    /// The result of the running check, once it is over.
    pub fn poll(&mut self) -> Option<ServerCheck> {
        let (seen, _) = self.under_way.as_ref()?;
        let seen = match seen.try_recv() {
            Ok(seen) => seen,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => ServerCheck::Speaks,
        };
        (self.under_way, self.ended) = (None, Some(Instant::now()));
        Some(seen)
    }

    /// Abandons the running check.
    pub fn quit(&mut self) {
        if let Some((_, quit)) = self.under_way.take() {
            quit.press();
        }
    }
}

impl Drop for ServerChecker {
    fn drop(&mut self) {
        self.quit();
    }
}

fn look(place: &Place, pid: Option<u32>, timeouts: &Timeouts) -> ServerCheck {
    let (start, bound) = (Instant::now(), timeouts.look_bound);
    loop {
        let left = bound.saturating_sub(start.elapsed());
        let timeouts = Timeouts { answer: Some(left), ..timeouts.clone() };
        let failed = match Control::open_with(place, Some(left), timeouts.clone()) {
            Ok(mut control) => return ask(&mut control, pid),
            Err(error) if is_word_of_server(&error) => return ServerCheck::Speaks,
            Err(error) => error,
        };
        if timeouts.stop.ends_waits() || start.elapsed() + AGAIN >= bound {
            return ServerCheck::NoAnswer(failed.to_string());
        }
        thread::sleep(AGAIN);
    }
}

/// Whether a server refused us with an error message: then it lives.
fn is_word_of_server(error: &Error) -> bool {
    use ConnectFailure::{Io, NoServer, TimedOut, Tls, UnknownHost};
    !error.is_stopped() && !matches!(error.attached(), Some(UnknownHost | NoServer | TimedOut | Tls | Io))
}

fn ask(control: &mut Control, pid: Option<u32>) -> ServerCheck {
    // The login alone needed a working server process.
    let Some(pid) = pid else { return ServerCheck::Speaks };
    let query = format!(
        "SELECT state, wait_event_type || ': ' || wait_event, state_change::text \
         FROM pg_catalog.pg_stat_activity WHERE pid = {pid}"
    );
    match control.rows(&query) {
        Ok(rows) => match rows.into_iter().next() {
            None => ServerCheck::Gone,
            Some(row) => {
                let mut row = row.into_iter();
                let mut next = || row.next().flatten();
                ServerCheck::Works(ProcessActivity { state: next(), waits_for: next(), since: next() })
            }
        },
        // A server that does not show the activity, or has none, still answers.
        Err(error) if error.sqlstate.is_some() => ServerCheck::Speaks,
        Err(_) => {
            ServerCheck::NoAnswer("the server accepted the connection, and then sent nothing".to_owned())
        }
    }
}
