//! Readers of `/proc/stat` and `/proc/<pid>/stat`, both counted in clock ticks.

/// CPU time of the whole machine since boot, ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct CpuTicks {
    /// All states together.
    pub(super) total: u64,
    /// Idle and waiting for I/O.
    pub(super) idle: u64,
    /// Waiting for I/O.
    pub(super) iowait: u64,
    /// Taken by the hypervisor for others.
    pub(super) steal: u64,
}

/// The first line of `/proc/stat`: `cpu user nice system idle iowait irq softirq steal guest guest_nice`.
pub(super) fn cpu_ticks(stat: &str) -> Option<CpuTicks> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
    // Guest time is already part of user and nice.
    let total = ticks.iter().take(8).sum();
    (ticks.len() >= 4).then(|| CpuTicks { total, idle: at(3) + at(4), iowait: at(4), steal: at(7) })
}

/// A process's parent and CPU time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessTicks {
    pub(super) parent: u32,
    /// User and system time of itself, ticks.
    pub(super) own: u64,
    /// The same of its children that ended and were waited for.
    pub(super) children: u64,
}

/// `/proc/<pid>/stat`: the name in brackets may hold anything, so fields count from its last bracket.
pub(super) fn process_ticks(stat: &str) -> Option<ProcessTicks> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let figure = |index: usize| fields.get(index)?.parse::<u64>().ok();
    Some(ProcessTicks {
        parent: fields.get(1)?.parse().ok()?,
        own: figure(11)? + figure(12)?,
        children: figure(13)? + figure(14)?,
    })
}

/// Total of a line `some avg10=… total=N` of `/proc/pressure/cpu`, µs.
pub(super) fn pressure_us(text: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.split(' ').find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machine_ticks() {
        let ticks = cpu_ticks("cpu  10 1 5 100 4 0 2 3 9 0\ncpu0 1 1 1 1\n").unwrap();
        assert_eq!(ticks, CpuTicks { total: 125, idle: 104, iowait: 4, steal: 3 });
        assert_eq!(cpu_ticks("intr 1\n"), None);
        assert_eq!(cpu_ticks("cpu 1 2\n"), None);
    }

    #[test]
    fn process_names_may_hold_brackets() {
        let stat = "42 (post) gres) S 7 42 42 0 -1 4 1 2 3 4 11 12 13 14 20 0 1 0 99";
        assert_eq!(process_ticks(stat), Some(ProcessTicks { parent: 7, own: 23, children: 27 }));
        assert_eq!(process_ticks("42 (x) S"), None);
    }

    #[test]
    fn pressure() {
        let text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345\nfull avg10=0.00 total=1\n";
        assert_eq!(pressure_us(text), Some(12345));
        assert_eq!(pressure_us(""), None);
    }
}
