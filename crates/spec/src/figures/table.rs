//! The table: a row for each figure, grouped by source.
//!
//! Each row has: id, stored name, label, unit, divisor, better direction, and meaning. `large from`
//! gives the smallest difference that is shown, its family, and the amount of one event. A new figure is a
//! new row here.

use super::row::{Better, Counter, Figure, FigureRow, Id, Notable, Per, Source, Unit};

/// Declares the ids of a part of the table, and its rows.
macro_rules! rows {
    (
        $rows:ident: $id_type:ident by $source:ident;
        $($id:ident $name:ident, $label:literal, $unit:ident, $per:ident, $better:ident,
            $(large from $matters:literal in $family:literal $(by $event:literal)?,)? $meaning:literal;)*
    ) => {
        $(#[doc = $meaning] pub const $id: $id_type = Id::new(&FigureRow {
            name: stringify!($name),
            label: $label,
            unit: Unit::$unit,
            per: Per::$per,
            better: Better::$better,
            source: Source::$source,
            notable: rows!(@ $unit $($matters $family $($event)?)?),
            meaning: $meaning,
        });)*
        pub(super) const $rows: &[&FigureRow] = &[$($id.row()),*];
    };
    (@ $unit:ident) => { None };
    (@ $unit:ident $matters:literal $family:literal) => { Some(Notable::new($family, Unit::$unit, $matters)) };
    (@ $unit:ident $matters:literal $family:literal $event:literal) => {
        Some(Notable { event: $event, ..Notable::new($family, Unit::$unit, $matters) })
    };
}

pub(super) use rows;

rows! {
    POSTGRES: Figure by Postgres;
    TEMP_BYTES temp_bytes, "temporary files", Bytes, Transaction, Lower, large from 1024.0 in "temporary files", "Bytes written: `pg_stat_database.temp_bytes`";
    TEMP_FILES temp_files, "number of temporary files", Count, Transaction, Lower, large from 0.01 in "temporary files", "Files created: `pg_stat_database.temp_files`";
    WAL_BYTES wal_bytes, "WAL", Bytes, Transaction, Lower, large from 64.0 in "WAL", "Advance of `pg_current_wal_insert_lsn()`; exact, unlike statistics";
    WAL_RECORDS wal_records, "WAL records", Count, Transaction, Lower, large from 0.5 in "WAL", "`pg_stat_wal.wal_records`; from PostgreSQL 14 on";
    WAL_FULL_PAGE_IMAGES wal_full_page_images, "full-page images in the WAL", Count, Transaction, Lower, large from 0.05 in "WAL", "`pg_stat_wal.wal_fpi`; from PostgreSQL 14 on";
    WAL_BUFFERS_FULL wal_buffers_full, "full WAL buffers", Count, Transaction, Lower, "WAL writes because its buffers were full: `pg_stat_wal.wal_buffers_full`; from PostgreSQL 14 on";
    BLOCKS_READ blocks_read, "blocks read into shared buffers", Count, Transaction, Lower, large from 0.1 in "blocks", "`pg_stat_database.blks_read`: misses, also if the page cache had the block";
    BLOCKS_HIT blocks_hit, "blocks found in shared buffers", Count, Transaction, Lower, large from 1.0 in "blocks", "`pg_stat_database.blks_hit`";
    CACHE_HIT_PCT cache_hit_pct, "shared buffers hit", Percent, None, Higher, "`blocks_hit` ÷ (`blocks_hit` + `blocks_read`)";
    CHECKPOINT_BUFFERS checkpoint_buffers, "blocks written by checkpoints", Count, Transaction, Lower, large from 0.1 in "written", "`pg_stat_checkpointer.buffers_written`; up to PostgreSQL 16 `pg_stat_bgwriter.buffers_checkpoint`";
    BACKGROUND_WRITER_BUFFERS background_writer_buffers, "blocks written by the background writer", Count, Transaction, Lower, large from 0.1 in "written", "`pg_stat_bgwriter.buffers_clean`";
    BACKEND_BUFFERS backend_buffers, "blocks written by backends", Count, Transaction, Lower, large from 0.1 in "written", "`pg_stat_bgwriter.buffers_backend`; up to PostgreSQL 16";
    CHECKPOINTS checkpoints, "checkpoints", Count, Minute, Lower, large from 0.5 in "checkpoints", "`checkpoints_timed` + `checkpoints_requested`";
    CHECKPOINTS_TIMED checkpoints_timed, "timed checkpoints", Count, Minute, Lower, "Checkpoints due by `checkpoint_timeout`";
    CHECKPOINTS_REQUESTED checkpoints_requested, "requested checkpoints", Count, Minute, Lower, "Checkpoints requested, for example by the amount of WAL";
    CHECKPOINT_WRITE_MS checkpoint_write_ms, "checkpoint write time", Milliseconds, Minute, Lower, "Time in which checkpoints wrote files";
    CHECKPOINT_SYNC_MS checkpoint_sync_ms, "checkpoint sync time", Milliseconds, Minute, Lower, "Time in which checkpoints synced files";
    TUPLES_SCANNED tuples_scanned, "rows and index entries scanned", Count, Transaction, Lower, large from 10.0 in "rows looked at", "`pg_stat_database.tup_returned`; absent if the database has a BRIN index, for which PostgreSQL counts no rows";
    TUPLES_FETCHED tuples_fetched, "rows fetched through indexes", Count, Transaction, Lower, large from 1.0 in "rows looked at", "`pg_stat_database.tup_fetched`";
    TUPLES_INSERTED tuples_inserted, "rows inserted", Count, Transaction, Lower, large from 0.1 in "rows changed", "`pg_stat_database.tup_inserted`";
    TUPLES_UPDATED tuples_updated, "rows updated", Count, Transaction, Lower, large from 0.1 in "rows changed", "`pg_stat_database.tup_updated`";
    TUPLES_DELETED tuples_deleted, "rows deleted", Count, Transaction, Lower, large from 0.1 in "rows changed", "`pg_stat_database.tup_deleted`";
    COMMITS commits, "commits", Count, Transaction, Neither, "`pg_stat_database.xact_commit` without pgdyno's own queries";
    ROLLBACKS rollbacks, "rollbacks", Count, Transaction, Lower, "`pg_stat_database.xact_rollback`";
    DEADLOCKS deadlocks, "deadlocks", Count, Transaction, Lower, "`pg_stat_database.deadlocks`";
}

