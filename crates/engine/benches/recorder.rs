//! What the loop and its recorder cost per transaction, with all that can be recorded switched on in turn: the same
//! simulated transactions each time, so the difference between two lines is the price of what was switched on.

#[path = "../tests/support/mod.rs"]
mod support;

use divan::Bencher;
use divan::counter::ItemsCount;
use engine::sim::simulate;
use engine::{Client, RunPlan, StopFlag, Until};
use support::server::Simple;
use support::{Asker, MS, SECOND, plan};

const CLIENTS: u64 = 10;
/// Transactions of each client.
const EACH: u64 = 1000;

fn main() {
    divan::main();
}

fn clients(statement: Option<u16>) -> Vec<Box<dyn Client>> {
    (0..CLIENTS).map(|_| Asker { statement, ..Asker::simulated() }.boxed()).collect()
}

/// Runs the transactions against a server that takes `delay` ns for each.
fn simulated(bencher: Bencher<'_, '_>, plan: &RunPlan, statement: Option<u16>, delay: u64) {
    let Until::PerClient(each) = plan.until else { unreachable!("the transactions are counted") };
    bencher.counter(ItemsCount::new(CLIENTS * each)).bench_local(|| {
        simulate(plan, clients(statement), &mut Simple::new(delay), &mut (), &StopFlag::new()).expect("a run")
    });
}

fn counted() -> RunPlan {
    RunPlan { until: Until::PerClient(EACH), ..plan() }
}

#[divan::bench(sample_count = 30)]
fn latencies(bencher: Bencher<'_, '_>) {
    simulated(bencher, &counted(), None, MS);
}

#[divan::bench(sample_count = 30)]
fn latencies_against_a_promise(bencher: Bencher<'_, '_>) {
    simulated(bencher, &RunPlan { promise: Some(MS / 2), ..counted() }, None, MS);
}

#[divan::bench(sample_count = 30)]
fn statements(bencher: Bencher<'_, '_>) {
    simulated(bencher, &RunPlan { statements: 1, ..counted() }, Some(0), MS);
}

#[divan::bench(sample_count = 30)]
fn every_transaction(bencher: Bencher<'_, '_>) {
    simulated(bencher, &RunPlan { transactions: true, ..counted() }, None, MS);
}

/// Ten transactions a second: mostly seconds are handed over, merged and emptied.
#[divan::bench(sample_count = 30)]
fn seconds(bencher: Bencher<'_, '_>) {
    simulated(bencher, &RunPlan { until: Until::PerClient(100), ..plan() }, None, SECOND);
}
