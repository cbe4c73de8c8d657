//! A load in parts: together they are the whole.

use crate::support::server::Simple;
use crate::support::{Heard, MS, SECOND, askers, plan, run};
use engine::sim::simulate;
use engine::{
    Client, EngineResult, GapDistribution, Load, LoadPart, Observer, Rate, RunPlan, Second, StopFlag, Time,
    Timeline, TransactionEntry, Until,
};
use spec::{Class, Error};

/// What each client was due to do, in the order of time.
#[derive(Default)]
struct Dues(Vec<(Time, u32)>);

impl Observer for Dues {
    fn transactions(&mut self, _thread: usize, entries: &[TransactionEntry]) {
        self.0.extend(entries.iter().map(|entry| (entry.due, entry.client)));
    }

    fn second(&mut self, _second: &Second) {}
}

const CLIENTS: usize = 10;

fn in_parts(plan: &RunPlan, of: usize) -> (Vec<(Time, u32)>, Vec<EngineResult>) {
    let (mut all, mut measured) = (Dues::default(), Vec::new());
    for number in 0..of {
        let plan = RunPlan { part: LoadPart { number, of }, ..plan.clone() };
        let mut server = Simple::new(3 * MS);
        let done = simulate(&plan, askers(CLIENTS), &mut server, &mut all, &StopFlag::new()).unwrap();
        measured.push(done);
    }
    all.0.sort_unstable();
    (all.0, measured)
}

#[test]
fn parts_together_do_what_the_whole_does() {
    let rate = |arrivals| Load::Rate(Rate { profile: 700.0.into(), arrivals, timeline: Timeline::Global });
    let loads = [Load::Closed, rate(GapDistribution::Poisson), rate(GapDistribution::Uniform)];
    for load in loads {
        for until in [Until::Elapsed(2 * SECOND), Until::PerClient(20)] {
            let plan = RunPlan { load: load.clone(), until, threads: 5, transactions: true, ..plan() };
            let (whole, _) = in_parts(&plan, 1);
            assert!(whole.len() >= 200);
            for of in [2, 3, 5] {
                let (parts, measured) = in_parts(&plan, of);
                match plan.load {
                    // A fixed number goes to clients, and they to parts: what is due last depends on who is free.
                    Load::Rate(_) if matches!(until, Until::PerClient(_)) => {
                        assert_eq!(parts.len(), whole.len())
                    }
                    _ => assert_eq!(parts, whole, "{of} parts of {plan:?}"),
                }
                let done: u64 = measured.iter().map(|part| part.totals().processed()).sum();
                assert_eq!(done, whole.len() as u64);
            }
        }
    }
}

#[test]
fn a_part_without_a_thread_is_refused() {
    for (threads, number, of) in [(2, 0, 3), (4, 4, 4)] {
        let plan = RunPlan { threads, part: LoadPart { number, of }, ..plan() };
        let refused = simulate(&plan, askers(8), &mut Simple::new(MS), &mut (), &StopFlag::new());
        assert!(refused.unwrap_err().to_string().contains(&format!("part {} of {of}", number + 1)));
    }
}

/// Says when all are ready whether the load may start.
struct Meeting {
    heard: Heard,
    answer: Option<Error>,
    asked: u32,
}

impl Observer for Meeting {
    fn ready(&mut self) -> Result<(), Error> {
        self.asked += 1;
        self.answer.take().map_or(Ok(()), Err)
    }

    fn loading(&mut self, connecting: Time) {
        assert_eq!(self.asked, 1, "it is asked before the load starts");
        self.heard.loading(connecting);
    }

    fn second(&mut self, second: &Second) {
        self.heard.second(second);
    }
}

#[test]
fn a_load_starts_when_its_observer_lets_it() {
    let plan = RunPlan { threads: 3, until: Until::Elapsed(SECOND), ..plan() };
    let clients = || -> Vec<Box<dyn Client>> { askers(6) };
    let mut meeting = Meeting { heard: Heard::default(), answer: None, asked: 0 };
    let measured = simulate(&plan, clients(), &mut Simple::new(MS), &mut meeting, &StopFlag::new()).unwrap();
    assert!(meeting.asked == 1 && measured.totals().ok > 0);
    let no = Error::new(Class::Usage, "part 2 did not come");
    let mut meeting = Meeting { heard: Heard::default(), answer: Some(no), asked: 0 };
    let error = simulate(&plan, clients(), &mut Simple::new(MS), &mut meeting, &StopFlag::new()).unwrap_err();
    assert_eq!((error.to_string().as_str(), meeting.asked), ("part 2 did not come", 1));
    assert!(meeting.heard.connecting.is_none() && meeting.heard.seconds.is_empty());
    let (_, heard) = run(&plan, clients(), &mut Simple::new(MS));
    assert!(heard.connecting.is_some());
}