rows! {
    REPLICATION: Figure by Postgres;
    WRITE_LAG_MAX_BYTES write_lag_max_bytes, "write lag, maximum", Bytes, None, Lower, "Largest sample of WAL that the slowest replica had not written (`pg_stat_replication.write_lsn`)";
    WRITE_LAG_MAX_MS write_lag_max_ms, "write lag in time, maximum", Milliseconds, None, Lower, "Largest sample of the slowest replica's `write_lag`, or of the age of WAL that it had not written";
    WRITE_LAG_END_BYTES write_lag_end_bytes, "write lag, at the end", Bytes, None, Lower, "`write_lag_max_bytes`, but at the end of the load";
    WRITE_LAG_END_MS write_lag_end_ms, "write lag in time, at the end", Milliseconds, None, Lower, "`write_lag_max_ms`, but at the end of the load";
    FLUSH_LAG_MAX_BYTES flush_lag_max_bytes, "flush lag, maximum", Bytes, None, Lower, "Largest sample of WAL that the slowest replica had not flushed (`pg_stat_replication.flush_lsn`)";
    FLUSH_LAG_MAX_MS flush_lag_max_ms, "flush lag in time, maximum", Milliseconds, None, Lower, "Largest sample of the slowest replica's `flush_lag`, or of the age of WAL that it had not flushed";
    FLUSH_LAG_END_BYTES flush_lag_end_bytes, "flush lag, at the end", Bytes, None, Lower, "`flush_lag_max_bytes`, but at the end of the load";
    FLUSH_LAG_END_MS flush_lag_end_ms, "flush lag in time, at the end", Milliseconds, None, Lower, "`flush_lag_max_ms`, but at the end of the load";
    REPLAY_LAG_MAX_BYTES replay_lag_max_bytes, "replay lag, maximum", Bytes, None, Lower, "Largest sample of WAL that the slowest replica had not replayed (`pg_stat_replication.replay_lsn`)";
    REPLAY_LAG_MAX_MS replay_lag_max_ms, "replay lag in time, maximum", Milliseconds, None, Lower, "Largest sample of the slowest replica's `replay_lag`, or of the age of WAL that it had not replayed";
    REPLAY_LAG_END_BYTES replay_lag_end_bytes, "replay lag, at the end", Bytes, None, Lower, "`replay_lag_max_bytes`, but at the end of the load";
    REPLAY_LAG_END_MS replay_lag_end_ms, "replay lag in time, at the end", Milliseconds, None, Lower, "`replay_lag_max_ms`, but at the end of the load";
    BALANCED_TO_REPLICAS_PCT balanced_to_replicas_pct, "reads sent to replicas", Percent, None, Neither, "Share of SELECT statements that Pgpool-II sent to replicas, by its own count";
    POOLER_CPU_S pooler_cpu_s, "pooler's CPU", Seconds, Transaction, Lower, "CPU time of a pooler started by pgdyno and of its children";
    REPLICAS_CPU_S replicas_cpu_s, "replicas' CPU", Seconds, Transaction, Lower, "CPU time of all replicas on this machine; `server_cpu_s` is of the primary alone";
}

