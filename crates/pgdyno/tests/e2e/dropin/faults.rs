//! Servers that die, restart, hang, terminate clients or refuse them, with and without `--reconnect`.

use std::process::Child;
use std::time::{Duration, Instant};

use super::{assert_composed, figure};
use crate::support::dropin::Bench;
use crate::support::{Finished, PATIENCE, Server, signal, wait};

struct Running {
    child: Child,
    out: std::path::PathBuf,
    err: std::path::PathBuf,
}

impl Running {
    fn start(bench: &Bench, args: &str) -> Self {
        let (out, err) = (bench.place.path().join("out"), bench.place.path().join("err"));
        let mut command = bench.command(&bench.ours, args.split(' '));
        command.stdout(std::fs::File::create(&out).expect("own folder"));
        command.stderr(std::fs::File::create(&err).expect("own folder"));
        Self { child: command.spawn().expect("starts"), out, err }
    }

    /// Waits until standard error contains this text.
    fn until_said(&self, words: &str) {
        let start = Instant::now();
        while !self.said().contains(words) {
            assert!(start.elapsed() < PATIENCE, "never said {words:?}: {}", self.said());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn said(&self) -> String {
        std::fs::read_to_string(&self.err).expect("own folder")
    }

    fn end(mut self) -> Finished {
        let status = wait(&mut self.child, PATIENCE);
        let stdout = std::fs::read_to_string(&self.out).expect("own folder");
        let done = Finished { status, stdout, stderr: self.said() };
        assert_composed(&done, "a fault");
        done
    }

    /// CPU time used so far, in hundredths of a second (Linux's ticks).
    fn cpu(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).expect("it runs");
        let fields: Vec<&str> =
            stat.rsplit(')').next().expect("a name in brackets").split_whitespace().collect();
        let ticks = |index: usize| fields[index].parse::<u64>().expect("ticks");
        ticks(11) + ticks(12)
    }

    fn open_files(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.id())).expect("it runs").count()
    }
}

fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

/// The clients and the length in seconds of the outages in a report.
fn outages(report: &str) -> Vec<(u64, f64)> {
    let lines = report.lines().filter(|line| line.starts_with("outage: from "));
    lines
        .map(|line| {
            let between = |from: &str, to: &str| {
                let (_, rest) = line.split_once(from).expect("as documented");
                rest.split_once(to).expect("as documented").0
            };
            let clients = between("), ", " client").parse().expect("a number");
            (clients, between("(", " s)").parse().expect("a number"))
        })
        .collect()
}

fn sessions(server: &Server) -> String {
    server.psql("select count(*) from pg_stat_activity where application_name = 'pgbench'")
}

#[test]
fn clients_come_back_to_a_server_that_was_killed_or_restarted() {
    let mut bench = Bench::start_with(&[]);
    bench.place.write("one.sql", "SELECT :client_id;\n");
    let secure = bench.server.network_url("scram", "geheim", "?sslmode=require");
    // Few clients and many: each driver, if both are available.
    for (how, clients, more) in
        [("KILL", 4, "-M prepared"), ("INT", 40, "-M simple -R 2000"), ("KILL", 8, secure.as_str())]
    {
        let args = format!("-n -c {clients} -j 2 -T 6 -P 1 -f one.sql --reconnect {more}");
        let running = Running::start(&bench, &args);
        running.until_said("progress: 1.0 s");
        let files = running.open_files();
        bench.server.end(how);
        pause(300);
        let cpu = running.cpu();
        pause(1000);
        let used = running.cpu() - cpu;
        assert!(used < 30, "{used} hundredths of a second of CPU in one second without a server");
        assert!(running.open_files() <= files, "open files grow");
        bench.server.restart();
        running.until_said("progress: 5.0 s");
        assert_eq!((sessions(&bench.server), running.open_files()), (clients.to_string(), files));
        let done = running.end().expect(0);
        assert!(
            (f64::from(clients)..5.0 * f64::from(clients))
                .contains(&figure(&done.stdout, "connections lost")),
            "{}",
            done.stdout
        );
        let outages = outages(&done.stdout);
        assert!(
            outages.iter().any(|(away, length)| *away == clients as u64 && *length > 1.2),
            "{}",
            done.stdout
        );
        let failed = figure(&done.stdout, "number of failed transactions");
        assert!((0.0..5.0 * f64::from(clients)).contains(&failed), "{}", done.stdout);
        assert!(done.stderr.contains("progress: 6.0 s"), "{}", done.stderr);
        let last = done.stderr.lines().rfind(|line| line.starts_with("progress: 5.0 s")).expect("a line");
        assert!(!last.contains(", 0.0 tps"), "they work again: {}", done.stderr);
    }
}

