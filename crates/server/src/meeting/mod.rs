//! Where the parts of one load wait for each other: at advisory locks of the server under test, so that they need no
//! other connection.
//!
//! Each part holds a lock of its own number. Part 1 also holds the gate; the others wait for that, in shared mode. When
//! all of them wait, part 1 opens it, and all begin at once. The locks belong to a read-only transaction that has no
//! snapshot: they work on standbys and through transaction poolers, hold back no vacuum, and end with the connection.

mod clock;
mod locks;

use std::thread;
use std::time::{Duration, Instant};

use protocol::postgres::Place;
use protocol::postgres::sql::{Sql, SqlError};
use sha2::{Digest, Sha256};
use spec::{Class, Error};

pub use self::clock::ClockOffset;
use self::clock::now_us;
use self::locks::{GATE, Locks};
use crate::control::Control;
use crate::error::{server_error, sql_error};
use crate::stop::Stop;

/// Between two looks at the locks.
const PAUSE: Duration = Duration::from_millis(20);
/// How long part 1 waits for the others to reach the gate once all are there, and they for it to open.
const AT_THE_GATE: Duration = Duration::from_secs(15);
const CONNECT: Duration = Duration::from_secs(30);

/// Name of an item of an agenda: the run that comes next. Parts that stopped at different runs differ in it, and in
/// [`SEED`], alone.
pub const RUN: &str = "run of it";
/// Name of an item of an agenda: the seed of that run.
pub const SEED: &str = "seed";

/// What must be the same for all parts before they meet, each with its name in messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agenda {
    /// Number of this part, from 1 to `of`.
    pub number: u32,
    pub of: u32,
    /// `("plan", …)`, `("version of pgdyno", …)`, [`RUN`], [`SEED`]; the number of parts is added.
    pub same: Vec<(&'static str, String)>,
    /// How far this part is, below 2^31; all learn the least.
    pub position: Option<u32>,
    /// How long to wait for parts that are not there.
    pub patience: Duration,
}

/// A part that is at the meeting, and stays until this is dropped.
#[derive(Debug)]
pub struct Meeting {
    agenda: Agenda,
    locks: Locks,
    control: Control,
    clock: ClockOffset,
}

/// All parts were there, and may begin.
#[derive(Debug, Clone, PartialEq)]
pub struct Released {
    /// The same for all parts of this meeting, and for no other; 32 hex digits.
    pub meeting: String,
    /// When the gate opened, by the server's clock, µs since 1970: as part 1 saw it, or at most 100 µs earlier.
    pub at_us: i64,
    /// The least position of a part, if they have positions.
    pub position: Option<u32>,
    pub clock: ClockOffset,
}

impl Released {
    /// How long ago that was, µs; its error is that of the clock's offset.
    #[must_use]
    pub fn ago_us(&self) -> f64 {
        now_us() - self.clock.offset_us - self.at_us as f64
    }
}

impl Meeting {
    /// Connects, compares the clocks, and is there from now on.
    ///
    /// # Errors
    /// When the server cannot be reached, or this part is there already.
    pub fn join(place: &Place, agenda: Agenda) -> Result<Self, Error> {
        let mut control = Control::open(place, Some(CONNECT))?;
        let clock = ClockOffset::measure(&mut control).map_err(failed)?;
        let locks = Locks::of(&agenda);
        let mut meeting = Self { agenda, locks, control, clock };
        meeting.take_place()?;
        Ok(meeting)
    }