rows! {
    COMPLETIONS: Counter by Engine;
    COMPLETED completed, "transactions completed", Count, Run, Higher, "Transactions that throughput counts";
    DRAINED drained, "transactions drained", Count, Run, Lower, "Open load: transactions of `due` that started after the measured part";
    LEFT_OPEN left_open, "transactions left open", Count, Run, Lower, "Transactions of `late` that were still open after the drain; absent if there are none";
}

rows! {
    KERNEL: Figure by Kernel;
    SERVER_CPU_S server_cpu_s, "server CPU", Seconds, Transaction, Lower, large from 5e-6 in "server CPU", "CPU time of all processes of a server on this machine, ended ones included; in slices, of this arm alone";
    SERVER_INSTRUCTIONS server_instructions, "server's instructions", Count, Transaction, Lower, "Instructions in user space of all processes of a server on this machine, from hardware counters";
    SERVER_CYCLES server_cycles, "server CPU cycles", Count, Transaction, Lower, "CPU cycles of the same";
    CHILD_USER_CPU_S child_user_cpu_s, "program's user CPU", Seconds, Transaction, Lower, large from 0.1 in "program's CPU", "User CPU time of the job's program";
    CHILD_SYSTEM_CPU_S child_system_cpu_s, "program's system CPU", Seconds, Transaction, Lower, "System CPU time of the job's program";
    CHILD_MAX_RSS_BYTES child_max_rss_bytes, "program's memory", Bytes, Run, Lower, "Maximum resident memory of the job's program";
    CHILD_WALL_S child_wall_s, "program's time", Seconds, Run, Lower, "Imported loads: elapsed time of the program according to `time`";
    PGDYNO_CPU_S pgdyno_cpu_s, "pgdyno's own CPU", Seconds, Run, Lower, "CPU time of pgdyno while the job's program ran";
    SERVER_DISK_READ_BYTES server_disk_read_bytes, "read from disk", Bytes, Transaction, Lower, large from 1024.0 in "disk", "`read_bytes` of the server's processes in `/proc/PID/io`";
    SERVER_DISK_WRITTEN_BYTES server_disk_written_bytes, "written to disk", Bytes, Transaction, Lower, large from 1024.0 in "disk", "`write_bytes` of the server's processes in `/proc/PID/io`: counted when a page becomes dirty";
    STORAGE_DATA_BYTES storage_data_bytes, "data folder on disk", Bytes, Run, Lower, "Size of the data folder on a `[storage]`, after a checkpoint";
    STORAGE_TABLESPACE_BYTES storage_tablespace_bytes, "databases on disk", Bytes, Run, Lower, "Size of the tablespace on a `[storage]`, after a checkpoint";
    STORAGE_WAL_BYTES storage_wal_bytes, "WAL on disk", Bytes, Run, Lower, "Size of the WAL on a `[storage]`, after a checkpoint";
    STORAGE_UNCOMPRESSED_BYTES storage_uncompressed_bytes, "uncompressed size", Bytes, Run, Neither, "Size of the files on a compressing storage without compression";
    STEAL_PCT steal_pct, "CPU steal", Percent, None, Lower, "Share of this machine's CPU time that the hypervisor took (`/proc/stat`)";
    IOWAIT_PCT iowait_pct, "I/O wait", Percent, None, Lower, "Share of this machine's CPU time that was idle with I/O pending (`/proc/stat`)";
    CPU_BUSY_PCT cpu_busy_pct, "CPU busy", Percent, None, Neither, "Share of this machine's CPU time that was not idle (`/proc/stat`)";
    CPU_PRESSURE_PCT cpu_pressure_pct, "CPU pressure", Percent, None, Lower, "Share of the time in which a task on this machine waited for a CPU (`/proc/pressure/cpu`)";
    CPU_OTHERS_PCT cpu_others_pct, "other programs' CPU", Percent, None, Lower, "Share of this machine's CPU time used by programs other than pgdyno and the servers under test";
    LOAD_1M load_1m, "load average", Count, None, Lower, "One-minute load average of this machine at the end (`/proc/loadavg`)";
    SERVER_THROTTLED_PCT server_throttled_pct, "server throttled", Percent, None, Lower, "Share of the periods of its CPU quota in which the server was throttled (`cpu.stat` of its control group)";
    SERVER_STEAL_PCT server_steal_pct, "CPU steal of the server's machine", Percent, None, Lower, "As `steal_pct`, of a remote server's machine, read through SQL";
    SERVER_IOWAIT_PCT server_iowait_pct, "I/O wait of the server's machine", Percent, None, Lower, "As `iowait_pct`, of a remote server's machine, read through SQL";
    SERVER_CPU_BUSY_PCT server_cpu_busy_pct, "CPU busy of the server's machine", Percent, None, Neither, "As `cpu_busy_pct`, of a remote server's machine, read through SQL";
    SERVER_CPU_PRESSURE_PCT server_cpu_pressure_pct, "CPU pressure of the server's machine", Percent, None, Lower, "As `cpu_pressure_pct`, of a remote server's machine, read through SQL";
    SAME_CPU_PCT same_cpu_pct, "client and backend on one CPU", Percent, None, Neither, "Share of samples with a client thread and a busy backend on one CPU; managed servers on Linux";
    CLIENT_MOVES_PER_S client_moves_per_s, "moves of client threads", PerSecond, None, Lower, "Migrations of client threads to another CPU";
    BACKEND_MOVES_PER_S backend_moves_per_s, "moves of backends", PerSecond, None, Lower, "Migrations of busy backends to another CPU";
    PAGE_CACHE_PCT page_cache_pct, "page cache", Percent, None, Neither, "Factor `cache`: share of the server's files in the page cache when it was started for the run";
}

