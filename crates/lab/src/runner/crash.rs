//! A crash of a server that pgdyno owns is a result: the run of its arm is invalid and stored, and the server is waited
//! for.

use std::time::{Duration, Instant};

use engine::Abort;
use server::managed::ServerCrash;
use spec::plan::PlannedRun;
use spec::{Class, Doubt, Error, Reason, Run, RunEvent, Validity};

use super::record::planned;
use super::{MeasuredRun, Progress, ProgressExt, Runner, Stage, event};
use crate::crash::lines;
use crate::setup::{At, Setup};

/// Longest time from the end of a session to its line in the server's log.
const LOGGED: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(20);

/// A run with its setup.
#[derive(Clone, Copy)]
pub(crate) struct CrashedRun<'a> {
    pub(crate) run: &'a PlannedRun,
    pub(crate) setup: &'a Setup,
}

impl Runner<'_> {
    /// What was measured together, after a look at the servers. Where one crashed, the runs of the arms that
    /// crashed are invalid for that, and an error that follows from it is none. Waits until the server is back.
    ///
    /// # Errors
    /// The error of the measurement if no server crashed; else a server that does not come back.
    pub(crate) fn with_crashes(
        &mut self,
        runs: &[CrashedRun<'_>],
        measured: Result<Vec<MeasuredRun>, Error>,
    ) -> Result<Vec<MeasuredRun>, Error> {
        let is_suspected = match &measured {
            Err(error) if matches!(error.class(), Class::Interrupted | Class::Internal) => return measured,
            Err(_) => true,
            Ok(done) => done.iter().any(may_have_crashed),
        };
        if self.stop.at_once() {
            return measured;
        }
        let crashes = self.new_crashes(runs, is_suspected);
        if crashes.iter().all(Option::is_none) {
            return measured;
        }
        let mut done = match measured {
            Ok(done) => done,
            Err(_) => runs.iter().map(|of| MeasuredRun::without_a_load(planned(of.run, of.setup))).collect(),
        };
        let was_measured = done.iter().any(|done| done.finished.run.measured_s > 0.0);
        for (at, crash) in crashes.iter().enumerate() {
            let of_same = |other: &usize| runs[*other].setup.at() == runs[at].setup.at();
            let others: Vec<bool> = (0..runs.len())
                .filter(of_same)
                .map(|other| has_crashed(&done[other].measured.aborts))
                .collect();
            // If the clients do not show whose session crashed, all arms of the server are named.
            let is_culprit = has_crashed(&done[at].measured.aborts) || !others.iter().any(|crashed| *crashed);
            match crash {
                Some(crash) if is_culprit => self.tell_crash(&mut done[at], crash),
                Some(_) => mark(
                    &mut done[at],
                    Reason::Errors,
                    "the crash of another arm on this server ended its sessions",
                ),
                None if !was_measured => {
                    mark(&mut done[at], Reason::Errors, "not measured: the server of another arm crashed")
                }
                None => {}
            }
        }
        match self.recover() {
            Ok(()) => Ok(done),
            Err(error) if error.class() == Class::Interrupted => Err(error),
            Err(error) => {
                // What was measured is stored; the next run on that server fails with its error.
                self.progress.warn(format!("a server does not come back after its crash: {error}"));
                Ok(done)
            }
        }
    }

    /// The crash of each run's server, if any. Where one is suspected, its line in the log is waited for.
    fn new_crashes(&mut self, runs: &[CrashedRun<'_>], is_suspected: bool) -> Vec<Option<ServerCrash>> {
        let begun = Instant::now();
        loop {
            let mut of_run = |run: &CrashedRun<'_>| self.stages.get_mut(&run.setup.at())?.new_crash();
            let found: Vec<Option<ServerCrash>> = runs.iter().map(&mut of_run).collect();
            let is_found = found.iter().any(Option::is_some);
            if is_found || !is_suspected || begun.elapsed() > LOGGED {
                return found;
            }
            std::thread::sleep(LOOK);
        }
    }

    /// The server that crashed before an error that may follow from it.
    pub(crate) fn crashed_stage(&mut self, error: &Error) -> Option<&mut Stage> {
        let is_ours = self.stages.values().any(|stage| stage.target.log_path().is_some());
        if error.class() != Class::Unreachable || !is_ours {
            return None;
        }
        let begun = Instant::now();
        let at = loop {
            let mut stages = self.stages.iter_mut();
            let found = stages.find_map(|(at, stage)| stage.new_crash().map(|_| at.clone()));
            if found.is_some() || begun.elapsed() > LOGGED {
                break found?;
            }
            std::thread::sleep(LOOK);
        };
        self.stages.get_mut(&at)
    }

    fn tell_crash(&mut self, done: &mut MeasuredRun, crash: &ServerCrash) {
        let lines = lines(crash);
        mark(done, Reason::Crashed, &format!("signal {}", crash.signal));
        let run = &mut done.finished.run;
        run.events.push(event(RunEvent::CRASH, lines.join("\n")));
        let said = format!("{} crashed in round {} (signal {})", name_of(run), run.round, crash.signal);
        self.progress.warn([vec![said], lines].concat().join("\n"));
    }

    /// Waits until every server that crashed takes connections again, and reports the wait every few seconds.
    pub(crate) fn recover(&mut self) -> Result<(), Error> {
        let Self { stages, progress, .. } = self;
        let mut progress: &mut dyn Progress = &mut **progress;
        for (at, stage) in stages {
            let server = if *at == At::default() { "the server".to_owned() } else { format!("server {at}") };
            stage.recover(&mut |waited: Duration| {
                progress
                    .note(format!("waiting for {server} to recover from its crash, {} s", waited.as_secs()));
            })?;
        }
        Ok(())
    }
}

/// Whether clients were without the server, or ended without an error of a statement.
fn may_have_crashed(done: &MeasuredRun) -> bool {
    let is_of_session = |abort: &Abort| abort.code.as_deref().is_none_or(|code| code.starts_with("57P"));
    done.lost.is_some() || !done.measured.outages.is_empty() || done.measured.aborts.iter().any(is_of_session)
}

/// Whether a client lost its connection while it waited for an answer: other sessions are ended between their
/// transactions, if their arm waited for its turn, or by the server with a code.
fn has_crashed(aborts: &[Abort]) -> bool {
    aborts.iter().any(|abort| abort.lost && !abort.before_start && abort.code.is_none())
}

fn name_of(run: &Run) -> String {
    run.arm.clone().unwrap_or_else(|| format!("the server under {}", run.workload))
}

fn mark(done: &mut MeasuredRun, reason: Reason, detail: &str) {
    let run = &mut done.finished.run;
    run.validity = Validity::Invalid;
    // The others follow from it.
    run.doubts = vec![Doubt { reason, detail: detail.to_owned() }];
    (done.lost, done.cause) = (None, None);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn abort(code: Option<&str>, lost: bool, before_start: bool) -> Abort {
        Abort {
            client: 0,
            code: code.map(str::to_owned),
            lost,
            before_start,
            statement: None,
            causes: Vec::new(),
            message: "the connection is gone".to_owned(),
        }
    }

    /// Both arms of one server lost their sessions, and the wrong one was named.
    #[test]
    fn the_arm_whose_client_waited_for_an_answer_crashed() {
        for (aborts, wanted) in [
            (vec![abort(None, true, false)], true),
            // Its arm waited for its turn.
            (vec![abort(None, true, true)], false),
            (vec![abort(None, true, true), abort(None, true, false)], true),
            // The server ended this session.
            (vec![abort(Some("57P01"), true, false)], false),
            (vec![abort(Some("42P01"), false, false)], false),
            (vec![], false),
        ] {
            assert_eq!(has_crashed(&aborts), wanted, "{aborts:?}");
        }
    }

    #[test]
    fn an_error_of_a_statement_is_not_waited_for_in_the_log() {
        let done = |aborts| {
            let mut done = MeasuredRun::without_a_load(Run::new(spec::RunKind::Client, key()));
            done.measured.aborts = aborts;
            done
        };
        assert!(!may_have_crashed(&done(vec![abort(Some("42P01"), false, false)])));
        assert!(may_have_crashed(&done(vec![abort(Some("57P02"), true, false)])));
        assert!(may_have_crashed(&done(vec![abort(None, true, true)])));
        assert!(!may_have_crashed(&done(vec![])));
    }

    fn key() -> spec::RunKey {
        spec::RunKey { workload: "w".into(), factors: Default::default(), arm: None, round: 1 }
    }
}
