//! Counters by `perf_event_open`, in user space: the kernel's work takes privileges that few have.

use std::io;

use perf_event::events::{Event, Hardware};
use perf_event::{Builder, Counter};

use crate::host::proc::child_pids;

/// Two counters for each process; processes that a counted one starts are in its counters.
pub(super) struct Counters(Vec<[Counter; 2]>);

pub(super) fn open(postmaster: u32) -> Result<Counters, String> {
    open_events(postmaster, [Hardware::INSTRUCTIONS, Hardware::CPU_CYCLES])
}

fn open_events<E: Event + Clone>(postmaster: u32, events: [E; 2]) -> Result<Counters, String> {
    // Listed first: a process that the postmaster starts once it is counted would be counted twice.
    let children = child_pids(postmaster);
    let mut counters = vec![of_process(postmaster, &events).map_err(|error| error.to_string())?];
    for child in children {
        match of_process(child, &events) {
            Ok(own) => counters.push(own),
            // It has ended.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(Counters(counters))
}

fn of_process<E: Event + Clone>(pid: u32, events: &[E; 2]) -> io::Result<[Counter; 2]> {
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    let open = |event: &E| {
        Builder::new(event.clone()).observe_pid(pid).any_cpu().inherit(true).enabled(true).build()
    };
    Ok([open(&events[0])?, open(&events[1])?])
}

impl Counters {
    /// Sums over all processes; `None` where one could not be read, or never had a counter of the processor.
    pub(super) fn read(&mut self) -> Option<[f64; 2]> {
        let mut sums = [0.0; 2];
        for counters in &mut self.0 {
            for (sum, counter) in sums.iter_mut().zip(counters) {
                let read = counter.read_count_and_time().ok()?;
                *sum += scaled(read.count, read.time_enabled, read.time_running)?;
            }
        }
        Some(sums)
    }
}

/// The count of a counter that shared the processor's with others; `None` if it never had one.
fn scaled(count: u64, enabled_ns: u64, running_ns: u64) -> Option<f64> {
    match (enabled_ns, running_ns) {
        // A process that did not run.
        (0, _) => Some(0.0),
        (_, 0) => None,
        (enabled, running) => Some(count as f64 * enabled as f64 / running as f64),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    use perf_event::events::Software;

    use super::*;
    use crate::host::proc::process;

    /// With counters of the kernel, which every machine has: of a child, and of processes that it and its parent
    /// start later.
    #[test]
    fn processes_that_start_later_are_counted() {
        let work = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done";
        let script =
            format!("(read x; {work}; sh -c '{work}'; echo) & exec 3<&0; read x <&3; sh -c '{work}'; wait");
        let mut parent = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        while child_pids(parent.id()).is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        let opened = open_events(parent.id(), [Software::TASK_CLOCK, Software::PAGE_FAULTS]);
        let mut input = parent.stdin.take().unwrap();
        input.write_all(b"\n\n").unwrap();
        drop(input);
        parent.stdout.take().unwrap().read_to_string(&mut String::new()).unwrap();
        while !process(parent.id()).unwrap().is_zombie() {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        // 10 ms each, rounded down four times.
        let ticks = process(parent.id()).unwrap().ticks() as f64;
        parent.wait().unwrap();
        match opened {
            Ok(mut counters) => {
                let [ns, faults] = counters.read().unwrap();
                assert!(counters.0.len() >= 2, "parent and child");
                assert!(ticks >= 3.0 && ns > 8e6 * ticks, "{ns} ns of {ticks} ticks");
                assert!(faults > 50.0, "{faults} page faults");
            }
            // A container may forbid it.
            Err(why) => assert!(!why.is_empty()),
        }
    }

    #[test]
    fn counts_of_shared_counters_are_scaled() {
        assert_eq!(scaled(100, 50, 50), Some(100.0));
        assert_eq!(scaled(100, 100, 50), Some(200.0));
        assert_eq!((scaled(0, 0, 0), scaled(0, 100, 0)), (Some(0.0), None));
    }

    #[test]
    fn a_process_that_is_gone_has_a_reason() {
        let mut child = Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        assert!(open_events(pid, [Software::TASK_CLOCK, Software::PAGE_FAULTS]).is_err());
    }
}
