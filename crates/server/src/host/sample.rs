//! The machine's counters before and after a run.

use std::fs::read_to_string;
use std::time::Instant;

use spec::figures::{self, Figure, Figures};

use super::cgroup::Quota;
use super::family::ServerCpu;
use super::proc::{CpuTicks, cpu_ticks, pressure_us};

/// Counters at one moment; two of them give a run's figures.
#[derive(Debug, Clone, Copy)]
pub struct HostSample {
    at: Instant,
    cpu: Option<CpuTicks>,
    server: Option<ServerCpu>,
    quota: Option<Quota>,
    pressure_us: Option<u64>,
    load_1m: Option<f64>,
}

impl HostSample {
    /// Reads the counters; `server` is the pid of a local postmaster, counted with its children.
    #[must_use]
    pub fn take(server: Option<u32>) -> Self {
        let load = |text: String| text.split(' ').next()?.parse().ok();
        Self {
            at: Instant::now(),
            cpu: cpu_ticks(),
            server: server.and_then(ServerCpu::take),
            quota: server.and_then(Quota::of_process),
            pressure_us: pressure_us(),
            // procfs reads it as f32, which turns 0.1 into 0.10000000149.
            load_1m: read_to_string("/proc/loadavg").ok().and_then(load),
        }
    }

    /// Of another machine, from its `/proc/stat`, `/proc/pressure/cpu`, and the `cpu.stat` of the server's
    /// control groups. The time is ours.
    #[must_use]
    pub fn read(stat: &str, pressure: &str, cpu_stats: &[&str]) -> Self {
        let some = pressure.lines().find(|line| line.starts_with("some "));
        let total = some.and_then(|line| line.rsplit_once("total=")?.1.trim().parse().ok());
        Self {
            at: Instant::now(),
            cpu: CpuTicks::read(stat),
            server: None,
            quota: Quota::read(cpu_stats),
            pressure_us: total,
            load_1m: None,
        }
    }

    /// CPU time of the server, if it is read.
    #[must_use]
    pub fn server_cpu(&self) -> Option<ServerCpu> {
        self.server
    }

    /// Figures between an earlier sample and this one; what cannot be read is left out.
    #[must_use]
    pub fn figures_since(&self, before: &Self) -> Figures {
        let mut figures = Figures::default();
        let mut add = |of: Figure, value: Option<f64>| {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                figures.set(of, value);
            }
        };
        let share = |part: fn(&CpuTicks) -> u64| {
            let (now, then) = (self.cpu?, before.cpu?);
            let total = now.total.saturating_sub(then.total);
            (total > 0).then(|| 100.0 * part(&now).saturating_sub(part(&then)) as f64 / total as f64)
        };
        add(figures::STEAL_PCT, share(|ticks| ticks.steal));
        add(figures::IOWAIT_PCT, share(|ticks| ticks.iowait));
        add(figures::CPU_BUSY_PCT, share(|ticks| ticks.total.saturating_sub(ticks.idle)));
        let elapsed_us = self.at.saturating_duration_since(before.at).as_micros() as f64;
        let pressure = self.pressure_us.zip(before.pressure_us);
        add(
            figures::CPU_PRESSURE_PCT,
            pressure.map(|(now, then)| 100.0 * now.saturating_sub(then) as f64 / elapsed_us),
        );
        let server = self.server.zip(before.server);
        add(figures::SERVER_CPU_S, server.and_then(|(now, then)| now.seconds_since(then)));
        let quota = self.quota.zip(before.quota);
        add(figures::SERVER_THROTTLED_PCT, quota.and_then(|(now, then)| now.throttled_pct_since(then)));
        add(figures::LOAD_1M, self.load_1m);
        figures
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn figures_are_differences() {
        let at = Instant::now();
        let before = HostSample {
            at,
            cpu: Some(CpuTicks { total: 1000, idle: 500, iowait: 0, steal: 10, programs: 400 }),
            server: None,
            quota: Some(Quota { periods: 50, throttled: 0 }),
            pressure_us: Some(0),
            load_1m: Some(0.1),
        };
        let after = HostSample {
            at: at + Duration::from_secs(1),
            cpu: Some(CpuTicks { total: 1200, idle: 550, iowait: 10, steal: 30, programs: 500 }),
            server: None,
            quota: Some(Quota { periods: 60, throttled: 4 }),
            pressure_us: Some(250_000),
            load_1m: Some(1.5),
        };
        let figures = after.figures_since(&before);
        assert_eq!(figures[figures::STEAL_PCT], 10.0);
        assert_eq!(figures[figures::IOWAIT_PCT], 5.0);
        assert_eq!(figures[figures::CPU_BUSY_PCT], 75.0);
        assert_eq!(figures[figures::CPU_PRESSURE_PCT], 25.0);
        assert_eq!(figures[figures::LOAD_1M], 1.5);
        assert_eq!(figures[figures::SERVER_THROTTLED_PCT], 40.0);
    }

    #[test]
    fn another_machine_is_read_from_its_files() {
        let at = |user, steal, waited, throttled| {
            let stat = format!("cpu  {user} 0 100 700 50 0 0 {steal} 30 0\ncpu0 1 2 3 4\nintr 5\n");
            let pressure = format!("some avg10=0.00 avg60=0.00 avg300=0.00 total={waited}\nfull total=9\n");
            let quota = format!("nr_periods {}\nnr_throttled {throttled}\n", 10 + throttled);
            HostSample::read(&stat, &pressure, &[&quota])
        };
        let (before, after) = (at(100, 0, 0, 0), at(150, 50, 1000, 5));
        let figures = after.figures_since(&before);
        assert_eq!((figures[figures::STEAL_PCT], figures[figures::CPU_BUSY_PCT]), (50.0, 100.0));
        assert_eq!(figures[figures::SERVER_THROTTLED_PCT], 100.0);
        assert!(figures[figures::CPU_PRESSURE_PCT] > 0.0);
        let nothing = HostSample::read("", "", &[]);
        assert!(nothing.figures_since(&nothing).is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_left_out() {
        let empty = HostSample {
            at: Instant::now(),
            cpu: None,
            server: None,
            quota: None,
            pressure_us: None,
            load_1m: None,
        };
        assert!(HostSample { ..empty }.figures_since(&empty).is_empty());
    }
}