rows! {
    SESSIONS: Counter by Engine;
    SESSIONS_BEGUN sessions_begun, "sessions begun", Count, Run, Neither, "Users: sessions that were due in the measured part and began";
    SESSIONS_FINISHED sessions_finished, "sessions finished", Count, Run, Higher, "Users: sessions whose last transaction ended in the measured part";
    SESSIONS_FAILED sessions_failed, "sessions failed", Count, Run, Lower, "Users: sessions that a failed transaction ended in the measured part";
    SESSIONS_CUT sessions_cut, "sessions cut", Count, Run, Neither, "Users: sessions still open at the end of the measured part";
    USERS_WAITING users_waiting, "users still waiting", Count, Run, Lower, "Open arrivals: users of the measured part who found no free connection until its end";
}

rows! {
    USERS: Figure by Engine;
    ACTIVE_USERS_MEAN active_users_mean, "active users", Count, None, Neither, "Users: mean number of users in a session, counted from its intended start";
    IN_FLIGHT_MEAN in_flight_mean, "transactions in flight", Count, None, Neither, "Users: mean number of open transactions";
    THINK_WANTED_MEAN_MS think_wanted_mean_ms, "think time, drawn", Milliseconds, None, Neither, "Users: mean of the think times as drawn";
    THINK_ACTUAL_MEAN_MS think_actual_mean_ms, "think time, actual", Milliseconds, None, Neither, "Users: mean time from a transaction's end to the actual start after the think time; includes the load generator's delay";
}

rows! {
    REDIS: Figure by Redis;
    REDIS_EVICTED_KEYS redis_evicted_keys, "keys evicted", Count, Transaction, Lower, "`evicted_keys` of INFO; not in slices";
    REDIS_EXPIRED_KEYS redis_expired_keys, "keys expired", Count, Transaction, Neither, "`expired_keys` of INFO; not in slices";
    REDIS_MEMORY_BEFORE_BYTES redis_memory_before_bytes, "Redis' memory before", Bytes, Run, Neither, "`used_memory` when the measured part began";
    REDIS_MEMORY_AFTER_BYTES redis_memory_after_bytes, "Redis' memory after", Bytes, Run, Neither, "`used_memory` when the measured part was over";
    REDIS_MAXMEMORY_BYTES redis_maxmemory_bytes, "Redis' memory limit", Bytes, None, Neither, "`maxmemory`, if it is set";
}

