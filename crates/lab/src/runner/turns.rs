//! The arms of a pair measured together: each works for a slice while the others are held.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use engine::{NotConnected, Observer, Second, Time};
use protocol::postgres::Place;
use results::Finished;
use server::placement::{Placed, Spread};
use server::{Stop, StopPhase};
use spec::plan::{PlannedRun, TransactionLengths};
use spec::{Doubt, Error, Reason, Run, RunEvent, Slice, Validity, figures};
use workloads::Places;

use super::record::planned;
use super::{
    ExperimentStep, LabEvent, MeasuredRun, ProgressExt, RunSteps, Runner, Stage, clients_of, event,
    not_opened,
};
use crate::collectors::{self, Collector, Watched};
use crate::measure::{
    Arrival, Keep, Measured, MeasuredInTurn, Measurement, Postmasters, Taken, Turns, measure_in_turn,
};
use crate::setup::{At, Setup};
use crate::strategies::Cause;

pub(crate) struct Turn<'a> {
    pub(crate) run: &'a PlannedRun,
    pub(crate) setup: &'a Setup,
    /// Explain a sample of transactions, for at most so long.
    pub(crate) explain: Option<Duration>,
}

struct ReadyTurn<'a> {
    setup: &'a Setup,
    record: Run,
    places: Places,
    /// Where its clients would connect without a pooler, with its own settings; only if it is explained.
    explain_at: Option<(Place, Duration)>,
}

