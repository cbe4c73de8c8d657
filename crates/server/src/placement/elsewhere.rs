//! Systems without control over CPUs.

use spec::plan::Cpus;
use spec::{Class, Error};

/// The allowed CPUs.
///
/// # Errors
/// Always: this system does not report them.
pub fn allowed() -> Result<Cpus, Error> {
    Err(not_here())
}

pub(super) fn place(_pid: u32, _cpus: &Cpus) -> Result<Option<Cpus>, Error> {
    Err(not_here())
}

pub(super) fn threads(_pid: u32) -> Vec<i32> {
    Vec::new()
}

pub(super) fn children(_pid: u32) -> Vec<i32> {
    Vec::new()
}

pub(super) fn name(_thread: i32) -> Option<String> {
    None
}

pub(super) fn last_seen(_thread: i32) -> Option<(u64, u64)> {
    None
}

pub(super) fn moves(_thread: i32) -> Option<u64> {
    None
}

pub(super) fn title(_pid: i32) -> String {
    String::new()
}

pub(super) fn be_idle_on(_cpu: usize) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

pub(super) fn takes_a_share() -> Option<String> {
    Some("this system has no class of idle threads".to_owned())
}

pub(super) fn place_of(_pid: u32) -> Option<Cpus> {
    None
}

fn not_here() -> Error {
    Error::new(Class::Missing, "processes can be kept on CPUs on Linux only")
}
