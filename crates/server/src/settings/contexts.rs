//! The context of settings, known without a server.

/// Settings that take effect only after a restart (context `postmaster` in PostgreSQL 10 to 18). For those of
/// extensions and later versions, the server is asked when an arm is applied.
const RESTARTING: &[&str] = &[
    "archive_mode",
    "autovacuum_freeze_max_age",
    "autovacuum_max_workers",
    "autovacuum_multixact_freeze_max_age",
    "autovacuum_worker_slots",
    "bonjour",
    "bonjour_name",
    "cluster_name",
    "commit_timestamp_buffers",
    "config_file",
    "data_directory",
    "debug_io_direct",
    "dynamic_shared_memory_type",
    "event_source",
    "external_pid_file",
    "hba_file",
    "hot_standby",
    "huge_page_size",
    "huge_pages",
    "ident_file",
    "ignore_invalid_pages",
    "io_max_combine_limit",
    "io_max_concurrency",
    "io_method",
    "jit_provider",
    "listen_addresses",
    "logging_collector",
    "max_active_replication_origins",
    "max_connections",
    "max_files_per_process",
    "max_locks_per_transaction",
    "max_logical_replication_workers",
    "max_notify_queue_pages",
    "max_pred_locks_per_transaction",
    "max_prepared_transactions",
    "max_replication_slots",
    "max_wal_senders",
    "max_worker_processes",
    "min_dynamic_shared_memory",
    "multixact_member_buffers",
    "multixact_offset_buffers",
    "notify_buffers",
    "old_snapshot_threshold",
    "port",
    "recovery_target",
    "recovery_target_action",
    "recovery_target_inclusive",
    "recovery_target_lsn",
    "recovery_target_name",
    "recovery_target_time",
    "recovery_target_timeline",
    "recovery_target_xid",
    "reserved_connections",
    "serializable_buffers",
    "shared_buffers",
    "shared_memory_type",
    "shared_preload_libraries",
    "subtransaction_buffers",
    "superuser_reserved_connections",
    "track_activity_query_size",
    "track_commit_timestamp",
    "transaction_buffers",
    "unix_socket_directories",
    "unix_socket_group",
    "unix_socket_permissions",
    "wal_buffers",
    "wal_decode_buffer_size",
    "wal_level",
    "wal_log_hints",
];

/// Settings of the whole server, which re-reads its files for them (context `sighup` in PostgreSQL 15 to 18).
const RELOADING: &[&str] = &[
    "allow_alter_system",
    "archive_cleanup_command",
    "archive_command",
    "archive_library",
    "archive_timeout",
    "authentication_timeout",
    "autovacuum",
    "autovacuum_analyze_scale_factor",
    "autovacuum_analyze_threshold",
    "autovacuum_naptime",
    "autovacuum_vacuum_cost_delay",
    "autovacuum_vacuum_cost_limit",
    "autovacuum_vacuum_insert_scale_factor",
    "autovacuum_vacuum_insert_threshold",
    "autovacuum_vacuum_max_threshold",
    "autovacuum_vacuum_scale_factor",
    "autovacuum_vacuum_threshold",
    "autovacuum_work_mem",
    "bgwriter_delay",
    "bgwriter_flush_after",
    "bgwriter_lru_maxpages",
    "bgwriter_lru_multiplier",
    "checkpoint_completion_target",
    "checkpoint_flush_after",
    "checkpoint_timeout",
    "checkpoint_warning",
    "db_user_namespace",
    "fsync",
    "full_page_writes",
    "gss_accept_delegation",
    "hot_standby_feedback",
    "idle_replication_slot_timeout",
    "io_workers",
    "krb_caseins_users",
    "krb_server_keyfile",
    "log_autovacuum_min_duration",
    "log_checkpoints",
    "log_destination",
    "log_directory",
    "log_file_mode",
    "log_filename",
    "log_hostname",
    "log_line_prefix",
    "log_recovery_conflict_waits",
    "log_rotation_age",
    "log_rotation_size",
    "log_startup_progress_interval",
    "log_timezone",
    "log_truncate_on_rotation",
    "max_parallel_apply_workers_per_subscription",
    "max_pred_locks_per_page",
    "max_pred_locks_per_relation",
    "max_slot_wal_keep_size",
    "max_standby_archive_delay",
    "max_standby_streaming_delay",
    "max_sync_workers_per_subscription",
    "max_wal_size",
    "min_wal_size",
    "primary_conninfo",
    "primary_slot_name",
    "promote_trigger_file",
    "recovery_end_command",
    "recovery_init_sync_method",
    "recovery_min_apply_delay",
    "recovery_prefetch",
    "remove_temp_files_after_crash",
    "restart_after_crash",
    "restore_command",
    "send_abort_for_crash",
    "send_abort_for_kill",
    "ssl",
    "ssl_ca_file",
    "ssl_cert_file",
    "ssl_ciphers",
    "ssl_crl_dir",
    "ssl_crl_file",
    "ssl_dh_params_file",
    "ssl_ecdh_curve",
    "ssl_key_file",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "ssl_passphrase_command",
    "ssl_passphrase_command_supports_reload",
    "ssl_prefer_server_ciphers",
    "summarize_wal",
    "sync_replication_slots",
    "synchronized_standby_slots",
    "synchronous_standby_names",
    "syslog_facility",
    "syslog_ident",
    "syslog_sequence_numbers",
    "syslog_split_messages",
    "vacuum_defer_cleanup_age",
    "wal_keep_size",
    "wal_receiver_create_temp_slot",
    "wal_receiver_status_interval",
    "wal_receiver_timeout",
    "wal_retrieve_retry_interval",
    "wal_summary_keep_time",
    "wal_sync_method",
    "wal_writer_delay",
    "wal_writer_flush_after",
];

/// Settings that needed a restart in some version, and less in a later one.
const EASED: &[&str] = &["autovacuum_max_workers"];

/// Whether a setting takes effect only after a restart, in every version.
#[must_use]
pub fn always_needs_restart(name: &str) -> bool {
    needs_restart(name) && !EASED.contains(&name)
}

/// Whether a setting needs the server to re-read its files.
#[must_use]
pub fn needs_reload(name: &str) -> bool {
    RELOADING.contains(&name) || EASED.contains(&name)
}

/// Whether a setting takes effect only after a restart.
#[must_use]
pub fn needs_restart(name: &str) -> bool {
    RESTARTING.contains(&name)
}

/// Settings whose values may contain passwords or internal names; only whether they are set is recorded.
const PRIVATE: [&str; 7] = [
    "primary_conninfo",
    "ssl_passphrase_command",
    "archive_command",
    "restore_command",
    "archive_cleanup_command",
    "recovery_end_command",
    "promote_trigger_file",
];

/// Whether a setting's value may be secret, and so is never shown.
pub(super) fn is_private(name: &str) -> bool {
    PRIVATE.contains(&name.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(RESTARTING.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(RELOADING.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(!RELOADING.iter().any(|name| RESTARTING.contains(name)));
        assert!(needs_reload("checkpoint_timeout") && !always_needs_restart("autovacuum_max_workers"));
    }
}
