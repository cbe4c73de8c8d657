//! What the engine says of itself, as figures of a run.

use std::collections::BTreeMap;

use engine::Measured;
use spec::STALLED_S;
use stats::Histogram;

/// What the engine says of itself.
pub(super) fn own_figures(measured: &Measured) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    let own = &measured.own;
    let done = measured.completed();
    let mut add = |name: &str, value: Option<f64>| {
        if let Some(value) = value {
            figures.insert(name.to_owned(), value);
        }
    };
    let cpu_us = (own.user_ns + own.system_ns) as f64 / 1e3;
    add("client_cpu_us_per_tx", (done > 0).then(|| cpu_us / done as f64));
    add("client_cpu_s", Some(cpu_us / 1e6));
    let available_us = measured.elapsed as f64 / 1e3 * f64::from(server::host::cores());
    add("client_cpu_pct", (available_us > 0.0).then(|| 100.0 * cpu_us / available_us));
    add("client_busiest_thread_pct", Some(own.busiest_thread * 100.0));
    let us = |histogram: &Histogram, q| histogram.quantile_ns(q).map(|ns| ns as f64 / 1e3);
    if measured.spin > 0 {
        add("client_spin_us", Some(measured.spin as f64 / 1e3));
        add("client_spun_s", Some(own.spun_ns as f64 / 1e9));
    }
    add("timer_lateness_p50_us", us(&own.timer_lateness, 0.5));
    add("timer_lateness_p99_us", us(&own.timer_lateness, 0.99));
    add("client_turn_p99_us", us(&own.turn, 0.99));
    add("start_lag_p50_us", us(&own.start_lag, 0.5));
    add("start_lag_p99_us", us(&own.start_lag, 0.99));
    add("connect_ms", Some(measured.connecting as f64 / 1e6));
    if own.stalled_ns > 0 {
        add(STALLED_S, Some(own.stalled_ns as f64 / 1e9));
    }
    if own.paused_ns > 0 {
        add("generator_paused_s", Some(own.paused_ns as f64 / 1e9));
    }
    if let Some(time) = &measured.client_time {
        for (name, ns) in [
            ("time_counted_s", time.counted),
            ("time_elsewhere_s", time.elsewhere),
            ("time_nowhere_s", time.nowhere),
            ("time_thinking_s", time.thinking),
            ("time_connecting_s", time.connecting),
            ("time_idle_s", time.idle),
        ] {
            add(name, Some(ns as f64 / 1e9));
        }
    }
    if measured.reconnections > 0 {
        add("reconnections", Some(measured.reconnections as f64));
        add("reconnect_mean_ms", Some(measured.reconnecting as f64 / measured.reconnections as f64 / 1e6));
    }
    if measured.connections_lost > 0 {
        add("connections_lost", Some(measured.connections_lost as f64));
    }
    if !measured.outages.is_empty() {
        let away: i64 = measured.outages.iter().map(spec::Outage::length_ns).sum();
        add("outage_s", Some(away as f64 / 1e9));
    }
    figures
}
