//! `--help` and `--version`.

/// pgbench's version that is implemented, and pgdyno's.
pub(crate) const VERSION: &str = concat!("18.0 (pgdyno ", env!("CARGO_PKG_VERSION"), ")");

pub(crate) fn version() -> String {
    format!("pgbench (PostgreSQL) {VERSION}\n")
}

pub(crate) fn help() -> &'static str {
    HELP
}

pub(super) const HELP: &str = r#"pgbench is a benchmarking tool for PostgreSQL; this one is pgdyno's.

Usage:
  pgbench [OPTION]... [DBNAME]

Initialization options:
  -i, --initialize         make and fill the standard tables instead of running
  -I, --init-steps=[dtgGvpf]+ (default "dtgvp")
                           steps to take, in this order
                           d: drop the standard tables
                           t: create them
                           g: fill them with rows made here
                           G: fill them with rows made by the server
                           v: vacuum and analyze them
                           p: add primary keys
                           f: add foreign keys
  -F, --fillfactor=NUM     fill factor of the tables in percent (10 to 100)
  -n, --no-vacuum          leave out every step v
  -q, --quiet              report progress every 5 seconds only
  -s, --scale=NUM          scale: 100,000 accounts each (default: 1)
  --foreign-keys           add foreign keys (step f)
  --index-tablespace=TABLESPACE
                           tablespace of the primary keys
  --init-batch=ROWS        rows per transaction while filling (default: all)
  --init-jobs=NUM          connections that fill concurrently
  --partition-method=(range|hash)
                           how accounts are partitioned (default: range)
  --partitions=NUM         number of partitions of the accounts (default: 0)
  --tablespace=TABLESPACE  tablespace of the tables
  --unlogged-tables        make the tables unlogged

Options that choose what runs:
  -b, --builtin=NAME[@W]   add a builtin script with weight W (default: 1)
                           ("-b list" names them)
  -f, --file=FILENAME[@W]  add your script with weight W (default: 1)
                           ("-" is standard input)
  -N, --skip-some-updates  as "-b simple-update": tellers and branches stay unchanged
  -S, --select-only        as "-b select-only"
  --group=COUNT=SCRIPT[@W],...
                           let COUNT clients run these scripts, by number, and no
                           others; repeatable, the counts add up to -c
  --read-script=NUM,...    numbers of scripts that only read (see --hosts)
  --startup-script=FILENAME
                           run this script once on every new connection, unmeasured

Benchmarking options:
  -c, --client=NUM         number of clients (default: 1)
  -C, --connect            make a new connection for each transaction
  -D, --define=VARNAME=VALUE
                           set a variable of the scripts
  -j, --jobs=NUM           number of threads (default: 1)
  -l, --log                write a line per transaction to log files
  -L, --latency-limit=NUM  count transactions that take more than NUM ms as late
  -M, --protocol=simple|extended|prepared
                           how statements are sent (default: simple)
  -n, --no-vacuum          vacuum nothing before the run
  -P, --progress=NUM       report progress every NUM seconds
  -r, --report-per-command report latencies, failures and retries per command
  -R, --rate=NUM           start NUM transactions per second
  -s, --scale=NUM          scale to report, for your own scripts
  -t, --transactions=NUM   transactions per client (default: 10)
  -T, --time=NUM           length of the run in seconds
  -v, --vacuum-all         vacuum the accounts as well before the run
  --allow-changed-settings measure although an earlier pgdyno left settings
                           of the server changed
  --aggregate-interval=NUM write a log line per NUM seconds instead
  --client-cpus=LIST       keep the threads on these CPUs, which nothing else uses,
                           such as 0,2-3; a thread with its own CPU polls for a
                           while before it sleeps
  --continue-on-error      count a transaction that gets any SQL error as failed
                           and continue
  --driver=auto|portable|io_uring
                           how bytes are sent and received (default: auto)
  --exit-on-abort          end the whole run when a client is aborted
  --failures-detailed      report failures by their kind
  --format=text|json|lines how the report is printed (default: text)
  --hosts=first|round-robin|random|read-write
                           which of several hosts a client connects to
                           (default: first)
  --log-prefix=PREFIX      start of the log files' names
                           (default: "pgbench_log")
  --max-tries=NUM          tries of a transaction that fails by serialization or
                           deadlock (default: 1; 0: no bound)
  --percentiles=LIST       report these percentiles of latency, such as 50,95,99.9
  --progress-timestamp     progress with Unix time instead of seconds since the start
  --random-seed=SEED       seed of all randomness ("time", "rand" or a number)
  --reconnect              reopen lost connections and continue; their open
                           transactions count as failed
  --results=FILE           keep the run in this results file of pgdyno
  --sampling-rate=NUM      share of transactions in the log (0.01 for 1%)
  --show-script=NAME       show a builtin script and exit
  --verbose-errors         print every error that is retried or counted
  --warmup=SECONDS         load before anything is counted (default: 0)

Common options:
  --debug                  print debugging output
  -d, --dbname=DBNAME      database, connection string or URI
  -h, --host=HOSTNAME      host or folder of the server's socket
  -p, --port=PORT          port of the server
  -U, --username=USERNAME  user to connect as
  -V, --version            print the version and exit
  -?, --help               print this and exit

Report bugs to the issues of pgdyno, with the command and what it printed.
"#;

#[cfg(test)]
mod tests {
    use super::super::options::{BESIDE, PGBENCH};
    use super::*;

    #[test]
    fn every_option_is_in_the_help() {
        for spec in PGBENCH.iter().chain(&BESIDE) {
            let long = format!("--{}{}", spec.long, if spec.takes_value() { "=" } else { " " });
            assert!(HELP.contains(&long), "{long}");
            if let Some(short) = spec.short {
                let both = format!("  -{}, {}", char::from(short), long.trim_end());
                assert!(HELP.contains(&both), "{both}");
            }
        }
        assert!(HELP.lines().all(|line| line.len() <= 88), "a line is too long");
        assert!(version().starts_with("pgbench (PostgreSQL) 18.0 (pgdyno "));
    }
}
