//! Users: their counters, and how late their transactions started.

use engine::EngineResult;
use spec::figures::{self, Counters};
use spec::users::OpenUsers;
use spec::{Reason, Validity};

use super::{Evidence, Finding, lag_bound_us};

/// Counters of sessions; none in other loads.
pub(super) fn sessions(measured: &EngineResult) -> Counters {
    let mut counts = Counters::default();
    let Some(users) = &measured.users else { return counts };
    counts.extend([
        (figures::SESSIONS_BEGUN, users.begun),
        (figures::SESSIONS_FINISHED, users.finished),
        (figures::SESSIONS_FAILED, users.failed),
        (figures::SESSIONS_CUT, users.cut),
    ]);
    counts.extend(Some((figures::USERS_WAITING, users.waiting)).filter(|(_, waiting)| *waiting > 0));
    counts
}

/// Users who came openly and found no free connection: no time has them in it.
pub(super) fn overloaded(evidence: &Evidence<'_>) -> Finding {
    let measured = evidence.measured;
    let users = measured.users.as_ref().filter(|_| measured.aborts.is_empty())?;
    let open = OpenUsers {
        begun: users.begun,
        waiting: users.waiting,
        connections: evidence.clients.into(),
        seconds: measured.elapsed as f64 / 1e9,
    };
    open.is_overloaded().then(|| (Validity::Suspect, Reason::Overloaded, open.shortfall()))
}

/// Whether users were asked to come and go in the measured part: the load changes with them, and not the machine.
pub(super) fn change_the_load(evidence: &Evidence<'_>) -> bool {
    evidence.user_arrivals.is_some_and(|arrivals| arrivals.changes_load(evidence.clients, evidence.warmup_s))
}

/// Users whose think time was over began much later.
pub(super) fn late(evidence: &Evidence<'_>) -> Finding {
    let lag = &evidence.measured.own.start_lag;
    if evidence.measured.users.is_none() || evidence.limit_s.is_some() {
        return None;
    }
    let (lag_us, bound_us) = (lag.percentile_ns(0.99)? as f64 / 1e3, lag_bound_us(evidence));
    (lag_us > bound_us).then(|| {
        let detail = format!(
            "1 % of the users' transactions started more than {lag_us:.0} µs after their think time ({bound_us:.0} µs are in order)"
        );
        (Validity::Suspect, Reason::ScheduleLate, detail)
    })
}
