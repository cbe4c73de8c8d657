//! What is to be known of workloads and settings, before anything is asked, to decide where arms stand and whether they take turns.

/// Settings that a connection can carry, and whose effect stays when it is gone.
pub(super) const LEAVE_SOMETHING: [&str; 2] = ["synchronous_commit", "default_toast_compression"];