#[test]
fn clients_that_are_thrown_out_come_back_and_the_startup_script_runs_again() {
    let bench = Bench::start_with(&["log_statement=all"]);
    bench.place.write("one.sql", "\\sleep 1 ms\nSELECT :client_id;\n");
    bench.place.write("startup.sql", "SET work_mem = '1234kB';\n");
    let out =
        "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'pgbench'";
    let args = "-n -c 6 -j 2 -T 4 -P 1 -f one.sql --startup-script=startup.sql --reconnect --results=kept.sqlite --format=lines";
    let running = Running::start(&bench, args);
    for second in [1, 2] {
        running.until_said(&format!("progress: {second}.0 s"));
        assert_eq!(bench.server.psql(out), "6");
    }
    let done = running.end().expect(0);
    assert_eq!(figure(&done.stdout, "connections_lost"), 12.0, "{}", done.stdout);
    assert_eq!(bench.server.log().matches("statement: SET work_mem = '1234kB'").count(), 18);
    let failed = figure(&done.stdout, "transactions.failed_other");
    assert!(
        (1.0..=12.0).contains(&failed) && failed == figure(&done.stdout, "transactions.failed"),
        "{}",
        done.stdout
    );
    assert!(figure(&done.stdout, "outages.1.clients") >= 1.0, "{}", done.stdout);
    // Stored with the run.
    let mut stored = bench.place.command(["sql", "--results", "kept.sqlite", "--format", "csv"]);
    stored.arg("select count(*) from event where kind = 'outage'");
    let stored = crate::support::finish(stored).expect(0);
    let count: u32 = stored.stdout.lines().nth(1).and_then(|line| line.parse().ok()).expect("a number");
    assert!(count >= 2, "{}", stored.stdout);
}

#[test]
fn clients_that_are_turned_away_wait_and_come_back() {
    let bench = Bench::start_with(&["max_connections=12", "superuser_reserved_connections=3"]);
    bench.place.write("one.sql", "SELECT :client_id;\n");
    // At the start it is an error, with or without --reconnect.
    for more in ["-c 20", "-c 20 --reconnect"] {
        let done = Running::start(&bench, &format!("-n -T 5 -f one.sql {more}")).end().expect(1);
        assert!(done.stderr.contains("FATAL:  sorry, too many clients already"), "{}", done.stderr);
        assert!(done.stderr.contains("could not create connection for client"), "{}", done.stderr);
    }
    for mode in ["", " -C"] {
        let running =
            Running::start(&bench, &format!("-n -U scram -c 3 -T 5 -P 1 -f one.sql --reconnect{mode}"));
        running.until_said("progress: 1.0 s");
        bench.server.psql("alter role scram connection limit 0");
        bench.server.psql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'scram'");
        let cpu = running.cpu();
        pause(1000);
        let used = running.cpu() - cpu;
        assert!(used < 40, "{used} hundredths of a second of CPU in one second of refusals");
        bench.server.psql("alter role scram connection limit -1");
        let done = running.end().expect(0);
        assert!(outages(&done.stdout).iter().any(|(_, length)| *length > 0.9), "{}", done.stdout);
        let failed = figure(&done.stdout, "number of failed transactions");
        assert!((1.0..=3.0).contains(&failed), "{}", done.stdout);
        let last = done.stderr.lines().rfind(|line| line.starts_with("progress: 5.0 s"));
        assert!(last.is_none_or(|line| !line.contains(", 0.0 tps")), "{}", done.stderr);
    }
}

