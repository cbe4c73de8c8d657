//! When a free client starts its next transaction.

use std::collections::VecDeque;

use super::schedule::Schedule;
use super::users::{UserArrival, Users};
use super::{GapDistribution, Load, Rate, RunPlan, Timeline};
use crate::client::Time;

pub(crate) enum Pace {
    Closed,
    Users(UsersPace),
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
            Load::Users(users) => Self::Users(UsersPace {
                users: users.clone(),
                open: matches!(users.arrival, UserArrival::Open(_)).then(|| OpenPace::new(clients, None)),
            }),
            Load::Rate(_) => Self::Open(OpenPace::new(clients, plan.promise.filter(|_| plan.skip_late))),
        }
    }

    /// Arrivals on a schedule, of transactions or of users.
    pub(crate) fn open(&self) -> Option<&OpenPace> {
        match self {
            Self::Open(open) => Some(open),
            Self::Users(users) => users.open.as_ref(),
            Self::Closed => None,
        }
    }

    /// As [`Self::open`].
    pub(crate) fn open_mut(&mut self) -> Option<&mut OpenPace> {
        match self {
            Self::Open(open) => Some(open),
            Self::Users(users) => users.open.as_mut(),
            Self::Closed => None,
        }
    }
}

impl OpenPace {
    fn new(clients: usize, skip_after: Option<Time>) -> Self {
        Self { schedule: None, free: VecDeque::with_capacity(clients), skip_after }
    }

    pub(crate) fn begin(&mut self, plan: &RunPlan, (thread, threads): (usize, usize), start: Time) {
        let of_users;
        let rate = match &plan.load {
            Load::Rate(rate) => rate,
            Load::Users(users) => {
                let UserArrival::Open(profile) = &users.arrival else { return };
                let (profile, arrivals) = (profile.clone(), GapDistribution::Poisson);
                of_users = Rate { profile, arrivals, timeline: Timeline::Global };
                &of_users
            }
            Load::Closed => return,
        };
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

/// A thread's users.
pub(crate) struct UsersPace {
    pub(crate) users: Users,
    /// Users who come to a free client, if they do.
    pub(crate) open: Option<OpenPace>,
}

impl UsersPace {
    /// When a user whose next session is due at `due` may begin it; times on the clock of the run. `None` if never.
    pub(crate) fn present(&self, user: usize, due: Time, measured: Time) -> Option<Time> {
        let UserArrival::Share { shape, users } = &self.users.arrival else { return Some(due) };
        // In the middle of its step, so that a shape that ends at all users lets all of them in.
        let share = (user as f64 + 0.5) / (*users).max(1) as f64;
        let from = due.saturating_sub(measured) as f64 / 1e9;
        let at = shape.present_from(share, from)?;
        Some(if at <= from { due } else { measured.saturating_add((at * 1e9).round() as Time) })
    }
}