rows! {
    ENGINE: Figure by Engine;
    CLIENT_CPU_US_PER_TX client_cpu_us_per_tx, "client CPU per transaction", Microseconds, None, Lower, "CPU time of the load generator's threads ÷ `completed`";
    CLIENT_CPU_S client_cpu_s, "client CPU", Seconds, Run, Lower, "CPU time of the load generator's threads in the measured part";
    CLIENT_CPU_PCT client_cpu_pct, "client CPU share", Percent, None, Lower, "`client_cpu_s` as a share of all CPUs that the load generator may use";
    CLIENT_BUSIEST_THREAD_PCT client_busiest_thread_pct, "busiest client thread", Percent, None, Lower, "Share of the measured part in which the busiest client thread worked";
    CLIENT_SPIN_US client_spin_us, "client spin limit", Microseconds, None, Neither, "Longest time that client threads poll before they sleep; absent if they do not";
    CLIENT_SPUN_S client_spun_s, "client spinning", Seconds, Run, Lower, "Time that client threads polled, over all threads";
    CLIENT_TURN_P99_US client_turn_p99_us, "client turn p99", Microseconds, None, Lower, "Time between two waits of a client thread for events, waits for a CPU included";
    TIMER_LATENESS_P50_US timer_lateness_p50_us, "timer lateness p50", Microseconds, None, Lower, "How late the timers of client threads fired, median";
    TIMER_LATENESS_P99_US timer_lateness_p99_us, "timer lateness p99", Microseconds, None, Lower, "How late the timers of client threads fired, 99th percentile";
    START_LAG_P50_US start_lag_p50_us, "start lag p50", Microseconds, None, Lower, "Rate load and users: how late transactions with a free client started, median";
    START_LAG_P99_US start_lag_p99_us, "start lag p99", Microseconds, None, Lower, "Rate load and users: how late transactions with a free client started, 99th percentile";
    CONNECT_MS connect_ms, "connecting", Milliseconds, Run, Lower, "Time until all clients were connected";
    RECONNECTIONS reconnections, "reconnections", Count, Run, Lower, "Connections opened again; absent if there were none";
    RECONNECT_MEAN_MS reconnect_mean_ms, "reconnecting", Milliseconds, None, Lower, "Mean time to connect again";
    CONNECTIONS_LOST connections_lost, "connections lost", Count, Run, Lower, "Connections lost while in use; absent if there were none";
    OUTAGE_S outage_s, "outage", Seconds, Run, Lower, "Time without the server, which then has no counters; absent without an outage";
    GENERATOR_STALLED_S generator_stalled_s, "generator stalled", Seconds, Run, Lower, "Sum of the load generator's gaps of 200 ms and more; absent if there were none";
    GENERATOR_PAUSED_S generator_paused_s, "generator paused", Seconds, Run, Lower, "Sum of the load generator's gaps of 50 to 200 ms; absent if there were none";
    TIME_COUNTED_S time_counted_s, "time counted", Seconds, Run, Neither, "Closed load: clients' time in transactions that ended in the measured part";
    TIME_ELSEWHERE_S time_elsewhere_s, "time elsewhere", Seconds, Run, Lower, "Clients' time in all other transactions; most of these are in the percentiles";
    TIME_NOWHERE_S time_nowhere_s, "time in no figure", Seconds, Run, Lower, "Part of `time_elsewhere_s`: transactions that spanned the whole measured part or whose client gave up";
    TIME_THINKING_S time_thinking_s, "time thinking", Seconds, Run, Neither, "Users: time until the next visit";
    TIME_CONNECTING_S time_connecting_s, "time connecting", Seconds, Run, Lower, "Clients' time to connect and prepare after the load started";
    TIME_IDLE_S time_idle_s, "time idle", Seconds, Run, Lower, "Clients' time without a transaction: their `-t` was done, they gave up, or their thread served others";
    SLICE_MS slice_ms, "slice", Milliseconds, None, Neither, "Length of a slice";
    SESSION_AGE_S session_age_s, "session age", Seconds, None, Neither, "Time that sessions kept from round to round had worked before the run; 0 for new ones";
    QUADS quads, "quads", Count, Run, Neither, "Quads of slices";
    VOID_QUADS void_quads, "void quads", Count, Run, Lower, "Quads that do not count";
}

