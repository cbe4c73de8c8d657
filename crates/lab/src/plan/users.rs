//! Users of a plan, in words.

use spec::plan::{Plan, PlannedUsers};

use crate::words::count;

/// Lines about users: their session, its think time, and their arrivals; none in other loads.
pub(super) fn words(plan: &Plan) -> Vec<String> {
    let Some(PlannedUsers { sessions: Some(sessions), .. }) = plan.content.measure.load.users() else {
        return Vec::new();
    };
    let visits = sessions.session.visits().len();
    let [within, after] = sessions.mean_think_s();
    let thinking = match within > 0.0 {
        true => format!("{} of think time in it on average", seconds(within)),
        false => "no think time in it".to_owned(),
    };
    let pause = if after > 0.0 { format!(", and {} after it", seconds(after)) } else { String::new() };
    let connection = if sessions.connection.is_kept() { "" } else { "; a connection for each session" };
    let each = sessions
        .sessions
        .map_or(String::new(), |each| format!("; {} of each user", count(each as usize, "session")));
    vec![format!(
        "users: {}; {} a session, {thinking}{pause}; arrivals: {}{connection}{each}",
        sessions.session,
        count(visits, "transaction"),
        sessions.arrivals
    )]
}

/// Sessions of each user, in place of a duration.
pub(super) fn each(plan: &Plan) -> Option<u64> {
    plan.content.measure.load.users()?.sessions.as_ref()?.sessions
}

fn seconds(seconds: f64) -> String {
    if seconds < 1.0 { format!("{:.0} ms", seconds * 1e3) } else { format!("{:.1} s", seconds) }
}
