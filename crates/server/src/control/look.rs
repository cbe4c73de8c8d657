//! A second connection that looks whether a server, and one process of it, still work. It looks from a thread of its
//! own, so that whoever waits on the first connection hears its answer at once.

use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use protocol::postgres::Place;
use protocol::postgres::sql::Sql;

use super::{ConnectError, Control, Patience};
use crate::stop::Stop;

/// Time between two attempts of one look.
const AGAIN: Duration = Duration::from_secs(1);

/// What a look saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// Nobody answered in time; why the last attempt failed.
    NoAnswer(String),
    /// The server speaks; more is not known.
    Speaks,
    /// The server answers, and has no such process.
    Gone,
    /// The server answers, and shows what its process does.
    Works(Activity),
}

/// What a server process says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Activity {
    /// `active`, `idle` …; unknown where the server does not track it.
    pub(super) state: Option<String>,
    /// What it waits for, such as `Lock: relation`.
    pub(super) waits_for: Option<String>,
    /// When it came into this state, in the server's words.
    pub(super) since: Option<String>,
}

/// Looks, one at a time.
#[derive(Debug, Default)]
pub struct Looker {
    under_way: Option<(Receiver<Seen>, Stop)>,
    /// When the last look ended.
    ended: Option<Instant>,
}

impl Looker {
    /// Whether a look is under way.
    pub fn is_busy(&self) -> bool {
        self.under_way.is_some()
    }

    /// When the last look ended.
    pub fn ended(&self) -> Option<Instant> {
        self.ended
    }

    /// Begins a look at the server of `place`; at its process `pid`, if that is known.
    pub fn begin(&mut self, place: &Place, pid: Option<u32>, bound: Duration) {
        let (quit, place) = (Stop::new(), place.clone());
        let (sender, seen) = mpsc::channel();
        let patience =
            Patience { stop: quit.clone(), answer: Some(bound), look_after: None, look_bound: bound };
        let looking = thread::Builder::new().name("look".to_owned()).spawn(move || {
            // Whoever does not wait any more needs no answer.
            let _ = sender.send(look(&place, pid, &patience));
        });
        // Without a thread there is no look; the next one may succeed.
        self.ended = Some(Instant::now());
        self.under_way = looking.is_ok().then_some((seen, quit));
    }

    /// What the look under way saw, once it is over.
    pub fn poll(&mut self) -> Option<Seen> {
        let (seen, _) = self.under_way.as_ref()?;
        let seen = match seen.try_recv() {
            Ok(seen) => seen,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => Seen::Speaks,
        };
        (self.under_way, self.ended) = (None, Some(Instant::now()));
        Some(seen)
    }

    /// Gives up the look under way, if there is one.
    pub fn quit(&mut self) {
        if let Some((_, quit)) = self.under_way.take() {
            quit.press();
        }
    }
}

impl Drop for Looker {
    fn drop(&mut self) {
        self.quit();
    }
}

fn look(place: &Place, pid: Option<u32>, patience: &Patience) -> Seen {
    let (start, bound) = (Instant::now(), patience.look_bound);
    loop {
        let left = bound.saturating_sub(start.elapsed());
        let patience = Patience { answer: Some(left), ..patience.clone() };
        let failed = match Control::open_with(place, Some(left), patience.clone()) {
            Ok(mut control) => return ask(&mut control, pid),
            Err(error) if is_word_of_server(&error) => return Seen::Speaks,
            Err(error) => error,
        };
        if patience.stop.ends_waits() || start.elapsed() + AGAIN >= bound {
            return Seen::NoAnswer(failed.to_string());
        }
        thread::sleep(AGAIN);
    }
}

/// Whether a server refused us by its own words: then it lives.
fn is_word_of_server(error: &ConnectError) -> bool {
    !matches!(
        error,
        ConnectError::UnknownHost { .. }
            | ConnectError::Refused { .. }
            | ConnectError::TimedOut { .. }
            | ConnectError::Stopped
            | ConnectError::Tls { .. }
            | ConnectError::Io { .. }
    )
}

fn ask(control: &mut Control, pid: Option<u32>) -> Seen {
    // The login alone took a working server process.
    let Some(pid) = pid else { return Seen::Speaks };
    let query = format!(
        "SELECT state, wait_event_type || ': ' || wait_event, state_change::text \
         FROM pg_catalog.pg_stat_activity WHERE pid = {pid}"
    );
    match control.rows(&query) {
        Ok(rows) => match rows.into_iter().next() {
            None => Seen::Gone,
            Some(row) => {
                let mut row = row.into_iter();
                let mut next = || row.next().flatten();
                Seen::Works(Activity { state: next(), waits_for: next(), since: next() })
            }
        },
        // A server that does not show it, or does not have it, speaks.
        Err(error) if error.sqlstate.is_some() => Seen::Speaks,
        Err(_) => Seen::NoAnswer("it was let in, and then nothing was said".to_owned()),
    }
}