rows! {
    AROUND: Figure by Around;
    PROMISE_MS promise_ms, "promise", Milliseconds, None, Neither, "The promise of the run";
    SETUP_S setup_s, "setup", Seconds, Run, Lower, "First run of a command: time until it started (servers, preparation, guards)";
    CHECKPOINT_BEFORE_S checkpoint_before_s, "checkpoint before", Seconds, Run, Lower, "Duration of the checkpoint before the run";
    AUTOVACUUM_WAIT_S autovacuum_wait_s, "wait for autovacuum", Seconds, Run, Lower, "Wait for autovacuum before the run";
    HOST_LAG_P99_US host_lag_p99_us, "host lag p99", Microseconds, None, Lower, "Rate load: 99th percentile of the arrivals' delay on this idle host, if known";
    PROBE_BEFORE_MS probe_before_ms, "idle probe before", Milliseconds, None, Lower, "Minimum of the idle probe before the run";
    PROBE_BEFORE_MEAN_MS probe_before_mean_ms, "idle probe before, mean", Milliseconds, None, Lower, "Mean of the idle probe before the run";
    PROBE_AFTER_MS probe_after_ms, "idle probe after", Milliseconds, None, Lower, "Minimum of the idle probe after the run";
    PROBE_AFTER_MEAN_MS probe_after_mean_ms, "idle probe after, mean", Milliseconds, None, Lower, "Mean of the idle probe after the run";
    FIRST_EXECUTION_ROWS first_execution_rows, "rows of the first execution", Count, None, Neither, "pgbench scripts: rows returned when each was executed once before the first run";
    PROBE_TILES probe_tiles, "tiles probed", Count, None, Neither, "Tiles requested before the first run";
    EMPTY_TILES_PCT empty_tiles_pct, "empty tiles", Percent, None, Neither, "Share of `probe_tiles` without content";
    TILE_BYTES_MEAN tile_bytes_mean, "tile size", Bytes, None, Neither, "Mean size of the non-empty tiles of `probe_tiles`";
    TILE_FEATURES_MEAN tile_features_mean, "features per tile", Count, None, Neither, "Mean number of features in the non-empty tiles of `probe_tiles`";
    COMPRESSED_TILES_PCT compressed_tiles_pct, "compressed tiles", Percent, None, Neither, "Share of the non-empty tiles of `probe_tiles` that were compressed";
    PROBE_HIT_PCT probe_hit_pct, "keys found before", Percent, None, Higher, "Redis: share of 1000 drawn keys that existed before the first run";
    EXTRACT_BYTES extract_bytes, "extract", Bytes, None, Neither, "Size of the OSM extract that was loaded";
    EXTRACT_MADE_S extract_made_s, "making the extract", Seconds, Run, Lower, "Time to make the extract; absent if it existed";
}

rows! {
    DERIVED: Figure by Derived;
    COMMANDS_PER_TX commands_per_tx, "commands per transaction", Count, None, Neither, "Redis: commands per pipeline; absent for one";
    HIT_PCT hit_pct, "hits", Percent, None, Higher, "Share of cache lookups that found their key, where keys may be missing";
    SPEED_CHANGE_PCT speed_change_pct, "change of speed", Percent, None, Neither, "Change of speed from the first to the last fifth of the run; closed loads that change data";
    PEAK_PER_S peak_per_s, "peak", PerSecond, None, Higher, "Search for a limit: transactions per second at full speed; absent if the run cannot count";
    PROMISE_KEPT promise_kept, "promise kept", Count, None, Higher, "Trial of a search: 1 if it kept the promise, else 0; absent if the run cannot count";
    PROMISE_BAD_PCT promise_bad_pct, "arrivals that broke the promise", Percent, None, Lower, "Trial of a search: share of its arrivals that broke the term with the worst result";
    PROMISE_LEFT_PCT promise_left_pct, "arrivals left", Percent, None, Lower, "Trial of a search: share of its arrivals still waiting at the end or skipped, if that alone breaks every promise";
    CLIENTS_LIMIT clients_limit, "clients are the limit", Count, None, Neither, "Trial of a search: 1 if the promise was broken only because arrivals waited for a client, else 0";
}

