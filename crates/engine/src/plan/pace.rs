//! When a free client starts its next transaction.

use std::collections::VecDeque;

use super::schedule::Schedule;
use super::{Load, RunPlan, Timeline};
use crate::client::Time;

pub(crate) enum Pace {
    Closed,
    Users { think: Time, ramp: Time },
    Open(OpenPace),
}

/// One thread's part of an open load. Arrivals wait in the schedule itself until a client is free.
pub(crate) struct OpenPace {
    schedule: Option<Schedule>,
    /// Free clients, the longest free first; may include clients that are no longer free.
    pub(crate) free: VecDeque<usize>,
    skip_after: Option<Time>,
}

impl Pace {
    pub(crate) fn new(plan: &RunPlan, clients: usize) -> Self {
        match &plan.load {
            Load::Closed => Self::Closed,
            Load::Users { think, ramp } => Self::Users { think: *think, ramp: *ramp },
            Load::Rate(_) => Self::Open(OpenPace {
                schedule: None,
                free: VecDeque::with_capacity(clients),
                skip_after: plan.promise.filter(|_| plan.skip_late),
            }),
        }
    }
}

impl OpenPace {
    pub(crate) fn begin(&mut self, plan: &RunPlan, (thread, threads): (usize, usize), start: Time) {
        let Load::Rate(rate) = &plan.load else { return };
        let schedule = match (rate.timeline, &plan.gaps) {
            (Timeline::PerThread, Some(gaps)) => Schedule::of_gaps((gaps.0)(thread), start),
            _ => Schedule::new(rate, (plan.seed, plan.warmup), (thread, threads), start),
        };
        self.schedule = Some(schedule);
    }

    /// When the next arrival is due; never before the load starts.
    pub(crate) fn peek(&self) -> Time {
        self.schedule.as_ref().map_or(Time::MAX, Schedule::peek)
    }

    pub(crate) fn take(&mut self) -> Time {
        self.schedule.as_mut().map_or(Time::MAX, Schedule::take)
    }

    /// Whether an arrival is too late to start at `now`.
    pub(crate) fn skips(&self, due: Time, now: Time) -> bool {
        self.skip_after.is_some_and(|promise| now.saturating_sub(due) > promise)
    }
}