    fn take_place(&mut self) -> Result<(), Error> {
        // A role's own limits would end the wait.
        let begin = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY; SET LOCAL statement_timeout = 0; \
                     SET LOCAL idle_in_transaction_session_timeout = 0";
        self.control.query(begin).map_err(failed)?;
        let Agenda { number, of, position, .. } = self.agenda;
        // Who is there has said how far it is.
        if let Some(position) = position {
            let (class, object) = self.locks.position(position);
            let share = format!("SELECT pg_catalog.pg_try_advisory_xact_lock_shared({class}, {object})");
            self.control.query(&share).map_err(failed)?;
        }
        if !self.try_lock(self.locks.part(number))? {
            let what = format!("part {number} of {of} is there already: another process measures it");
            let hint = "give each part its own number, and start each once";
            return Err(Error::new(Class::Usage, what).with_hint(hint));
        }
        for key in self.locks.announced() {
            self.try_lock(key)?;
        }
        if number == 1 {
            self.control.query("SAVEPOINT gate").map_err(failed)?;
            // Nobody waits for it before it is held.
            if !self.try_lock(self.locks.part(GATE))? {
                return Err(Error::new(Class::Usage, "another process holds the gate of this load"));
            }
        }
        Ok(())
    }

    fn try_lock(&mut self, (class, object): (u32, u32)) -> Result<bool, Error> {
        let sql = format!("SELECT pg_catalog.pg_try_advisory_xact_lock({class}, {object})");
        Ok(self.control.scalar(&sql).map_err(failed)?.as_deref() == Some("t"))
    }

    /// Waits until all parts are there, and returns once they may begin. `missing` is called when other parts than
    /// before are missing.
    ///
    /// # Errors
    /// When a part does not come in time or leaves, the server ends, or the user stops.
    pub fn wait(&mut self, stop: &Stop, mut missing: impl FnMut(&str)) -> Result<Released, Error> {
        let start = Instant::now();
        let mut told = String::new();
        let (meeting, position) = loop {
            let seen = self.locks.look(&mut self.control).map_err(failed)?;
            let absent = seen.absent();
            if absent.is_empty() {
                break (seen.meeting(), seen.least_position());
            }
            let absent = words(&absent, self.agenda.of);
            if start.elapsed() >= self.agenda.patience {
                return Err(self.did_not_come(&absent, &seen.differing(&self.agenda)));
            }
            pause(stop)?;
            if absent != told {
                missing(&absent);
                told = absent;
            }
        };
        let at_us = if self.agenda.number == 1 { self.open(stop)? } else { self.pass()? };
        Ok(Released { meeting, at_us, position, clock: self.clock })
    }

    /// Opens the gate once all others stand at it.
    fn open(&mut self, stop: &Stop) -> Result<i64, Error> {
        let start = Instant::now();
        loop {
            let seen = self.locks.look(&mut self.control).map_err(failed)?;
            let absent = seen.absent();
            if !absent.is_empty() || start.elapsed() > AT_THE_GATE {
                return Err(left(&match absent.is_empty() {
                    true => "a part is there and does not begin".to_owned(),
                    false => format!("{} left while the others waited", words(&absent, self.agenda.of)),
                }));
            }
            if seen.at_the_gate() + 1 == self.agenda.of as usize {
                break;
            }
            if stop.ends_waits() {
                return Err(stopped());
            }
            thread::sleep(Duration::from_millis(1));
        }
        let opened = self.control.query(&format!("ROLLBACK TO SAVEPOINT gate; {}", clock::SERVER_CLOCK));
        let at_us = clock::of_server(&opened.map_err(failed)?).map_err(failed)?;
        self.try_lock(self.locks.opened(at_us))?;
        Ok(at_us)
    }

