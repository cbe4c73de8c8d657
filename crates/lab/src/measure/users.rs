//! The engine's users for a setup.

use std::collections::BTreeMap;
use std::sync::Arc;

use engine::{Pause, Second, SessionStep, Time, UserArrival, Users};
use spec::plan::PlannedUsers;
use spec::users::{PlannedSessions, Think, UserArrivals, UserConnection, Visit};
use spec::{Sample, Scope};

use crate::setup::Setup;

pub(super) fn planned(users: &PlannedUsers, setup: &Setup) -> Users {
    let Some(sessions) = &users.sessions else {
        return Users::pausing(ns(users.think_s), ns(users.ramp_s));
    };
    let visits = sessions.session.visits();
    Users {
        session: visits.iter().map(|visit| step(visit, &sessions.pauses)).collect(),
        arrival: arrival(sessions, setup),
        reconnect: sessions.connection == UserConnection::Session,
    }
}

/// Active users and transactions in flight at the end of a second, which ends a step of the series at `ended_us`.
pub(super) fn samples(second: &Second, ended_us: i64) -> [Sample; 2] {
    let sample = |name: &str, value: u32| Sample {
        scope: Scope::Run,
        source: "users".to_owned(),
        name: name.to_owned(),
        time_us: ended_us,
        value: f64::from(value),
    };
    [sample("active_users", second.active_users), sample("in_flight", second.in_flight)]
}

fn step(visit: &Visit, files: &BTreeMap<String, Vec<f64>>) -> SessionStep {
    let pause = |think: &Think| match think {
        Think::Constant(time) => Pause::Constant(ns(time.as_secs_f64())),
        Think::Exponential { mean } => Pause::Exponential { mean: mean.as_secs_f64() * 1e9 },
        Think::LogNormal { sigma, .. } => Pause::LogNormal { median: think.median_s() * 1e9, sigma: *sigma },
        Think::Observed { file } => {
            let pauses: Arc<[Time]> = files.get(file).into_iter().flatten().map(|pause| ns(*pause)).collect();
            Pause::Observed(pauses)
        }
    };
    SessionStep { script: Some(visit.step as u16), pauses: visit.pauses.iter().map(pause).collect() }
}

fn arrival(sessions: &PlannedSessions, setup: &Setup) -> UserArrival {
    let users = setup.clients as usize;
    match &sessions.arrivals {
        // Users who begin together stay together where their think times are alike.
        UserArrivals::Spread => {
            let [within, after] = sessions.mean_think_s();
            let over_s = setup.warmup.as_secs_f64().min(within + after);
            UserArrival::Apart(ns(over_s / users.max(1) as f64))
        }
        UserArrivals::Together => UserArrival::Apart(0),
        UserArrivals::Apart(apart) => UserArrival::Apart(ns(apart.as_secs_f64())),
        shape @ (UserArrivals::UpHoldDown { .. } | UserArrivals::Share(_)) => {
            UserArrival::Share { shape: shape.clone(), users }
        }
        open @ UserArrivals::Open { .. } => UserArrival::Open(open.open_per_s().unwrap_or(1.0.into())),
    }
}

fn ns(seconds: f64) -> Time {
    (seconds * 1e9).round() as Time
}
