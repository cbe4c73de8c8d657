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
    TEMP_BYTES temp_bytes, "temporary files", Bytes, Transaction, Lower, large from 1024.0 in "temporary files", "Bytes written to temporary files";
    TEMP_FILES temp_files, "number of temporary files", Count, Transaction, Lower, large from 0.01 in "temporary files", "Temporary files made";
    WAL_BYTES wal_bytes, "WAL", Bytes, Transaction, Lower, large from 64.0 in "WAL", "Distance of the WAL's insert position; exact, unlike statistics";
    WAL_RECORDS wal_records, "WAL records", Count, Transaction, Lower, large from 0.5 in "WAL", "Records written to the WAL; from PostgreSQL 14 on";
    WAL_FULL_PAGE_IMAGES wal_full_page_images, "full-page images in the WAL", Count, Transaction, Lower, large from 0.05 in "WAL", "Full pages written to the WAL; from PostgreSQL 14 on";
    WAL_BUFFERS_FULL wal_buffers_full, "full WAL buffers", Count, Transaction, Lower, "Times that WAL was written because its buffers were full; from PostgreSQL 14 on";
    BLOCKS_READ blocks_read, "blocks read into shared buffers", Count, Transaction, Lower, large from 0.1 in "blocks", "Blocks that were not in shared buffers";
    BLOCKS_HIT blocks_hit, "blocks found in shared buffers", Count, Transaction, Lower, large from 1.0 in "blocks", "Blocks that were in shared buffers";
    CACHE_HIT_PCT cache_hit_pct, "shared buffers hit", Percent, None, Higher, "blocks_hit ÷ (blocks_hit + blocks_read)";
    CHECKPOINT_BUFFERS checkpoint_buffers, "blocks written by checkpoints", Count, Transaction, Lower, large from 0.1 in "written", "Blocks that checkpoints wrote";
    BACKGROUND_WRITER_BUFFERS background_writer_buffers, "blocks written by the background writer", Count, Transaction, Lower, large from 0.1 in "written", "Blocks that the background writer wrote";
    BACKEND_BUFFERS backend_buffers, "blocks written by backends", Count, Transaction, Lower, large from 0.1 in "written", "Blocks that backends wrote themselves; up to PostgreSQL 16";
    CHECKPOINTS checkpoints, "checkpoints", Count, Minute, Lower, large from 0.5 in "checkpoints", "checkpoints_timed + checkpoints_requested";
    CHECKPOINTS_TIMED checkpoints_timed, "timed checkpoints", Count, Minute, Lower, "Checkpoints that were due by time";
    CHECKPOINTS_REQUESTED checkpoints_requested, "requested checkpoints", Count, Minute, Lower, "Checkpoints that were requested, for example by the amount of WAL";
    CHECKPOINT_WRITE_MS checkpoint_write_ms, "checkpoints' writing", Milliseconds, Minute, Lower, "Time in which checkpoints wrote files";
    CHECKPOINT_SYNC_MS checkpoint_sync_ms, "checkpoints' syncing", Milliseconds, Minute, Lower, "Time in which checkpoints synced files";
    TUPLES_SCANNED tuples_scanned, "rows and index entries scanned", Count, Transaction, Lower, large from 10.0 in "rows looked at", "Rows and index entries scanned; left out where there is a BRIN index, of which the server counts no rows";
    TUPLES_FETCHED tuples_fetched, "rows fetched through indexes", Count, Transaction, Lower, large from 1.0 in "rows looked at", "Rows fetched through indexes";
    TUPLES_INSERTED tuples_inserted, "rows inserted", Count, Transaction, Lower, large from 0.1 in "rows changed", "Rows inserted";
    TUPLES_UPDATED tuples_updated, "rows updated", Count, Transaction, Lower, large from 0.1 in "rows changed", "Rows updated";
    TUPLES_DELETED tuples_deleted, "rows deleted", Count, Transaction, Lower, large from 0.1 in "rows changed", "Rows deleted";
    COMMITS commits, "commits", Count, Transaction, Neither, "Transactions committed in the database, without pgdyno's own";
    ROLLBACKS rollbacks, "rollbacks", Count, Transaction, Lower, "Transactions rolled back in the database";
    DEADLOCKS deadlocks, "deadlocks", Count, Transaction, Lower, "Deadlocks that the server broke";
}

