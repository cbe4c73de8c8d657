//! Waits for the answer to one request, and checks the server meanwhile.
//!
//! Short requests have a timeout. Long work has none; while it is silent, a second connection checks the
//! server repeatedly. The user ends any wait.

use std::io;
use std::time::{Duration, Instant};

use protocol::postgres::Place;

use super::error::describe;
use super::look::{ProcessActivity, ServerCheck, ServerChecker};
use super::process::Peer;
use super::timeouts::{GRACE, GivenUp, HURRY};
use super::{Canceller, Timeouts};

/// Timeout of the check that explains a missing answer.
const EXPLANATION: Duration = Duration::from_secs(5);
/// How long the first connection may stay silent after a check found its process gone or stopped: its last
/// bytes may be on the way.
const LAST_BYTES: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QueryLength {
    /// Answers are expected fast.
    Short,
    Long,
}

/// The wait for one request.
#[derive(Debug)]
pub(super) struct StallWatch {
    timeouts: Timeouts,
    place: Place,
    peer: Peer,
    /// The server process, if known.
    pid: Option<u32>,
    canceller: Option<Canceller>,
    what: String,
    length: QueryLength,
    start: Instant,
    /// When bytes were last sent or received.
    moved: Instant,
    looker: ServerChecker,
    suspicion: Option<Suspicion>,
    /// Since when the user wants to stop.
    leaving: Option<Instant>,
    over: bool,
}

#[derive(Debug)]
struct Suspicion {
    what: Suspected,
    since: Instant,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Suspected {
    Gone,
    Stopped,
    /// The process reports that it has answered, at this time.
    Answered(Option<String>),
}

impl StallWatch {
    pub(super) fn new(
        timeouts: &Timeouts,
        place: &Place,
        peer: Peer,
        pid: Option<u32>,
        canceller: Option<Canceller>,
        (what, length): (&str, QueryLength),
    ) -> Self {
        let now = Instant::now();
        Self {
            timeouts: timeouts.clone(),
            place: place.clone(),
            peer,
            pid,
            canceller,
            what: spec::short_sql(what),
            length,
            start: now,
            moved: now,
            looker: ServerChecker::default(),
            suspicion: None,
            leaving: None,
            over: false,
        }
    }

    /// Bytes were sent or received.
    pub(super) fn moved(&mut self) {
        self.moved = Instant::now();
        self.suspicion = None;
        if self.length == QueryLength::Long {
            self.looker.quit();
        }
    }

    /// Whether to wait longer.
    ///
    /// # Errors
    /// [`GivenUp`], if not.
    pub(super) fn watch(&mut self) -> io::Result<()> {
        let result = self.check(Instant::now());
        self.over |= result.is_err();
        result
    }

    /// Whether the wait was given up.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    fn check(&mut self, now: Instant) -> io::Result<()> {
        if self.timeouts.stop.ends_waits() {
            return self.leave(now);
        }
        if self.timeouts.stop.at_once() && now - self.moved.max(self.start) >= HURRY {
            return Err(self.silent(&self.waited(now)));
        }
        match self.length {
            QueryLength::Short => self.within_bound(now),
            QueryLength::Long => self.look_after(now),
        }
    }

    /// The user stops: asks the server to cancel, which may still answer.
    fn leave(&mut self, now: Instant) -> io::Result<()> {
        let since = *self.leaving.get_or_insert(now);
        if since == now
            && self.length == QueryLength::Long
            && let Some(canceller) = self.canceller.take()
        {
            let stop = Instant::now() + GRACE;
            // A cancel that does not finish in time continues alone; nothing more can be done here.
            let _ = std::thread::Builder::new()
                .name("cancel".to_owned())
                .spawn(move || drop(canceller.cancel(&|| Instant::now() >= stop)));
        }
        if now - since >= GRACE { Err(GivenUp::Stopped.into()) } else { Ok(()) }
    }

    fn within_bound(&mut self, now: Instant) -> io::Result<()> {
        let Some(bound) = self.timeouts.answer else { return Ok(()) };
        if now - self.start < bound {
            return Ok(());
        }
        if self.timeouts.look_after.is_none() {
            return Err(self.silent(&self.waited(now)));
        }
        if !self.looker.is_busy() {
            self.looker.begin(&self.place, self.pid, EXPLANATION.min(self.timeouts.look_bound));
        }
        match self.looker.poll() {
            None => Ok(()),
            Some(seen) => Err(self.silent(&format!("{}{}", self.waited(now), self.explained(&seen)))),
        }
    }

