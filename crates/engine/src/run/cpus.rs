//! Pins load threads to CPUs.

use std::io;

use spec::{Class, Error};

use crate::error;
use crate::plan::RunPlan;

/// Refuses CPUs that are not available, and spinning without pinned CPUs.
pub(super) fn check(plan: &RunPlan, threads: usize) -> Result<(), Error> {
    let refuse = |why: String| Err(error::plan(why));
    if plan.spin > RunPlan::LONGEST_SPIN {
        return refuse(format!("a thread may look for news for {} ns at most", RunPlan::LONGEST_SPIN));
    }
    let Some(cpus) = &plan.cpus else {
        return match plan.spin {
            0 => Ok(()),
            _ => refuse("threads that spin before they sleep need separate CPUs".to_owned()),
        };
    };
    if cpus.is_empty() {
        return refuse("its list of CPUs for load threads is empty".to_owned());
    }
    let mut different = cpus.clone();
    different.sort_unstable();
    different.dedup();
    if plan.spin > 0 && different.len().min(cpus.len()) < threads {
        return refuse(format!(
            "{threads} threads that look for news before they sleep need a CPU each, and have {}",
            different.len()
        ));
    }
    let allowed = allowed()?;
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        Some(cpu) => {
            let allowed: Vec<String> = allowed.iter().map(ToString::to_string).collect();
            let what = format!(
                "load threads cannot be kept on CPU {cpu}: this process may use {}; see taskset, or the container's cpuset",
                allowed.join(", ")
            );
            Err(Error::new(Class::Usage, what))
        }
        None => Ok(()),
    }
}

pub(super) fn of_thread(plan: &RunPlan, thread: usize) -> Option<usize> {
    let cpus = plan.cpus.as_ref()?;
    cpus.get(thread % cpus.len().max(1)).copied()
}

/// Pins the calling thread to a CPU.
pub(super) fn keep_on(cpu: usize) -> Result<(), Error> {
    set(cpu).map_err(error::system("keep a load thread on its CPU"))
}

#[cfg(target_os = "linux")]
fn set(cpu: usize) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

#[cfg(not(target_os = "linux"))]
fn set(_cpu: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
fn allowed() -> Result<Vec<usize>, Error> {
    use rustix::thread::{CpuSet, sched_getaffinity};
    let set = sched_getaffinity(None).map_err(error::system("ask which CPUs may be used"))?;
    Ok((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

#[cfg(not(target_os = "linux"))]
fn allowed() -> Result<Vec<usize>, Error> {
    Err(error::plan("load threads can be kept on CPUs on Linux only"))
}