rows! {
    PROGRAM: Figure by Program;
    CHILD_PEAK_MEMORY_BYTES child_peak_memory_bytes, "memory reported by osm2pgsql", Bytes, Run, Lower, "Peak memory that osm2pgsql reports";
    CHILD_REPORTED_S child_reported_s, "time reported by osm2pgsql", Seconds, Run, Lower, "Whole seconds that osm2pgsql reports";
}

rows! {
    IMPORTED: Figure by Imported;
    LATENCY_MEAN_US latency_mean_us, "mean latency", Microseconds, None, Lower, "Mean latency in a report or an aggregated log";
    LATENCY_MEAN_FROM_TPS_US latency_mean_from_tps_us, "mean latency from tps", Microseconds, None, Lower, "Mean latency that pgbench computed from clients, duration and transactions";
    LATENCY_STDDEV_US latency_stddev_us, "standard deviation of latency", Microseconds, None, Lower, "Standard deviation of the latency";
    LATENCY_MIN_US latency_min_us, "minimum latency", Microseconds, None, Lower, "Minimum latency in a report or an aggregated log";
    LATENCY_MAX_US latency_max_us, "maximum latency", Microseconds, None, Lower, "Maximum latency in a report or an aggregated log";
    LAG_MEAN_US lag_mean_us, "mean schedule lag", Microseconds, None, Lower, "Mean schedule lag";
    LAG_MAX_US lag_max_us, "maximum schedule lag", Microseconds, None, Lower, "Maximum schedule lag";
    TPS_WITH_CONNECTING tps_with_connecting, "tps with connecting", Count, None, Higher, "Transactions per second, connection time included; up to pgbench 13";
    REPORTED_PER_S reported_per_s, "reported rate", PerSecond, None, Higher, "Transactions per second of a source that has only the rate: a table, or another load tester's last line";
    LATENCY_LIMIT_MS latency_limit_ms, "latency limit", Milliseconds, None, Neither, "The promise, under pgbench's name";
    MAX_TRIES max_tries, "maximum tries", Count, None, Neither, "Maximum tries per transaction";
}

rows! {
    PROBE: Figure by Probe;
    ROUND_TRIP_US round_trip_us, "round trip, empty query", Microseconds, None, Lower, "cost of each statement before any work: network, TLS, wake-ups";
    SELECT_1_US select_1_us, "round trip, SELECT 1", Microseconds, None, Lower, "minimum time of a statement with an answer";
    CPU_ONE_ROWS_PER_S cpu_one_rows_per_s, "CPU, one backend", RowsPerSecond, None, Higher, "speed of one query that only computes";
    CPU_ALL_ROWS_PER_S cpu_all_rows_per_s, "CPU, all backends", RowsPerSecond, None, Higher, "what all CPUs do together: the maximum of a busy server";
    MEMORY_ONE_BYTES_PER_S memory_one_bytes_per_s, "memory, one backend", BytesPerSecond, None, Higher, "speed at which one backend reads memory: large hashes, sorts, values";
    MEMORY_ALL_BYTES_PER_S memory_all_bytes_per_s, "memory, all backends", BytesPerSecond, None, Higher, "the same of all backends at once: may limit a server before its CPUs do";
    COMMIT_US commit_us, "commit", Microseconds, None, Lower, "time of COMMIT until WAL is on disk: limits small writes";
    COMMIT_ASYNC_US commit_async_us, "asynchronous commit", Microseconds, None, Lower, "the same with synchronous_commit = off: the part that is not the disk";
    INDEX_BUILD_ROWS_PER_S index_build_rows_per_s, "index build", RowsPerSecond, None, Higher, "CREATE INDEX over integers in memory: restores, migrations, REINDEX";
    SEQ_READ_CACHED_PAGES_PER_S seq_read_cached_pages_per_s, "sequential read, cached", PagesPerSecond, None, Higher, "scan of pages in shared_buffers, without work on their rows";
    SEQ_READ_BEYOND_BYTES_PER_S seq_read_beyond_bytes_per_s, "sequential read, beyond", BytesPerSecond, None, Higher, "scan of pages that are not in shared_buffers";
    RANDOM_READ_CACHED_US random_read_cached_us, "random page, cached", Microseconds, None, Lower, "access to one page in shared_buffers: for each row of an index scan";
    RANDOM_READ_BEYOND_US random_read_beyond_us, "random page, beyond", Microseconds, None, Lower, "access to one page that is not in shared_buffers";
}
