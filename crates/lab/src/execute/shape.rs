//! Plain data turned into the forms that the engine, the program and the results file take.

use std::time::Duration;

use record::{Arm, Arrivals, Experiment, Promise, Run};

use super::event::LabEvent;
use crate::experiment::{ExperimentFile, shown_value, without_secrets};
use crate::plan::{Plan, PlannedLoad, PlannedRun};

/// How long transactions that are open at the end of a run may take before they count as unfinished.
const DRAIN_S: f64 = 10.0;
/// How long connecting and setting up all clients may take.
const CONNECT_S: f64 = 60.0;

/// The middle value, the upper one of two.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

fn nanoseconds(seconds: f64) -> engine::Time {
    (seconds * 1e9) as engine::Time
}

/// What the engine is asked to do for a run.
pub(super) fn engine_plan(plan: &Plan, run: &PlannedRun, scripts: usize) -> engine::Plan {
    let content = &plan.content;
    let load = match (run.rate, content.load) {
        (Some(per_second), _) => engine::Load::Rate(engine::Rate {
            per_second,
            arrivals: engine::Arrivals::Poisson,
            timeline: engine::Timeline::Global,
        }),
        (None, PlannedLoad::Users { think_s, ramp_s }) => {
            engine::Load::Users { think: nanoseconds(think_s), ramp: nanoseconds(ramp_s) }
        }
        (None, _) => engine::Load::Closed,
    };
    engine::Plan {
        threads: run.threads as usize,
        driver: engine::DriverChoice::Auto,
        load,
        warmup: nanoseconds(content.warmup_s),
        until: engine::Until::Elapsed(nanoseconds(content.duration_s)),
        limit: content.limit_s.map(nanoseconds),
        skip_late: content.limit_s.is_some(),
        drain: nanoseconds(DRAIN_S),
        count_drained: false,
        transactions: false,
        gaps: None,
        connect_timeout: nanoseconds(CONNECT_S),
        seed: run.seed,
        scripts,
        statements: 0,
    }
}

/// What the program is told of a run that is stored.
pub(super) fn finished(run: &Run, number: usize, planned: usize, what: String, left: Duration) -> LabEvent {
    let mut response = stats::Histogram::new();
    for script in &run.scripts {
        response.add(&script.response);
    }
    let done = ["ok", "late"].iter().filter_map(|name| run.counts.get(*name)).sum::<u64>();
    LabEvent::RunFinished {
        number,
        planned,
        what,
        tps: if run.measured_s > 0.0 { done as f64 / run.measured_s } else { 0.0 },
        latency_mean_ms: response.mean_ns().map(|ns| ns / 1e6),
        latency_p99_ms: response.quantile_ns(0.99).map(|ns| ns as f64 / 1e6),
        arrivals: Arrivals::of(run),
        promise: Promise::of(run),
        validity: run.validity,
        doubts: run.doubts.clone(),
        left,
    }
}

/// The experiment as it is stored.
pub(super) fn experiment(file: &ExperimentFile, plan: &Plan) -> Experiment {
    let compare = plan.content.compare.as_ref();
    let arms = plan.content.arms.iter().filter_map(|arm| {
        Some(Arm {
            name: arm.name.clone()?,
            settings: arm
                .settings
                .iter()
                .map(|(name, value)| (name.clone(), shown_value(value).to_owned()))
                .collect(),
            unsafe_settings: arm.weakens.clone(),
        })
    });
    Experiment {
        hash: plan.hash(),
        name: plan.name.clone(),
        question: plan.question.clone(),
        file_text: file.text.clone(),
        plan_json: without_secrets(&serde_json::to_value(plan).expect("plans are plain data")).to_string(),
        seed: plan.seed,
        order_scheme: plan.content.scheme.name().to_owned(),
        rounds: plan.rounds,
        compare_factor: compare.map(|compare| compare.factor.clone()),
        base: compare.map(|compare| compare.base.clone()),
        arms: arms.collect(),
        margin: compare.map_or(0.03, |compare| compare.margin),
        taste: plan.taste.clone(),
        created_at: jiff::Timestamp::now().to_string(),
    }
}
