//! The engine's plan for a setup.

use std::time::Duration;

use engine::{GapDistribution, Rate, RunPlan, Time, Timeline, Until};
use workloads::ClientWorkload;

use super::users;
use crate::setup::{Load, Setup};

pub(super) fn plan(setup: &Setup, workload: &dyn ClientWorkload) -> RunPlan {
    let clients = setup.clients();
    let counting = setup.counting;
    let gaps = setup.rate().filter(|_| counting.own_gaps).and_then(|rate| workload.gaps(rate, clients));
    RunPlan {
        threads: clients.threads,
        part: setup.part,
        cpus: setup.placement.clients.as_ref().map(|cpus| cpus.iter().collect()),
        spin: nanoseconds(setup.spin()),
        driver: setup.driver,
        load: match &setup.load {
            // Jobs have no clients, and do not use the engine.
            Load::Closed | Load::Job => engine::Load::Closed,
            Load::Rate(profile) => engine::Load::Rate(Rate {
                profile: profile.clone(),
                arrivals: GapDistribution::Poisson,
                // pgbench's timelines are defined for a constant rate.
                timeline: if profile.is_constant() { counting.timeline } else { Timeline::Global },
            }),
            Load::Users(users) => engine::Load::Users(users::planned(users, setup)),
        },
        warmup: nanoseconds(setup.warmup),
        until: setup.until,
        promise: setup.promise.map(nanoseconds),
        skip_late: setup.load.profile().is_some() && setup.promise.is_some(),
        drain: nanoseconds(counting.drain),
        count_drained: counting.count_drained,
        transactions: setup.transactions,
        gaps,
        connect_timeout: nanoseconds(counting.connect),
        seed: setup.seed,
        scripts: workload.scripts().len(),
        items: workload.items().len(),
        statements: if setup.statements { workload.statements().len() } else { 0 },
    }
}

/// The same for a load that is held and released; its threads are kept on `cpus` unless it sets its own.
pub(super) fn held(setup: &Setup, workload: &dyn ClientWorkload, cpus: Option<&[usize]>) -> RunPlan {
    let plan = plan(setup, workload);
    // Open transactions end with their slice, which waits for them.
    RunPlan {
        warmup: 0,
        until: Until::Caller,
        drain: 0,
        cpus: plan.cpus.or(cpus.map(<[usize]>::to_vec)),
        ..plan
    }
}

fn nanoseconds(duration: Duration) -> Time {
    duration.as_nanos() as Time
}
