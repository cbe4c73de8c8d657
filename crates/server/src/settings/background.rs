//! Settings that control what a server does in the background: log, commits, checkpoints, writing,
//! autovacuum, I/O.

/// Prefixes of their names.
const BEGINNINGS: [&str; 13] = [
    "wal_",
    "max_wal_",
    "min_wal_",
    "checkpoint_",
    "commit_",
    "bgwriter_",
    "backend_flush_",
    "autovacuum",
    "vacuum_",
    "io_",
    "debug_io_direct",
    "archive_",
    "summarize_wal",
];
/// Names without such a prefix.
const NAMES: [&str; 8] = [
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "effective_io_concurrency",
    "maintenance_io_concurrency",
    "recovery_prefetch",
    "data_sync_retry",
    "file_copy_method",
];
/// An exception: it only limits the memory of such work, as `maintenance_work_mem` does where it is not set.
const MEMORY_ONLY: &str = "autovacuum_work_mem";

/// Whether a setting controls background work of a server, or how it writes.
#[must_use]
pub fn in_the_background(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let named =
        NAMES.contains(&name.as_str()) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning));
    named && name != MEMORY_ONLY
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_works_while_nobody_asks() {
        for (name, wanted) in [
            ("max_wal_size", true),
            ("wal_buffers", true),
            ("autovacuum_naptime", true),
            ("autovacuum_work_mem", false),
            ("Synchronous_Commit", true),
            ("io_method", true),
            ("shared_buffers", false),
            ("work_mem", false),
            ("max_connections", false),
            ("huge_pages", false),
        ] {
            assert_eq!(in_the_background(name), wanted, "{name}");
        }
    }
}
