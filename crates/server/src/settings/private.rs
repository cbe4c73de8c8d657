//! Settings whose values are shown nowhere.

/// Settings whose values may hold passwords or tell of the house; they are recorded as set or not.
const PRIVATE: [&str; 7] = [
    "primary_conninfo",
    "ssl_passphrase_command",
    "archive_command",
    "restore_command",
    "archive_cleanup_command",
    "recovery_end_command",
    "promote_trigger_file",
];

/// Whether a setting's value may be secret: then it is shown nowhere.
pub(super) fn is_private(name: &str) -> bool {
    PRIVATE.contains(&name.to_lowercase().as_str())
}
