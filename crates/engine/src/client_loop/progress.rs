//! How far a run has come in one thread.

use crate::client::Time;
use crate::driver::Cpu;
use crate::plan::{Load, RunPlan, Timeline, Until, Window};

/// Drain time after a stop from outside, ns; less if the plan's is shorter.
const STOP_DRAIN: Time = 500_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunPhase {
    /// Clients connect and prepare; `reported` once all are ready.
    Setup {
        reported: bool,
    },
    Running,
    /// The measured part is over; open transactions may end until then.
    Draining {
        until: Time,
    },
    Over,
}

/// The plan, and how far it is carried out.
pub(super) struct RunProgress {
    pub(super) plan: RunPlan,
    pub(super) phase: RunPhase,
    pub(super) window: Window,
    /// Transactions due later are not started: the end of the run or of the stretch.
    pub(super) takes_until: Time,
    pub(super) connect_deadline: Time,
    /// The end was ordered from outside, as known at the start of the turn.
    pub(super) stopped: bool,
    pub(super) cpu_at_start: Option<Cpu>,
    /// Time spent spinning before the measured part, ns.
    pub(super) spun_at_start: Time,
}

impl RunProgress {
    pub(super) fn new(plan: RunPlan, now: Time) -> Self {
        Self {
            phase: RunPhase::Setup { reported: false },
            window: Window::UNKNOWN,
            takes_until: Time::MAX,
            connect_deadline: now.saturating_add(plan.connect_timeout),
            stopped: false,
            cpu_at_start: None,
            spun_at_start: 0,
            plan,
        }
    }

    pub(super) fn begin(&mut self, load: Time) {
        let warm = load.saturating_add(self.plan.warmup);
        let (measured, end) = match self.plan.until {
            Until::Elapsed(elapsed) => (warm, warm.saturating_add(elapsed)),
            Until::PerClient(_) | Until::PerUser(_) => (warm, Time::MAX),
            Until::Caller => (Time::MAX, Time::MAX),
        };
        self.window = Window { load, measured, end };
        self.takes_until = if self.is_held() { load } else { end };
        self.phase = RunPhase::Running;
    }

    pub(super) fn set_end(&mut self, end: Time) {
        self.window.end = end;
        self.takes_until = self.takes_until.min(end);
    }

    pub(super) fn is_held(&self) -> bool {
        self.plan.until == Until::Caller
    }

    pub(super) fn drain(&mut self) {
        let drain = if self.stopped { self.plan.drain.min(STOP_DRAIN) } else { self.plan.drain };
        self.phase = RunPhase::Draining { until: self.window.end.saturating_add(drain) };
    }

    /// Whether transactions still open at `now` are waited for no longer.
    pub(super) fn has_timed_out(&self, until: Time, now: Time) -> bool {
        now >= until || (self.stopped && now >= self.window.end.saturating_add(STOP_DRAIN))
    }

    /// Whether a transaction due at `due` may be started in the present phase.
    #[inline]
    pub(super) fn starts(&self, due: Time) -> bool {
        due < self.takes_until
            && (self.phase == RunPhase::Running || (self.is_draining() && self.drains_queue()))
    }

    /// Whether arrivals that still wait at the end of the measured part are started in the drain. They belong
    /// to the measured part, and without them the longest waits would be missing. pgbench starts nothing
    /// after the end.
    fn drains_queue(&self) -> bool {
        !self.stopped && matches!(&self.plan.load, Load::Rate(rate) if rate.timeline == Timeline::Global)
    }

    pub(super) fn is_setup(&self) -> bool {
        matches!(self.phase, RunPhase::Setup { .. })
    }

    #[inline]
    pub(super) fn is_draining(&self) -> bool {
        matches!(self.phase, RunPhase::Draining { .. })
    }
}
