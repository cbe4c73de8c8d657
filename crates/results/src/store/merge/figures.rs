//! What the figures of the parts of one load come to.

use std::collections::BTreeSet;

use spec::Run;
use spec::figures::{self, Figure, Figures};

/// How the values of the parts become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// Amounts of the generators' own.
    Sum,
    /// Per transaction of the generator: weighted by its transactions, which is exact.
    Mean,
    /// States of the generators and their hosts: the worst one counts.
    Greatest,
    /// Kept only if all kept it.
    Least,
    /// Of the server, which each part saw whole: that of the first part that could read it.
    First,
}

const SUMS: &[Figure] = &[
    figures::CLIENT_CPU_S,
    figures::CLIENT_SPUN_S,
    figures::RECONNECTIONS,
    figures::CONNECTIONS_LOST,
    figures::TIME_COUNTED_S,
    figures::TIME_ELSEWHERE_S,
    figures::TIME_NOWHERE_S,
    figures::TIME_THINKING_S,
    figures::TIME_CONNECTING_S,
    figures::TIME_IDLE_S,
    figures::ACTIVE_USERS_MEAN,
    figures::IN_FLIGHT_MEAN,
    figures::PEAK_PER_S,
];
const MEANS: &[Figure] = &[
    figures::CLIENT_CPU_US_PER_TX,
    figures::RECONNECT_MEAN_MS,
    figures::THINK_WANTED_MEAN_MS,
    figures::THINK_ACTUAL_MEAN_MS,
    figures::HIT_PCT,
    figures::SPEED_CHANGE_PCT,
    figures::PROMISE_BAD_PCT,
    figures::PROMISE_LEFT_PCT,
];
const GREATEST: &[Figure] = &[
    figures::CLIENT_CPU_PCT,
    figures::CLIENT_BUSIEST_THREAD_PCT,
    figures::CLIENT_SPIN_US,
    figures::CLIENT_TURN_P99_US,
    figures::TIMER_LATENESS_P50_US,
    figures::TIMER_LATENESS_P99_US,
    figures::START_LAG_P50_US,
    figures::START_LAG_P99_US,
    figures::CONNECT_MS,
    figures::OUTAGE_S,
    figures::GENERATOR_STALLED_S,
    figures::GENERATOR_PAUSED_S,
    figures::HOST_LAG_P99_US,
    figures::SETUP_S,
    figures::STEAL_PCT,
    figures::IOWAIT_PCT,
    figures::CPU_BUSY_PCT,
    figures::CPU_PRESSURE_PCT,
    figures::CPU_OTHERS_PCT,
    figures::LOAD_1M,
    figures::CLIENT_MOVES_PER_S,
    figures::CLIENTS_LIMIT,
];

fn rule(name: &str) -> Rule {
    let is_in = |list: &[Figure]| list.iter().any(|of| of.name == name);
    match name {
        _ if is_in(SUMS) => Rule::Sum,
        _ if is_in(MEANS) => Rule::Mean,
        _ if is_in(GREATEST) => Rule::Greatest,
        _ if name == figures::PROMISE_KEPT.name => Rule::Least,
        _ => Rule::First,
    }
}

/// The figures of all parts together; runs in order of their parts.
pub(super) fn together(runs: &[&Run]) -> Figures {
    let names: BTreeSet<&str> =
        runs.iter().flat_map(|run| run.figures.iter().map(|(name, _)| name)).collect();
    let of = |name: &str| {
        let values = || runs.iter().filter_map(|run| run.figures.named(name).map(|value| (*run, value)));
        let all = || values().map(|(_, value)| value);
        match rule(name) {
            Rule::Sum => Some(all().sum()),
            Rule::Greatest => all().reduce(f64::max),
            Rule::Least => all().reduce(f64::min),
            Rule::First => all().next(),
            Rule::Mean => {
                let weighted = values().map(|(run, value)| (run.completed() as f64, value));
                let (weight, sum) = weighted
                    .fold((0.0, 0.0), |(all, sum), (weight, value)| (all + weight, sum + weight * value));
                if weight > 0.0 { Some(sum / weight) } else { all().reduce(f64::max) }
            }
        }
    };
    names.into_iter().filter_map(|name| Some((name.to_owned(), of(name)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::run;

    #[test]
    fn figures_of_generators_are_added_and_those_of_the_server_taken_once() {
        let part = |tps, values: &[(Figure, f64)]| Run {
            figures: values.iter().copied().collect(),
            ..run("reads", 2, None, 1, tps)
        };
        let runs = [
            part(100.0, &[(figures::CLIENT_CPU_S, 1.0), (figures::CLIENT_CPU_US_PER_TX, 1e4)]),
            part(
                300.0,
                &[
                    (figures::CLIENT_CPU_S, 6.0),
                    (figures::CLIENT_CPU_US_PER_TX, 2e4),
                    (figures::WAL_BYTES, 8.0),
                    (figures::STEAL_PCT, 3.0),
                    (figures::PROMISE_KEPT, 1.0),
                ],
            ),
            part(0.0, &[(figures::WAL_BYTES, 7.0), (figures::STEAL_PCT, 2.0), (figures::PROMISE_KEPT, 0.0)]),
        ];
        let whole = together(&runs.iter().collect::<Vec<_>>());
        let wanted: Figures = [
            (figures::CLIENT_CPU_S, 7.0),
            // 7 s over 400 transactions.
            (figures::CLIENT_CPU_US_PER_TX, 17_500.0),
            (figures::WAL_BYTES, 8.0),
            (figures::STEAL_PCT, 3.0),
            (figures::PROMISE_KEPT, 0.0),
        ]
        .into();
        assert_eq!(whole, wanted);
    }
}