rows! {
    REPLICATION: Figure by Postgres;
    WRITE_LAG_MAX_BYTES write_lag_max_bytes, "write lag, greatest", Bytes, None, Lower, "Greatest of the looks during the run: WAL that the primary had written and the slowest replica had not written; where there are replicas";
    WRITE_LAG_MAX_MS write_lag_max_ms, "write lag in time, greatest", Milliseconds, None, Lower, "Greatest of the looks during the run: how old WAL was when the slowest replica had written it, or how long it has waited for that";
    WRITE_LAG_END_BYTES write_lag_end_bytes, "write lag, at the end", Bytes, None, Lower, "When the load ended: WAL that the primary had written and the slowest replica had not written; where there are replicas";
    WRITE_LAG_END_MS write_lag_end_ms, "write lag in time, at the end", Milliseconds, None, Lower, "When the load ended: how old WAL was when the slowest replica had written it, or how long it has waited for that";
    FLUSH_LAG_MAX_BYTES flush_lag_max_bytes, "flush lag, greatest", Bytes, None, Lower, "Greatest of the looks during the run: WAL that the primary had written and the slowest replica had not flushed; where there are replicas";
    FLUSH_LAG_MAX_MS flush_lag_max_ms, "flush lag in time, greatest", Milliseconds, None, Lower, "Greatest of the looks during the run: how old WAL was when the slowest replica had flushed it, or how long it has waited for that";
    FLUSH_LAG_END_BYTES flush_lag_end_bytes, "flush lag, at the end", Bytes, None, Lower, "When the load ended: WAL that the primary had written and the slowest replica had not flushed; where there are replicas";
    FLUSH_LAG_END_MS flush_lag_end_ms, "flush lag in time, at the end", Milliseconds, None, Lower, "When the load ended: how old WAL was when the slowest replica had flushed it, or how long it has waited for that";
    REPLAY_LAG_MAX_BYTES replay_lag_max_bytes, "replay lag, greatest", Bytes, None, Lower, "Greatest of the looks during the run: WAL that the primary had written and the slowest replica had not replayed; where there are replicas";
    REPLAY_LAG_MAX_MS replay_lag_max_ms, "replay lag in time, greatest", Milliseconds, None, Lower, "Greatest of the looks during the run: how old WAL was when the slowest replica had replayed it, or how long it has waited for that";
    REPLAY_LAG_END_BYTES replay_lag_end_bytes, "replay lag, at the end", Bytes, None, Lower, "When the load ended: WAL that the primary had written and the slowest replica had not replayed; where there are replicas";
    REPLAY_LAG_END_MS replay_lag_end_ms, "replay lag in time, at the end", Milliseconds, None, Lower, "When the load ended: how old WAL was when the slowest replica had replayed it, or how long it has waited for that";
    BALANCED_TO_REPLICAS_PCT balanced_to_replicas_pct, "reads sent to replicas", Percent, None, Neither, "Share of the SELECT statements that Pgpool-II sent to replicas, as it counts them; where clients connect through one";
    POOLER_CPU_S pooler_cpu_s, "pooler's CPU", Seconds, Transaction, Lower, "CPU time of a pooler of pgdyno's own and of its children";
    REPLICAS_CPU_S replicas_cpu_s, "replicas' CPU", Seconds, Transaction, Lower, "CPU time of all processes of all replicas on this machine; `server_cpu_s` is the primary's alone";
}

rows! {
    COMPLETIONS: Counter by Engine;
    COMPLETED completed, "transactions completed", Count, Run, Higher, "Transactions that throughput counts";
    DRAINED drained, "transactions drained", Count, Run, Lower, "Open load: transactions of `due` that were started only when the measured part was over";
    LEFT_OPEN left_open, "transactions left open", Count, Run, Lower, "Transactions of `late` that were still open when the wait for them was over; absent where there are none";
}