    /// Waits at the gate. Returns when part 1 opened it: another session that waits for the same lock can let this part
    /// in later.
    fn pass(&mut self) -> Result<i64, Error> {
        let (class, object) = self.locks.part(GATE);
        let sql = format!(
            "SET LOCAL lock_timeout = {}; SELECT pg_catalog.pg_advisory_xact_lock_shared({class}, {object}); {}",
            AT_THE_GATE.as_millis(),
            clock::SERVER_CLOCK
        );
        let passed = self.control.query_long(&sql).map_err(|error| match error.is("55P03") {
            true => left("part 1 did not let the others begin"),
            false => failed(error),
        })?;
        let passed_us = clock::of_server(&passed).map_err(failed)?;
        let start = Instant::now();
        loop {
            let seen = self.locks.look(&mut self.control).map_err(failed)?;
            if let Some(opened_us) = seen.opened_us(passed_us) {
                return Ok(opened_us);
            }
            // The gate also opens when part 1 dies.
            if !seen.has(1) {
                return Err(left("part 1 left before this part could begin"));
            }
            if start.elapsed() > AT_THE_GATE {
                return Err(left("part 1 did not say when the load begins"));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Leaves a meeting after which no load begins. Part 1 stays until the others know when the gate opened.
    pub fn end(mut self) {
        let start = Instant::now();
        while self.agenda.number == 1 && start.elapsed() < AT_THE_GATE {
            match self.locks.look(&mut self.control) {
                Ok(seen) if seen.has_others() => thread::sleep(Duration::from_millis(1)),
                _ => return,
            }
        }
    }

    fn did_not_come(&self, absent: &str, differing: &[(u32, Vec<&str>)]) -> Error {
        let seconds = self.agenda.patience.as_secs();
        let what = format!("{absent} did not come within {seconds} s");
        let only_the_run = |(_, what): &(u32, Vec<&str>)| {
            what.contains(&RUN) && what.iter().all(|what| [RUN, SEED].contains(what))
        };
        match differing {
            [] => Error::new(Class::Missing, what).with_hint(
                "start all parts, on the same database, within that time; --patience SECONDS waits longer",
            ),
            differing => {
                let hint = match differing.iter().all(only_the_run) {
                    true => {
                        "the parts stopped at different runs: start each of them with a new results file (--results), or \
                         an experiment again (pgdyno run … --again)"
                    }
                    false => {
                        "give all parts the same command, file and version of pgdyno, and the same number of parts"
                    }
                };
                let there = differing.iter().map(|(part, what)| {
                    format!("part {part} is there with another {}", what.join(" and another "))
                });
                let there: Vec<String> = there.collect();
                Error::new(Class::Usage, format!("{what}: {}", there.join("; "))).with_hint(hint)
            }
        }
    }
}

/// `part 2`, `parts 2 and 4`, `parts 2, 3 and 5 more` of so many.
fn words(numbers: &[u32], of: u32) -> String {
    const NAMED: usize = 8;
    let shown: Vec<String> = numbers.iter().take(NAMED).map(ToString::to_string).collect();
    let more = numbers.len() - shown.len();
    let listed = match (shown.split_last(), more) {
        (Some((last, [])), 0) => return format!("part {last} of {of}"),
        (Some((last, others)), 0) => format!("{} and {last}", others.join(", ")),
        _ => format!("{} and {more} more", shown.join(", ")),
    };
    format!("parts {listed} of {of}")
}

fn pause(stop: &Stop) -> Result<(), Error> {
    thread::sleep(PAUSE);
    if stop.ends_waits() { Err(stopped()) } else { Ok(()) }
}

fn stopped() -> Error {
    Error::new(Class::Interrupted, "stopped while waiting for the other parts")
}

fn left(what: &str) -> Error {
    Error::new(Class::Unreachable, what).with_hint("see what ended it, and start all parts again")
}

fn failed(error: SqlError) -> Error {
    match error.sqlstate {
        None => server_error(format!("while parts waited for each other: {error}"), error),
        Some(_) => sql_error("parts wait for each other", error),
    }
}

/// The first bytes of a hash of texts, each with its length.
fn hash<'t>(texts: impl IntoIterator<Item = &'t str>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text.as_bytes());
    }
    hash.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_named() {
        let cases: [(&[u32], &str); 4] = [
            (&[3], "part 3 of 40"),
            (&[2, 3], "parts 2 and 3 of 40"),
            (&[2, 3, 9], "parts 2, 3 and 9 of 40"),
            (&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "parts 1, 2, 3, 4, 5, 6, 7, 8 and 2 more of 40"),
        ];
        for (numbers, wanted) in cases {
            assert_eq!(words(numbers, 40), wanted);
        }
    }
}
