//! A system without `/proc`.

use super::{CpuTicks, Process};

pub(in crate::host) fn cpu_ticks() -> Option<CpuTicks> {
    None
}

pub(in crate::host) fn pressure_us() -> Option<u64> {
    None
}

pub(in crate::host) fn cpu_ns(_pid: u32) -> Option<u64> {
    None
}

pub(in crate::host) fn disk_bytes(_pid: u32) -> Option<(u64, u64)> {
    None
}

pub(in crate::host) fn private_bytes(_pid: u32) -> Option<u64> {
    None
}

pub(in crate::host) fn title(_pid: u32) -> String {
    String::new()
}

pub(crate) fn process(_pid: u32) -> Option<Process> {
    None
}

pub(in crate::host) fn children(_parent: u32) -> Vec<Process> {
    Vec::new()
}

pub(in crate::host) fn child_pids(_parent: u32) -> Vec<u32> {
    Vec::new()
}

pub(crate) fn processes() -> impl Iterator<Item = Process> {
    std::iter::empty()
}

pub(crate) fn signal_with_variable(_variable: &str, _signal: Option<rustix::process::Signal>) -> Vec<u32> {
    Vec::new()
}