impl Runner<'_> {
    /// Carries out runs in turns, in the order of their first turns. Also returns the lengths of transactions
    /// that decided about slices, if the warm-up came to that.
    pub(crate) fn run_in_turn(
        &mut self,
        turns: &[Turn<'_>],
        how: &Turns,
        keep: Keep<'_>,
    ) -> Result<(Vec<MeasuredRun>, Option<Option<TransactionLengths>>), Error> {
        let mut ready = Vec::with_capacity(turns.len());
        for Turn { run, setup, explain } in turns {
            let mut record = planned(run, setup);
            record.warmup_s = how.warmup.as_secs_f64();
            self.bring_about(setup, RunSteps::FULL, &mut record)?;
            self.with_what_is_known_of(setup, &mut record)?;
            let stage = self.stage(&setup.at())?;
            let (places, explain_at) = (stage.places(), explain.map(|time| (stage.target.place(), time)));
            ready.push(ReadyTurn { setup, record, places, explain_at });
        }
        if ready.iter().any(|turn| turn.record.validity == Validity::Invalid) {
            // Known from the guard; a pair with an invalid run is useless.
            return Ok((self.one_by_one(turns, keep, "an arm is invalid before it begins")?, None));
        }
        let mut measured = self.measure_turns(&ready, how, keep)?;
        if measured.is_none() && self.kept.end_all() {
            // Those of other cells were in the way.
            measured = self.measure_turns(&ready, how, keep)?;
        }
        let Some((measured, taken, cpus)) = measured else {
            let why = "connected at the same time, all arms need more connections than the server takes";
            return Ok((self.one_by_one(turns, keep, why)?, None));
        };
        let mut done = Vec::with_capacity(ready.len());
        for (arm, (mut turn, measured)) in ready.into_iter().zip(measured).enumerate() {
            turn.record.events.extend(cpus.as_deref().map(|cpus| event(RunEvent::SPREAD, by_turns(cpus))));
            if how.keep {
                note_age(&mut turn.record, taken.ages.get(arm).copied().unwrap_or_default());
            }
            done.push(self.conclude_turn(turn, arm, measured, &taken)?);
        }
        Ok((done, taken.lengths))
    }

    fn one_by_one(
        &mut self,
        turns: &[Turn<'_>],
        keep: Keep<'_>,
        why: &str,
    ) -> Result<Vec<MeasuredRun>, Error> {
        let mut all = Vec::with_capacity(turns.len());
        for turn in turns {
            let steps = RunSteps { explain: turn.explain, ..RunSteps::FULL };
            let mut done = self.run(turn.run, turn.setup, steps, keep)?;
            let run = &mut done.finished.run;
            run.events.push(event(RunEvent::UNCUT, format!("{}: {why}", run.workload)));
            all.push(done);
        }
        Ok(all)
    }

    /// The measurements, how the turns went, and the CPUs that processes were spread over, if so; `None` if
    /// the server refuses so many connections.
    fn measure_turns(
        &mut self,
        ready: &[ReadyTurn<'_>],
        how: &Turns,
        keep: Keep<'_>,
    ) -> Result<Option<InTurn>, Error> {
        self.progress.step(ExperimentStep::WarmUp, "clients of all arms connect, then warm up in turn");
        let asked: BTreeSet<String> = ready.iter().map(|turn| turn.setup.asked()).collect();
        let under_test: Option<Vec<_>> = asked.iter().map(|asked| self.under_test(asked)).collect();
        let under_test: Option<Vec<u32>> = under_test.map(|all| all.concat());
        let Self { stages, workloads, progress, stop, kept, .. } = self;
        let mut servers = Servers::of(stages, ready)?;
        let postmasters = servers.postmasters(ready)?;
        let cell: Vec<_> =
            ready.iter().zip(&postmasters).map(|(turn, server)| (&turn.record, *server)).collect();
        let earlier = kept.take(&cell);
        let managed = servers.managed(ready);
        let read_by_arm = Postmasters { by_arm: postmasters.clone(), own: servers.own };
        let placed = servers.place(ready)?;
        let mut tell = |event: LabEvent| progress.event(event);
        let tell: RefCell<&mut dyn FnMut(LabEvent)> = RefCell::new(&mut tell);
        let mut tellers: Vec<Teller<'_, '_>> = ready
            .iter()
            .map(|turn| Teller { tell: &tell, run: &turn.record.uuid, stop, measuring: None })
            .collect();
        let mut watched = servers.watch((ready, &managed), &postmasters, under_test.as_ref())?;
        let carried_out: Vec<_> =
            ready.iter().map(|turn| clients_of(workloads, turn.setup)).collect::<Result<_, _>>()?;
        let loads = ready.iter().zip(carried_out).zip(&mut tellers).zip(&mut watched);
        let loads = loads.map(|(((turn, workload), teller), collectors)| Measurement {
            workload,
            places: &turn.places,
            setup: turn.setup,
            keep,
            observer: teller,
            collectors,
        });
        // Only without a placement.
        let spread = if how.spread { Spread::begin() } else { None };
        let cpus = spread.as_ref().map(|spread| spread.cpus().to_vec());
        let mut arrival = Placing { spread, postmasters: &managed };
        let loads = (loads.collect(), &read_by_arm);
        let result = measure_in_turn(loads, how, cpus.as_deref(), &mut arrival, stop, earlier);
        drop((watched, tellers, placed));
        let MeasuredInTurn { measured, taken, sessions } = match result {
            Ok(measured) => measured,
            Err((_, error)) if is_crowded(&error) => return Ok(None),
            Err((arm, error)) => return Err(self.not_started(&ready[arm].setup.at(), error)),
        };
        kept.keep(&cell, sessions);
        self.progress.step(ExperimentStep::Collect, "counters and verdict");
        Ok(Some((measured, taken, cpus)))
    }

    fn conclude_turn(
        &mut self,
        turn: ReadyTurn<'_>,
        arm: usize,
        mut measured: Measured,
        taken: &Taken,
    ) -> Result<MeasuredRun, Error> {
        let ReadyTurn { setup, mut record, explain_at, .. } = turn;
        let stop = self.stop;
        let stage = self.stage(&setup.at())?;
        let (lost, changed) = stage.afterwards(&mut measured, stop);
        if lost.is_none() {
            self.probe_after(setup, &mut record);
        }
        let server_cpu_s = taken.server_cpu_s.get(arm).copied().flatten();
        measured.figures.extend(server_cpu_s.map(|seconds| (figures::SERVER_CPU_S, seconds)));
        // A run in slices is judged by them.
        record.slices = taken.slices.get(arm).cloned().unwrap_or_default();
        self.judge(setup, &mut record, &mut measured, changed.as_deref());
        note(&mut record, arm, taken);
        if let Some((place, time)) = explain_at.filter(|_| lost.is_none()) {
            self.take_plans(setup, &place, &mut record, time);
        }
        let cause = Cause::of(&record, &measured.engine.aborts);
        let finished = Finished { run: record, seconds: measured.seconds };
        Ok(MeasuredRun { finished, cause, measured: measured.engine, lost })
    }
}

/// The measurements, how the turns went, and the CPUs that processes were spread over.
type InTurn = (Vec<Measured>, Taken, Option<Vec<usize>>);

/// Whether a server refused a client because of its connection limit.
fn is_crowded(error: &Error) -> bool {
    matches!(error.attached(), Some(NotConnected::Refused(abort)) if abort.code.as_deref() == Some("53300"))
}

struct Servers<'s> {
    stages: BTreeMap<At, &'s mut Stage>,
    /// Whether each run has its own server, which that run observes; the load of several on one server
    /// belongs to none of them.
    own: bool,
}

impl<'s> Servers<'s> {
    fn of(all: &'s mut BTreeMap<At, Stage>, ready: &[ReadyTurn<'_>]) -> Result<Self, Error> {
        let asked: BTreeSet<At> = ready.iter().map(|turn| turn.setup.at()).collect();
        let stages: BTreeMap<At, &mut Stage> = all
            .iter_mut()
            .filter(|(at, _)| asked.contains(at))
            .map(|(at, stage)| (at.clone(), stage))
            .collect();
        if stages.len() < asked.len() {
            return Err(not_opened());
        }
        let shared = stages.values().any(|stage| stage.is_shared());
        Ok(Self { own: stages.len() == ready.len() && !shared, stages })
    }

    /// Of each run's server, if it is known to be on this machine.
    fn postmasters(&mut self, ready: &[ReadyTurn<'_>]) -> Result<Vec<Option<u32>>, Error> {
        let mut all = Vec::with_capacity(ready.len());
        for turn in ready {
            let stage = self.stages.get_mut(&turn.setup.at()).ok_or_else(not_opened)?;
            all.push(stage.postmaster()?);
        }
        Ok(all)
    }

    /// The same, if pgdyno owns it.
    fn managed(&self, ready: &[ReadyTurn<'_>]) -> Vec<Option<u32>> {
        ready.iter().map(|turn| self.stages[&turn.setup.at()].target.postmaster()).collect()
    }

    /// Places each server as its runs need; that is the same for all of them.
    fn place(&self, ready: &[ReadyTurn<'_>]) -> Result<Vec<Placed>, Error> {
        let placement =
            |at: &At| ready.iter().find(|turn| turn.setup.at() == *at).map(|turn| &turn.setup.placement);
        self.stages.iter().filter_map(|(at, stage)| Some(stage.place(placement(at)?))).collect()
    }

    fn watch<'w>(
        &'w mut self,
        (ready, managed): (&[ReadyTurn<'_>], &[Option<u32>]),
        postmasters: &[Option<u32>],
        under_test: Option<&Vec<u32>>,
    ) -> Result<Vec<Vec<Box<dyn Collector + 'w>>>, Error> {
        let own = self.own;
        let mut controls = BTreeMap::new();
        for (at, stage) in self.stages.iter_mut().filter(|_| own) {
            controls.insert(at.clone(), stage.control()?);
        }
        let watched = ready.iter().zip(postmasters).zip(managed).map(|((turn, server), managed)| {
            let sql = controls.remove(&turn.setup.at()).map(|control| control as _);
            collectors::all(Watched {
                sql,
                server: server.filter(|_| own),
                managed: managed.is_some(),
                under_test: under_test.cloned(),
                elsewhere: server.is_none(),
                warmup: turn.setup.warmup,
                ..Watched::default()
            })
        });
        Ok(watched.collect())
    }
}

/// Puts the server's processes for each load on CPUs in turns.
struct Placing<'a> {
    spread: Option<Spread>,
    postmasters: &'a [Option<u32>],
}

impl Arrival for Placing<'_> {
    fn connecting(&mut self, load: usize) {
        if let (Some(spread), Some(postmaster)) = (&mut self.spread, self.postmasters[load]) {
            spread.watch(postmaster);
        }
    }

    fn connected(&mut self, load: usize) {
        if let (Some(spread), Some(postmaster)) = (&mut self.spread, self.postmasters[load]) {
            spread.place_new(postmaster);
        }
    }
}

fn by_turns(cpus: &[usize]) -> String {
    let cpus: Vec<String> = cpus.iter().map(ToString::to_string).collect();
    format!(
        "client threads and the server's processes for them by turns on CPUs {}, alike for all arms",
        cpus.join(", ")
    )
}

fn note_age(record: &mut Run, age: Duration) {
    record.figures.set(figures::SESSION_AGE_S, age.as_secs_f64());
    let detail = match age.is_zero() {
        true => "new, and kept for the rounds that follow".to_owned(),
        false => format!("kept from the round before, after {:.1} s at work", age.as_secs_f64()),
    };
    record.events.push(event(RunEvent::SESSIONS, detail));
}

fn note(record: &mut Run, arm: usize, taken: &Taken) {
    if let Some(why) = &taken.uncut {
        record.events.push(event(RunEvent::UNCUT, format!("{}: {why}", record.workload)));
    }
    if let Some(short) = &taken.short {
        record.events.push(event("remark", short.clone()));
    }
    if let Some(hung) = taken.hung {
        let detail = match hung == arm {
            true => {
                "a transaction was not over 10 s after its arm was to be held: the others waited, and were given up"
            }
            false => "it waited for an arm with a transaction that did not end",
        };
        record.validity = Validity::Invalid;
        record.doubts.push(Doubt { reason: Reason::Errors, detail: detail.to_owned() });
    }
    record.slices = taken.slices.get(arm).cloned().unwrap_or_default();
    let slices: &[Slice] = &record.slices;
    if let Some(slice) = slices.first() {
        record.figures.set(figures::SLICE_MS, slice.length_us as f64 / 1e3);
        let (quads, voids) = record.quads();
        record.figures.set(figures::QUADS, quads as f64);
        record.figures.set(figures::VOID_QUADS, voids as f64);
        let slices = crate::words::count(slices.len(), "slice");
        let length = slice.length_us as f64 / 1e3;
        record.events.push(event(
            RunEvent::SLICED,
            format!("{slices} of {length:.0} ms in turn with the other arms, in {quads} quads, {voids} of them void"),
        ));
        if voids == quads {
            let detail = format!(
                "a drain took too long, or the generator stood still, in every one of {quads} quads: none counts; slices = false does without"
            );
            record.validity = Validity::Invalid;
            record.doubts.push(Doubt { reason: Reason::Unsteady, detail });
        }
    }
}

struct Teller<'a, 'p> {
    tell: &'a RefCell<&'p mut (dyn FnMut(LabEvent) + 'p)>,
    run: &'a str,
    stop: &'a Stop,
    /// Once the load has started, the first interrupt lets the runs finish.
    measuring: Option<StopPhase>,
}

impl Observer for Teller<'_, '_> {
    fn loading(&mut self, _connecting: Time) {
        self.measuring = Some(self.stop.measuring());
    }

    fn measuring(&mut self) {
        let what = "what happens from now on counts; the arms take turns".to_owned();
        (self.tell.borrow_mut())(LabEvent::Step { step: ExperimentStep::Measure, what });
    }

    fn second(&mut self, second: &Second) {
        (self.tell.borrow_mut())(LabEvent::second(self.run, second));
    }
}

#[cfg(test)]
mod tests {
    use spec::{RunKey, RunKind};

    use super::*;

    /// A run without a counted slice was valid, and its pair was silently missing.
    #[test]
    fn a_run_whose_quads_are_all_void_is_invalid() {
        let slice = |quad, is_void| Slice {
            quad,
            start_us: 0,
            length_us: 100_000,
            drain_us: 200_000,
            succeeded: 1,
            at_work_us: 3e5,
            steal_pct: None,
            server_cpu_us: None,
            is_void,
        };
        let validity = |voids: [bool; 2]| {
            let key = RunKey { workload: "w".into(), factors: BTreeMap::new(), arm: None, round: 1 };
            let mut run = Run::new(RunKind::Client, key);
            let slices = vec![vec![slice(0, voids[0]), slice(1, voids[1])]];
            note(&mut run, 0, &Taken { slices, ..Taken::default() });
            run.validity
        };
        assert_eq!(validity([true, false]), Validity::Valid);
        assert_eq!(validity([true, true]), Validity::Invalid);
    }
}