rows! {
    KERNEL: Figure by Kernel;
    SERVER_CPU_S server_cpu_s, "server CPU", Seconds, Transaction, Lower, large from 5e-6 in "server CPU", "CPU time of all processes of a server on this machine, including processes that ended meanwhile; in slices, of this arm alone";
    SERVER_INSTRUCTIONS server_instructions, "server's instructions", Count, Transaction, Lower, "Instructions of all processes of a server on this machine, in user space; where the machine has hardware counters";
    SERVER_CYCLES server_cycles, "server CPU cycles", Count, Transaction, Lower, "CPU cycles of the same";
    CHILD_USER_CPU_S child_user_cpu_s, "program's user CPU", Seconds, Transaction, Lower, large from 0.1 in "program's CPU", "User CPU time of the program that did the job";
    CHILD_SYSTEM_CPU_S child_system_cpu_s, "program's system CPU", Seconds, Transaction, Lower, "System CPU time of the program that did the job";
    CHILD_MAX_RSS_BYTES child_max_rss_bytes, "program's memory", Bytes, Run, Lower, "Largest resident memory of the program that did the job";
    CHILD_WALL_S child_wall_s, "program's time", Seconds, Run, Lower, "Time from the start of the program to its end, as `time` says; of imported loads";
    PGDYNO_CPU_S pgdyno_cpu_s, "pgdyno's own CPU", Seconds, Run, Lower, "CPU time of pgdyno itself while the program was at work";
    SERVER_DISK_READ_BYTES server_disk_read_bytes, "read from disk", Bytes, Transaction, Lower, large from 1024.0 in "disk", "Bytes that the server's processes had fetched from disk";
    SERVER_DISK_WRITTEN_BYTES server_disk_written_bytes, "written to disk", Bytes, Transaction, Lower, large from 1024.0 in "disk", "Bytes that the server's processes made dirty, counted when they do it";
    STORAGE_DATA_BYTES storage_data_bytes, "data folder on disk", Bytes, Run, Lower, "Bytes that the data folder takes of the server's own storage";
    STORAGE_TABLESPACE_BYTES storage_tablespace_bytes, "databases on disk", Bytes, Run, Lower, "Bytes that the tablespace takes of the server's own storage";
    STORAGE_WAL_BYTES storage_wal_bytes, "log on disk", Bytes, Run, Lower, "Bytes that the WAL takes of the server's own storage";
    STORAGE_UNCOMPRESSED_BYTES storage_uncompressed_bytes, "the same uncompressed", Bytes, Run, Neither, "Bytes that files on a storage which compresses would take without";
    STEAL_PCT steal_pct, "CPU steal", Percent, None, Lower, "Share of this machine's CPU time that the hypervisor took";
    IOWAIT_PCT iowait_pct, "I/O wait", Percent, None, Lower, "Share of this machine's CPU time that was idle while I/O was waited for";
    CPU_BUSY_PCT cpu_busy_pct, "CPU busy", Percent, None, Neither, "Share of this machine's CPU time that was not idle";
    CPU_PRESSURE_PCT cpu_pressure_pct, "CPU pressure", Percent, None, Lower, "Share of the time in which something on this machine waited for a CPU";
    CPU_OTHERS_PCT cpu_others_pct, "other programs' CPU", Percent, None, Lower, "Share of this machine's CPU time that other programs used";
    LOAD_1M load_1m, "load average", Count, None, Lower, "Load average of this machine over one minute, at the end";
    SERVER_THROTTLED_PCT server_throttled_pct, "server throttled", Percent, None, Lower, "Share of the periods of its CPU quota in which the server had to wait; where it has one, and it can be read";
    SERVER_STEAL_PCT server_steal_pct, "CPU steal of the server's machine", Percent, None, Lower, "As steal_pct, of the server's machine, where that is read through SQL";
    SERVER_IOWAIT_PCT server_iowait_pct, "I/O wait of the server's machine", Percent, None, Lower, "As iowait_pct, of the server's machine, where that is read through SQL";
    SERVER_CPU_BUSY_PCT server_cpu_busy_pct, "CPU busy of the server's machine", Percent, None, Neither, "As cpu_busy_pct, of the server's machine, where that is read through SQL";
    SERVER_CPU_PRESSURE_PCT server_cpu_pressure_pct, "CPU pressure of the server's machine", Percent, None, Lower, "As cpu_pressure_pct, of the server's machine, where that is read through SQL";
    SAME_CPU_PCT same_cpu_pct, "client and backend on one CPU", Percent, None, Neither, "Share of looks at which a client thread and a busy backend had one CPU; managed servers on Linux";
    CLIENT_MOVES_PER_S client_moves_per_s, "moves of client threads", PerSecond, None, Lower, "How often the kernel moved client threads to another CPU";
    BACKEND_MOVES_PER_S backend_moves_per_s, "moves of backends", PerSecond, None, Lower, "How often the kernel moved busy backends to another CPU";
    PAGE_CACHE_PCT page_cache_pct, "page cache", Percent, None, Neither, "Share of the server's files that was in the page cache when it was started for the run; where `cache` is a factor";
}

