//! What it costs to know when transactions are due: the same simulated transactions in closed load, where nobody has
//! to know, and on each kind of schedule. The difference between two lines is the schedule's share.

#[path = "../tests/support/mod.rs"]
mod support;

use divan::Bencher;
use divan::counter::ItemsCount;
use engine::sim::simulate;
use engine::{GapDistribution, Load, Rate, RunPlan, StopFlag, Timeline, Until};
use support::server::Simple;
use support::{SECOND, askers, plan};

/// Transactions per second, and in all: a second is simulated.
const TRANSACTIONS: u64 = 10_000;
const CLIENTS: usize = 10;
/// How long the simulated server takes in closed load, ns: as many transactions come of it as on the schedules.
const REPLY: u64 = SECOND / TRANSACTIONS * CLIENTS as u64;

fn main() {
    divan::main();
}

fn simulated(bencher: Bencher<'_, '_>, load: Load) {
    let delay = if load == Load::Closed { REPLY } else { 1000 };
    let plan = RunPlan { load, until: Until::Elapsed(SECOND), ..plan() };
    bencher.counter(ItemsCount::new(TRANSACTIONS)).bench_local(|| {
        let mut server = Simple::new(delay);
        simulate(&plan, askers(CLIENTS), &mut server, &mut (), &StopFlag::new()).expect("a run")
    });
}

fn rate(arrivals: GapDistribution, timeline: Timeline) -> Load {
    Load::Rate(Rate { profile: (TRANSACTIONS as f64).into(), arrivals, timeline })
}

#[divan::bench(sample_count = 30)]
fn closed(bencher: Bencher<'_, '_>) {
    simulated(bencher, Load::Closed);
}

#[divan::bench(sample_count = 30)]
fn uniform(bencher: Bencher<'_, '_>) {
    simulated(bencher, rate(GapDistribution::Uniform, Timeline::Global));
}

#[divan::bench(sample_count = 30)]
fn poisson(bencher: Bencher<'_, '_>) {
    simulated(bencher, rate(GapDistribution::Poisson, Timeline::Global));
}

#[divan::bench(sample_count = 30)]
fn poisson_per_thread(bencher: Bencher<'_, '_>) {
    simulated(bencher, rate(GapDistribution::Poisson, Timeline::PerThread));
}

/// Two threads deal one timeline between them: each passes over the other's arrivals.
#[divan::bench(sample_count = 30)]
fn poisson_on_two_threads(bencher: Bencher<'_, '_>) {
    let load = rate(GapDistribution::Poisson, Timeline::Global);
    let plan = RunPlan { load, threads: 2, until: Until::Elapsed(SECOND), ..plan() };
    bencher.counter(ItemsCount::new(TRANSACTIONS)).bench_local(|| {
        simulate(&plan, askers(CLIENTS), &mut Simple::new(1000), &mut (), &StopFlag::new()).expect("a run")
    });
}
