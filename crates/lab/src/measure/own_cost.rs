//! The engine's own cost, as figures of a run.

use engine::EngineResult;
use spec::figures::{self, Figure, Figures};
use stats::Histogram;

pub(super) fn own_figures(measured: &EngineResult) -> Figures {
    let mut figures = Figures::default();
    let own = &measured.own;
    let done = measured.completed();
    let mut add = |of: Figure, value: Option<f64>| {
        if let Some(value) = value {
            figures.set(of, value);
        }
    };
    let cpu_us = (own.user_ns + own.system_ns) as f64 / 1e3;
    add(figures::CLIENT_CPU_US_PER_TX, (done > 0).then(|| cpu_us / done as f64));
    add(figures::CLIENT_CPU_S, Some(cpu_us / 1e6));
    let available_us = measured.elapsed as f64 / 1e3 * f64::from(server::host::cores());
    add(figures::CLIENT_CPU_PCT, (available_us > 0.0).then(|| 100.0 * cpu_us / available_us));
    add(figures::CLIENT_BUSIEST_THREAD_PCT, Some(own.busiest_thread * 100.0));
    let us = |histogram: &Histogram, q| histogram.quantile_ns(q).map(|ns| ns as f64 / 1e3);
    if measured.spin > 0 {
        add(figures::CLIENT_SPIN_US, Some(measured.spin as f64 / 1e3));
        add(figures::CLIENT_SPUN_S, Some(own.spun_ns as f64 / 1e9));
    }
    add(figures::TIMER_LATENESS_P50_US, us(&own.timer_lateness, 0.5));
    add(figures::TIMER_LATENESS_P99_US, us(&own.timer_lateness, 0.99));
    add(figures::CLIENT_TURN_P99_US, us(&own.turn, 0.99));
    add(figures::START_LAG_P50_US, us(&own.start_lag, 0.5));
    add(figures::START_LAG_P99_US, us(&own.start_lag, 0.99));
    add(figures::CONNECT_MS, Some(measured.connecting as f64 / 1e6));
    if own.stalled_ns > 0 {
        add(figures::GENERATOR_STALLED_S, Some(own.stalled_ns as f64 / 1e9));
    }
    if own.paused_ns > 0 {
        add(figures::GENERATOR_PAUSED_S, Some(own.paused_ns as f64 / 1e9));
    }
    if let Some(time) = &measured.client_time {
        for (of, ns) in [
            (figures::TIME_COUNTED_S, time.counted),
            (figures::TIME_ELSEWHERE_S, time.elsewhere),
            (figures::TIME_NOWHERE_S, time.nowhere),
            (figures::TIME_THINKING_S, time.thinking),
            (figures::TIME_CONNECTING_S, time.connecting),
            (figures::TIME_IDLE_S, time.idle),
        ] {
            add(of, Some(ns as f64 / 1e9));
        }
    }
    if let Some(users) = &measured.users {
        let mean = |sum: u64| (measured.elapsed > 0).then(|| sum as f64 / measured.elapsed as f64);
        add(figures::ACTIVE_USERS_MEAN, mean(users.in_session));
        add(
            figures::IN_FLIGHT_MEAN,
            measured.client_time.as_ref().and_then(|time| mean(time.counted + time.elsewhere)),
        );
        let think = |sum: u64| (users.thinks > 0).then(|| sum as f64 / users.thinks as f64 / 1e6);
        add(figures::THINK_WANTED_MEAN_MS, think(users.think_wanted));
        add(figures::THINK_ACTUAL_MEAN_MS, think(users.think_actual));
    }
    if measured.reconnections > 0 {
        add(figures::RECONNECTIONS, Some(measured.reconnections as f64));
        add(
            figures::RECONNECT_MEAN_MS,
            Some(measured.reconnecting as f64 / measured.reconnections as f64 / 1e6),
        );
    }
    if measured.connections_lost > 0 {
        add(figures::CONNECTIONS_LOST, Some(measured.connections_lost as f64));
    }
    if !measured.outages.is_empty() {
        let away: i64 = measured.outages.iter().map(spec::Outage::length_ns).sum();
        add(figures::OUTAGE_S, Some(away as f64 / 1e9));
    }
    figures
}