rows! {
    SESSIONS: Counter by Engine;
    SESSIONS_BEGUN sessions_begun, "sessions begun", Count, Run, Neither, "Users: sessions that were due in the measured part and began";
    SESSIONS_FINISHED sessions_finished, "sessions finished", Count, Run, Higher, "Users: sessions that ended with their last transaction, in the measured part";
    SESSIONS_FAILED sessions_failed, "sessions failed", Count, Run, Lower, "Users: sessions that ended with a failed transaction, in the measured part";
    SESSIONS_CUT sessions_cut, "sessions cut", Count, Run, Neither, "Users: sessions that were open at the end of the measured part; they are not finished";
    USERS_WAITING users_waiting, "users still waiting", Count, Run, Lower, "Users who came openly in the measured part and found no free connection until its end";
}

rows! {
    USERS: Figure by Engine;
    ACTIVE_USERS_MEAN active_users_mean, "active users", Count, None, Neither, "Users: mean number of users in a session, from its intended start on";
    IN_FLIGHT_MEAN in_flight_mean, "transactions in flight", Count, None, Neither, "Users: mean number of open transactions";
    THINK_WANTED_MEAN_MS think_wanted_mean_ms, "think time, drawn", Milliseconds, None, Neither, "Users: mean of the think times that were drawn";
    THINK_ACTUAL_MEAN_MS think_actual_mean_ms, "think time, actual", Milliseconds, None, Neither, "Users: mean time from the end of a transaction to the actual start of the next, where a think time is between them; longer by how late the load generator was";
}

rows! {
    REDIS: Figure by Redis;
    REDIS_EVICTED_KEYS redis_evicted_keys, "keys evicted", Count, Transaction, Lower, "Keys evicted in the measured part; as all of INFO, not of runs in slices";
    REDIS_EXPIRED_KEYS redis_expired_keys, "keys expired", Count, Transaction, Neither, "Keys that expired in the measured part";
    REDIS_MEMORY_BEFORE_BYTES redis_memory_before_bytes, "Redis' memory before", Bytes, Run, Neither, "Memory used when the measured part began";
    REDIS_MEMORY_AFTER_BYTES redis_memory_after_bytes, "Redis' memory after", Bytes, Run, Neither, "Memory used when the measured part was over";
    REDIS_MAXMEMORY_BYTES redis_maxmemory_bytes, "Redis' memory limit", Bytes, None, Neither, "The limit of its memory; where there is one";
}

