//! Turns core dumps off for pgdyno's own processes, since their memory may contain a password. The programs
//! that it starts keep the user's limit.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Passes the former soft limit to a watchdog, whose limit is 0: bytes, or empty for unlimited.
pub(super) const FORMER: &str = "PGDYNO_CORE_LIMIT";

/// The soft limit before [`turn_off`].
static SOFT: OnceLock<Option<u64>> = OnceLock::new();

/// Turns core dumps of this process off. On Linux this also keeps other processes of the same user from
/// reading its memory.
pub fn turn_off() {
    let Rlimit { current, maximum } = getrlimit(Resource::Core);
    let former = match std::env::var(FORMER) {
        Ok(text) => text.parse().ok(),
        Err(_) => current,
    };
    let _ = SOFT.set(former);
    // Without the right to change it, the next call still works.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum });
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable);
}

/// The former soft limit, in the form of [`FORMER`].
pub(super) fn former() -> String {
    let soft = SOFT.get().copied().unwrap_or_else(|| getrlimit(Resource::Core).current);
    soft.map(|bytes| bytes.to_string()).unwrap_or_default()
}

/// Restores the former limit in a child, between fork and exec.
pub(super) fn restore() -> std::io::Result<()> {
    let Some(soft) = SOFT.get() else { return Ok(()) };
    let maximum = getrlimit(Resource::Core).maximum;
    // A soft limit above the hard one is refused.
    let current = match (*soft, maximum) {
        (Some(soft), Some(hard)) => Some(soft.min(hard)),
        (None, hard) => hard,
        (soft, None) => soft,
    };
    setrlimit(Resource::Core, Rlimit { current, maximum }).map_err(Into::into)
}