    fn look_after(&mut self, now: Instant) -> io::Result<()> {
        let Some(after) = self.timeouts.look_after else { return Ok(()) };
        if let Some(seen) = self.looker.poll() {
            self.evaluate(seen, now)?;
        }
        self.act_on_suspicion(now)?;
        let quiet_since = self.looker.ended().map_or(self.moved, |ended| ended.max(self.moved));
        if !self.looker.is_busy() && now - quiet_since >= after {
            self.looker.begin(&self.place, self.pid, self.timeouts.look_bound);
        }
        Ok(())
    }

    fn evaluate(&mut self, seen: ServerCheck, now: Instant) -> io::Result<()> {
        let suspected = match &seen {
            ServerCheck::NoAnswer(_) => {
                return Err(self.silent(&format!("{}{}", self.waited(now), self.explained(&seen))));
            }
            ServerCheck::Speaks => None,
            ServerCheck::Gone => Some(Suspected::Gone),
            ServerCheck::Works(_) if self.is_stopped() => Some(Suspected::Stopped),
            ServerCheck::Works(activity) if activity.is_idle() => {
                Some(Suspected::Answered(activity.since.clone()))
            }
            ServerCheck::Works(_) => None,
        };
        let known = self.suspicion.take().filter(|known| Some(&known.what) == suspected.as_ref());
        self.suspicion = known.or_else(|| suspected.map(|what| Suspicion { what, since: now }));
        Ok(())
    }

    fn act_on_suspicion(&mut self, now: Instant) -> io::Result<()> {
        let Some(Suspicion { what, since }) = &self.suspicion else { return Ok(()) };
        let (delay, words) = match what {
            Suspected::Gone => (LAST_BYTES, GONE),
            Suspected::Stopped if !self.is_stopped() => {
                self.suspicion = None;
                return Ok(());
            }
            Suspected::Stopped => (LAST_BYTES, STOPPED),
            Suspected::Answered(_) => (self.timeouts.look_bound, ANSWERED),
        };
        if now - *since < delay {
            return Ok(());
        }
        let pid = self.pid.unwrap_or_default();
        Err(self.silent(&format!("{}: its process {pid} {words}", self.waited(now))))
    }

    fn is_stopped(&self) -> bool {
        self.pid.is_some_and(|pid| self.peer.is_stopped(pid))
    }

    /// `for 30 s`.
    fn waited(&self, now: Instant) -> String {
        let since = if self.length == QueryLength::Short { self.start } else { self.moved };
        format!("for {:.0} s", (now - since).as_secs_f64())
    }

    fn silent(&self, how: &str) -> io::Error {
        let place = describe(&self.place.address);
        GivenUp::Silent(format!("{place} has not answered {} {how}", self.what)).into()
    }

    /// Explains a missing answer by the result of a check.
    fn explained(&self, seen: &ServerCheck) -> String {
        let pid = self.pid.unwrap_or_default();
        match seen {
            ServerCheck::NoAnswer(why) => format!(
                ", nor a second connection ({why}): the server, or the way to it, hangs; see to it, then try again"
            ),
            ServerCheck::Speaks => "; it answers other connections: see what holds this one up (its log, \
                             pg_stat_activity, a pooler in between), then try again"
                .to_owned(),
            ServerCheck::Gone => format!(": its process {pid} {GONE}"),
            ServerCheck::Works(_) if self.is_stopped() => format!(": its process {pid} {STOPPED}"),
            ServerCheck::Works(activity) => format!(
                "; it answers other connections, and its process {pid} {}: see what holds that up \
                 (pg_stat_activity, pg_locks), then try again",
                activity.words()
            ),
        }
    }
}

const GONE: &str = "is gone; see its log, then try again";
const STOPPED: &str = "is stopped (by SIGSTOP or a debugger); let it go on (kill -CONT), then try again";
const ANSWERED: &str = "says that it is done, and nothing of that arrived: the connection is cut somewhere on its way; \
                        see to the network, then try again";

impl ProcessActivity {
    fn is_idle(&self) -> bool {
        self.state.as_deref().is_some_and(|state| state.starts_with("idle"))
    }

    /// `is active, waiting for Lock: relation`.
    fn words(&self) -> String {
        let state = self.state.as_deref().unwrap_or("there");
        match &self.waits_for {
            Some(event) => format!("is {state}, waiting for {event}"),
            None => format!("is {state}"),
        }
    }
}