rows! {
    ENGINE: Figure by Engine;
    CLIENT_CPU_US_PER_TX client_cpu_us_per_tx, "client CPU per transaction", Microseconds, None, Lower, "CPU time of the load generator's threads ÷ transactions completed";
    CLIENT_CPU_S client_cpu_s, "client CPU", Seconds, Run, Lower, "CPU time of the load generator's threads in the measured part";
    CLIENT_CPU_PCT client_cpu_pct, "client CPU share", Percent, None, Lower, "The same as a share of all CPUs that the load generator may use";
    CLIENT_BUSIEST_THREAD_PCT client_busiest_thread_pct, "busiest client thread", Percent, None, Lower, "Share of the time in which the busiest thread of the load generator worked";
    CLIENT_SPIN_US client_spin_us, "client spin limit", Microseconds, None, Neither, "How long client threads look for news at most before they sleep; where they do";
    CLIENT_SPUN_S client_spun_s, "client spinning", Seconds, Run, Lower, "How long client threads looked for news before they slept";
    CLIENT_TURN_P99_US client_turn_p99_us, "client turn p99", Microseconds, None, Lower, "How long a client thread worked, or had to wait for a CPU, between two waits";
    TIMER_LATENESS_P50_US timer_lateness_p50_us, "timer lateness p50", Microseconds, None, Lower, "How late client threads woke up for what was due, median";
    TIMER_LATENESS_P99_US timer_lateness_p99_us, "timer lateness p99", Microseconds, None, Lower, "How late client threads woke up for what was due, 99th percentile";
    START_LAG_P50_US start_lag_p50_us, "start lag p50", Microseconds, None, Lower, "Rate load and users: how late transactions started whose client was free, median";
    START_LAG_P99_US start_lag_p99_us, "start lag p99", Microseconds, None, Lower, "Rate load and users: how late transactions started whose client was free, 99th percentile";
    CONNECT_MS connect_ms, "connecting", Milliseconds, Run, Lower, "Time until all clients were connected";
    RECONNECTIONS reconnections, "reconnections", Count, Run, Lower, "Connections made again; where there were any";
    RECONNECT_MEAN_MS reconnect_mean_ms, "reconnecting", Milliseconds, None, Lower, "Mean time to connect again";
    CONNECTIONS_LOST connections_lost, "connections lost", Count, Run, Lower, "Connections in use that were lost; where there were any";
    OUTAGE_S outage_s, "outage", Seconds, Run, Lower, "How long clients were without the server; where they were. The server's counters are left out then";
    GENERATOR_STALLED_S generator_stalled_s, "generator stalled", Seconds, Run, Lower, "How long the load generator stood still; where it did";
    GENERATOR_PAUSED_S generator_paused_s, "generator paused", Seconds, Run, Lower, "Sum of the load generator's gaps of 50 to 200 ms; where it had any";
    TIME_COUNTED_S time_counted_s, "time counted", Seconds, Run, Neither, "Closed load: clients' time inside transactions that ended in the measured part and count";
    TIME_ELSEWHERE_S time_elsewhere_s, "time elsewhere", Seconds, Run, Lower, "Clients' time inside all other transactions: most are in the percentiles";
    TIME_NOWHERE_S time_nowhere_s, "time in no figure", Seconds, Run, Lower, "Part of time_elsewhere_s: inside transactions that are in no figure, since they began before the measured part and were not over at its end, or their client gave up";
    TIME_THINKING_S time_thinking_s, "time thinking", Seconds, Run, Neither, "Clients' time until the next visit (users)";
    TIME_CONNECTING_S time_connecting_s, "time connecting", Seconds, Run, Lower, "Clients' time for connecting and preparing, after the load started";
    TIME_IDLE_S time_idle_s, "time idle", Seconds, Run, Lower, "Clients' time without a transaction: its number of transactions is done (-t), it gave up, or its thread served others";
    SLICE_MS slice_ms, "slice", Milliseconds, None, Neither, "Length of a slice, where arms take turns";
    SESSION_AGE_S session_age_s, "session age", Seconds, None, Neither, "Sessions kept from round to round: for how long they had worked before the run, 0 where they were new";
    QUADS quads, "quads", Count, Run, Neither, "Quads of slices, where arms take turns";
    VOID_QUADS void_quads, "void quads", Count, Run, Lower, "Quads that do not count";
}