#[test]
fn clients_go_on_with_the_next_server() {
    let mut bench = Bench::start_with(&[]);
    let other = Server::start();
    bench.place.write("one.sql", "SELECT :client_id;\n");
    let hosts = format!("{},{}", bench.server.socket.display(), other.socket.display());
    let ports = format!("{},{}", bench.server.port, other.port);
    let args = format!("-n -h {hosts} -p {ports} -c 3 -T 4 -P 1 -M prepared -f one.sql --reconnect");
    let running = Running::start(&bench, &args);
    running.until_said("progress: 1.0 s");
    assert_eq!(sessions(&other), "0");
    bench.server.end("QUIT");
    running.until_said("progress: 3.0 s");
    assert_eq!(sessions(&other), "3");
    let done = running.end().expect(0);
    let outages = outages(&done.stdout);
    assert!(outages.iter().all(|(_, length)| *length < 1.0) && !outages.is_empty(), "{}", done.stdout);
}

/// The server process of a client in `pg_sleep`.
fn sleeper(server: &Server) -> u32 {
    let start = Instant::now();
    loop {
        let pid = server.psql("select pid from pg_stat_activity where query = 'SELECT 1, 2;' limit 1");
        if let Ok(pid) = pid.parse() {
            return pid;
        }
        assert!(start.elapsed() < PATIENCE, "nobody runs the script");
        pause(10);
    }
}

#[test]
fn a_client_that_hangs_is_named_and_ends_by_itself_or_with_ctrl_c() {
    let bench = Bench::start_with(&[]);
    bench.place.write("one.sql", "SELECT 1, 2;\n");
    for ends in [true, false] {
        let running = Running::start(&bench, "-n -c 3 -T 2 -P 1 -f one.sql");
        running.until_said("progress: 1.0 s");
        let pid = sleeper(&bench.server);
        signal(pid, "STOP");
        running.until_said("waiting for 1 client with an open transaction; Ctrl-C ends the run");
        let cpu = running.cpu();
        pause(500);
        assert!(running.cpu() - cpu < 15, "it waits without work");
        let start = Instant::now();
        if ends {
            signal(pid, "CONT");
        } else {
            signal(running.child.id(), "INT");
        }
        let done = running.end();
        signal(pid, "CONT");
        assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
        assert_eq!(done.status.code(), Some(if ends { 0 } else { 130 }), "{done:?}");
        assert!(figure(&done.stdout, "number of transactions actually processed") > 100.0, "{}", done.stdout);
    }
}

#[test]
fn bench_tells_outages_too() {
    let bench = Bench::start_with(&[]);
    let url = bench.server.url();
    let mut command = bench.place.command(["bench", &url, "-n", "-c", "3", "-T", "3", "--reconnect", "-f"]);
    command.arg(bench.place.write("one.sql", "SELECT 3;\n"));
    let killer = std::thread::scope(|scope| {
        let run = scope.spawn(|| crate::support::finish(command));
        let start = Instant::now();
        let out = "select count(pg_terminate_backend(pid)) from pg_stat_activity where query = 'SELECT 3;'";
        pause(1500);
        while bench.server.psql(out) == "0" {
            assert!(start.elapsed() < PATIENCE && !run.is_finished(), "nobody to throw out");
            pause(50);
        }
        run.join().expect("a run")
    });
    let report = &killer.stdout;
    assert!(figure(report, "connections lost") >= 1.0, "{killer:?}");
    assert!(!outages(report).is_empty(), "{report}");
    assert_eq!(bench.place.sql("select count(*) > 0 from event where kind = 'outage'"), "1");
}