rows! {
    AROUND: Figure by Around;
    PROMISE_MS promise_ms, "promise", Milliseconds, None, Neither, "The promise that was asked for";
    SETUP_S setup_s, "setup", Seconds, Run, Lower, "First run of a command: how long the command took until then (servers, preparation, guards)";
    CHECKPOINT_BEFORE_S checkpoint_before_s, "checkpoint before", Seconds, Run, Lower, "How long the checkpoint before the run took";
    AUTOVACUUM_WAIT_S autovacuum_wait_s, "wait for autovacuum", Seconds, Run, Lower, "How long autovacuum was waited for before the run";
    HOST_LAG_P99_US host_lag_p99_us, "host lag p99", Microseconds, None, Lower, "Rate load: how late 1 % of the arrivals start on this host with nothing to do, where that is known";
    PROBE_BEFORE_MS probe_before_ms, "idle probe before", Milliseconds, None, Lower, "The idle probe before the run: its least";
    PROBE_BEFORE_MEAN_MS probe_before_mean_ms, "idle probe before, mean", Milliseconds, None, Lower, "The idle probe before the run: its mean";
    PROBE_AFTER_MS probe_after_ms, "idle probe after", Milliseconds, None, Lower, "The idle probe after the run: its least";
    PROBE_AFTER_MEAN_MS probe_after_mean_ms, "idle probe after, mean", Milliseconds, None, Lower, "The idle probe after the run: its mean";
    FIRST_EXECUTION_ROWS first_execution_rows, "rows of the first execution", Count, None, Neither, "pgbench scripts: rows that came back when each was executed once before the first run";
    PROBE_TILES probe_tiles, "tiles probed", Count, None, Neither, "Tiles asked for before the first run";
    EMPTY_TILES_PCT empty_tiles_pct, "empty tiles", Percent, None, Neither, "Share of probe_tiles with nothing in them";
    TILE_BYTES_MEAN tile_bytes_mean, "length of a tile", Bytes, None, Neither, "Mean length of the tiles of probe_tiles that have something in them";
    TILE_FEATURES_MEAN tile_features_mean, "features of a tile", Count, None, Neither, "Mean number of features of the tiles of probe_tiles that have something in them";
    COMPRESSED_TILES_PCT compressed_tiles_pct, "compressed tiles", Percent, None, Neither, "Share of the tiles of probe_tiles with something in them that came compressed";
    PROBE_HIT_PCT probe_hit_pct, "keys found before", Percent, None, Higher, "Redis: share of 1000 keys that were there before the first run";
    EXTRACT_BYTES extract_bytes, "extract", Bytes, None, Neither, "Length of the OSM extract that was loaded";
    EXTRACT_MADE_S extract_made_s, "making the extract", Seconds, Run, Lower, "How long it took to make the extract; where it was made";
}

rows! {
    DERIVED: Figure by Derived;
    COMMANDS_PER_TX commands_per_tx, "commands per transaction", Count, None, Neither, "Redis: commands in each pipeline, where there are several";
    HIT_PCT hit_pct, "hits", Percent, None, Higher, "Share of what was looked for in a cache and found there, where it may be missing";
    SPEED_CHANGE_PCT speed_change_pct, "change of speed", Percent, None, Neither, "How much faster the last fifth of the run was than the first, where a closed load changes data";
    PEAK_PER_S peak_per_s, "peak", PerSecond, None, Higher, "Search for a limit: transactions per second as fast as the clients can; absent where it cannot count";
    PROMISE_KEPT promise_kept, "promise kept", Count, None, Higher, "Trial of a search: 1 where it kept the promise, else 0; absent where it cannot count";
    PROMISE_BAD_PCT promise_bad_pct, "arrivals that broke the promise", Percent, None, Lower, "Trial of a search: share of its arrivals that broke the term it kept worst";
    PROMISE_LEFT_PCT promise_left_pct, "arrivals left", Percent, None, Lower, "Trial of a search: share of its arrivals that still waited at the end or were skipped, where that alone breaks every promise";
    CLIENTS_LIMIT clients_limit, "clients are the limit", Count, None, Neither, "Trial of a search: 1 where the promise was broken only because arrivals waited for a client, else 0";
}

rows! {
    PROGRAM: Figure by Program;
    CHILD_PEAK_MEMORY_BYTES child_peak_memory_bytes, "memory as osm2pgsql says", Bytes, Run, Lower, "Largest memory that osm2pgsql reports";
    CHILD_REPORTED_S child_reported_s, "time as osm2pgsql says", Seconds, Run, Lower, "Time that osm2pgsql reports, whole seconds";
}

rows! {
    IMPORTED: Figure by Imported;
    LATENCY_MEAN_US latency_mean_us, "mean latency", Microseconds, None, Lower, "Mean latency that pgbench reports, or of an aggregated log";
    LATENCY_MEAN_FROM_TPS_US latency_mean_from_tps_us, "mean latency from tps", Microseconds, None, Lower, "The same where pgbench makes it from clients, duration and transactions";
    LATENCY_STDDEV_US latency_stddev_us, "standard deviation of latency", Microseconds, None, Lower, "Standard deviation of the latency";
    LATENCY_MIN_US latency_min_us, "least latency", Microseconds, None, Lower, "Least latency of an aggregated log";
    LATENCY_MAX_US latency_max_us, "greatest latency", Microseconds, None, Lower, "Greatest latency of an aggregated log";
    LAG_MEAN_US lag_mean_us, "mean schedule lag", Microseconds, None, Lower, "Mean schedule lag";
    LAG_MAX_US lag_max_us, "greatest schedule lag", Microseconds, None, Lower, "Greatest schedule lag";
    TPS_WITH_CONNECTING tps_with_connecting, "tps with connecting", Count, None, Higher, "Transactions per second with the time for connecting in it; up to pgbench 13";
    REPORTED_PER_S reported_per_s, "reported rate", PerSecond, None, Higher, "Transactions per second of a source that says the rate alone: a table of numbers, or the last line of another load tester";
    LATENCY_LIMIT_MS latency_limit_ms, "latency limit", Milliseconds, None, Neither, "The promise, under pgbench's name";
    MAX_TRIES max_tries, "most tries", Count, None, Neither, "Tries that a transaction had at most";
}

rows! {
    PROBE: Figure by Probe;
    ROUND_TRIP_US round_trip_us, "round trip, empty query", Microseconds, None, Lower, "what each statement pays before any work: network, TLS, wake-ups";
    SELECT_1_US select_1_us, "round trip, SELECT 1", Microseconds, None, Lower, "the least that a statement with an answer takes here";
    CPU_ONE_ROWS_PER_S cpu_one_rows_per_s, "CPU, one backend", RowsPerSecond, None, Higher, "how fast one query runs that only computes";
    CPU_ALL_ROWS_PER_S cpu_all_rows_per_s, "CPU, all backends", RowsPerSecond, None, Higher, "what all CPUs do together: the ceiling of a busy server";
    MEMORY_ONE_BYTES_PER_S memory_one_bytes_per_s, "memory, one backend", BytesPerSecond, None, Higher, "how fast one backend reads through memory: large hashes, sorts, values";
    MEMORY_ALL_BYTES_PER_S memory_all_bytes_per_s, "memory, all backends", BytesPerSecond, None, Higher, "what memory gives all of them at once: many servers end here before their CPUs";
    COMMIT_US commit_us, "commit", Microseconds, None, Lower, "how long COMMIT takes until WAL is on disk: the pace of small writes";
    COMMIT_ASYNC_US commit_async_us, "commit, not waited for", Microseconds, None, Lower, "the same with synchronous_commit = off: what is left is no disk";
    INDEX_BUILD_ROWS_PER_S index_build_rows_per_s, "index build", RowsPerSecond, None, Higher, "CREATE INDEX over integers in memory: restores, migrations, REINDEX";
    SEQ_READ_CACHED_PAGES_PER_S seq_read_cached_pages_per_s, "sequential read, cached", PagesPerSecond, None, Higher, "scanning pages in shared_buffers, before anything is done with their rows";
    SEQ_READ_BEYOND_BYTES_PER_S seq_read_beyond_bytes_per_s, "sequential read, beyond", BytesPerSecond, None, Higher, "scanning pages that are not in shared_buffers";
    RANDOM_READ_CACHED_US random_read_cached_us, "random page, cached", Microseconds, None, Lower, "finding one page in shared_buffers: what an index scan does for each row";
    RANDOM_READ_BEYOND_US random_read_beyond_us, "random page, beyond", Microseconds, None, Lower, "fetching one page that is not in shared_buffers";
}
