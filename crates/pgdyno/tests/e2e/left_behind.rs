//! Settings of a user's server when the pgdyno that changed them is killed: its watchdog restores them;
//! otherwise every command reports them, and `target restore` restores them.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use crate::support::{self, Place, Server, Watched, in_one_line, signal};

/// Time limit for a watchdog.
const BOUND: Duration = Duration::from_secs(10);

/// An experiment with one arm that changes the server: a setting that was in postgresql.auto.conf, and one
/// that was not.
const EXPERIMENT: &str = r#"
question = "Does a slower checkpoint help?"
[target]
url = "$TEST_URL"
change_server = true
[workload.one]
pgbench = { files = ["one.sql"] }
[factors]
workload = ["one"]
clients = [2]
[compare]
factor = "settings"
base = "changed"
[settings.changed]
checkpoint_timeout = "9min"
bgwriter_delay = "50ms"
[settings.stock]
[measure]
slices = false
warmup = "0s"
duration = "1s"
rounds = 2
"#;

/// Forwards bytes to a server until a client has sent this text n times: from then on that connection hangs,
/// and its data no longer arrives.
struct Gate {
    port: u16,
    closing: Arc<Mutex<Option<(&'static str, u32)>>>,
    stuck: mpsc::Receiver<()>,
}

impl Gate {
    fn before(server: &Server) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let behind = server.port;
        let closing = Arc::new(Mutex::new(None));
        let (tell, stuck) = mpsc::channel();
        let shared = Arc::clone(&closing);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(("127.0.0.1", behind)) else { continue };
                let (back_from, back_to) = (server.try_clone().unwrap(), client.try_clone().unwrap());
                std::thread::spawn(move || pass(back_from, back_to, |_| true));
                let (closing, tell) = (Arc::clone(&shared), tell.clone());
                std::thread::spawn(move || pass(client, server, |bytes| opens(&closing, bytes, &tell)));
            }
        });
        Self { port, closing, stuck }
    }

    fn close_at(&self, words: &'static str, time: u32) {
        *self.closing.lock().unwrap() = Some((words, time));
    }
}

fn opens(closing: &Mutex<Option<(&'static str, u32)>>, bytes: &[u8], tell: &mpsc::Sender<()>) -> bool {
    let mut closing = closing.lock().unwrap();
    let Some((words, times)) = closing.as_mut() else { return true };
    if !String::from_utf8_lossy(bytes).contains(*words) {
        return true;
    }
    *times -= 1;
    if *times > 0 {
        return true;
    }
    *closing = None;
    let _ = tell.send(());
    false
}

fn pass(mut from: TcpStream, mut to: TcpStream, opens: impl Fn(&[u8]) -> bool) {
    let mut buffer = [0; 16 * 1024];
    let mut open = true;
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        open = open && opens(&buffer[..count]);
        if open && to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

/// A place with the experiment, and a server with a custom setting and a superuser with a password.
fn set_up() -> (Place, Server, PathBuf) {
    let (place, server) = (Place::new(), Server::start());
    server.psql("alter role scram superuser");
    server.psql("alter system set checkpoint_timeout = '7min'");
    server.psql("select pg_reload_conf()");
    place.write("one.sql", "SELECT 1;\n");
    let file = place.write("left.toml", EXPERIMENT);
    (place, server, file)
}

/// The content of postgresql.auto.conf, and the active values.
fn settings(server: &Server) -> (String, String) {
    let file = "select string_agg(name || '=' || setting, ' ' order by name) from pg_file_settings \
                where sourcefile like '%auto.conf'";
    let shown = "select current_setting('checkpoint_timeout') || ' ' || current_setting('bgwriter_delay')";
    (server.psql(file), server.psql(shown))
}

fn own_settings() -> (String, String) {
    ("checkpoint_timeout=7min".to_owned(), "7min 200ms".to_owned())
}

fn changed_settings() -> (String, String) {
    ("bgwriter_delay=50ms checkpoint_timeout=9min".to_owned(), "9min 50ms".to_owned())
}

fn journals(place: &Place) -> Vec<PathBuf> {
    let Ok(files) = std::fs::read_dir(place.home().join("journal")) else { return Vec::new() };
    files.flatten().map(|file| file.path()).filter(|path| path.file_name() != Some("lock".as_ref())).collect()
}

/// Processes of this place with this text in the command line.
fn pids(place: &Place, words: &str) -> Vec<u32> {
    let of = |line: &String| line.split(':').next().and_then(|pid| pid.parse().ok());
    place.processes().iter().filter(|line| line.contains(words)).filter_map(of).collect()
}

fn run(place: &Place, file: &Path, url: &str, more: &[(&str, &str)]) -> Watched {
    let mut command = place.command(["run", "--verbose", file.to_str().unwrap()]);
    command.env("TEST_URL", url).envs(more.iter().copied());
    Watched::start(command)
}

/// Kills a run's watchdog and then the run after a change, so that the change stays.
fn leave_changed(place: &Place, file: &Path, url: &str) {
    let mut running = run(place, file, url, &[]);
    assert!(running.until("step: measure"), "{}", running.seen);
    for pid in pids(place, "settings-watchdog") {
        signal(pid, "KILL");
    }
    signal(running.child.id(), "KILL");
    running.end();
    place.wait_until_quiet(BOUND);
}

#[track_caller]
fn wait_for(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < BOUND, "{what}: not within {BOUND:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_killed_pgdyno_leaves_a_users_server_as_it_was() {
    let (place, server, file) = set_up();
    let gate = Gate::before(&server);
    let network = |password: &str| {
        format!("postgres://scram{password}@127.0.0.1:{}/postgres?sslmode=disable", gate.port)
    };
    let passfile = place.write("passfile", format!("127.0.0.1:{}:*:scram:geheim\n", gate.port));
    std::fs::set_permissions(&passfile, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let passfile = passfile.to_str().unwrap();
    let (in_url, elsewhere) = (network(":geheim"), network(""));
    // (text, count, url, variables): the moment at which the run is killed.
    type Moment<'a> = (&'static str, u32, &'a str, &'a [(&'a str, &'a str)]);
    let moments: [Moment<'_>; 6] = [
        ("ALTER SYSTEM SET", 1, &in_url, &[]),
        ("ALTER SYSTEM SET", 2, &elsewhere, &[("PGPASSWORD", "geheim")]),
        ("pg_reload_conf", 1, &elsewhere, &[("PGPASSFILE", passfile)]),
        ("SELECT 1;", 300, &in_url, &[]),
        // Restoring: bgwriter_delay is reset, then checkpoint_timeout set to its old value, then the
        // configuration reloaded.
        ("SET \"checkpoint_timeout\" = '7min'", 1, &elsewhere, &[("PGPASSWORD", "geheim")]),
        ("pg_reload_conf", 2, &elsewhere, &[("PGPASSFILE", passfile)]),
    ];
    for (words, time, url, variables) in moments {
        let what = format!("{words}, time {time}");
        gate.close_at(words, time);
        let running = run(&place, &file, url, variables);
        gate.stuck.recv_timeout(Duration::from_secs(60)).unwrap_or_else(|_| panic!("{what} never came"));
        let journal = journals(&place);
        assert_eq!(journal.len(), 1, "{what}: {journal:?}");
        assert!(!std::fs::read_to_string(&journal[0]).unwrap().contains("geheim"), "{what}");
        let watchdog = pids(&place, "settings-watchdog");
        assert_eq!(watchdog.len(), 1, "{what}: {:?}", place.processes());
        for secret in ["cmdline", "environ"] {
            let bytes = std::fs::read(format!("/proc/{}/{secret}", watchdog[0])).unwrap();
            assert!(
                !String::from_utf8_lossy(&bytes).contains("geheim"),
                "{what}: the password is in its {secret}"
            );
        }
        // Ctrl-C reaches a terminal's whole session; the watchdog has a separate one, and ignores signals.
        assert_eq!(session(watchdog[0]), watchdog[0], "{what}");
        signal(watchdog[0], "INT");
        signal(watchdog[0], "TERM");
        let start = Instant::now();
        signal(running.child.id(), "KILL");
        running.end();
        wait_for(&what, || journals(&place).is_empty());
        assert_eq!(settings(&server), own_settings(), "{what}");
        place.wait_until_quiet(BOUND.saturating_sub(start.elapsed()));
    }
}

fn session(pid: u32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(") ").unwrap().1.split(' ').nth(3).unwrap().parse().unwrap()
}

#[test]
fn a_run_that_ends_by_itself_leaves_no_watchdog_and_no_journal() {
    let (place, server, file) = set_up();
    let mut running = run(&place, &file, &server.url(), &[]);
    assert!(running.until("step: measure"), "{}", running.seen);
    // Pause the run during the check: on a busy machine it had advanced two runs by then.
    signal(running.child.id(), "STOP");
    // A killed watchdog is replaced before the next change.
    let first = pids(&place, "settings-watchdog");
    assert_eq!((first.len(), settings(&server)), (1, changed_settings()));
    signal(first[0], "KILL");
    signal(running.child.id(), "CONT");
    let (status, seen) = running.end();
    assert!(matches!(status.code(), Some(0..=2)), "{seen}");
    assert!(pids(&place, "settings-watchdog").is_empty() && journals(&place).is_empty());
    assert_eq!(settings(&server), own_settings());
}

#[test]
fn what_the_watchdog_could_not_put_back_is_told_and_restored() {
    let (place, mut server, file) = set_up();
    let url = server.network_url("scram", "geheim", "?sslmode=disable");
    let mut running = run(&place, &file, &url, &[]);
    assert!(running.until("step: measure"), "{}", running.seen);
    signal(running.child.id(), "STOP");
    server.end("INT");
    signal(running.child.id(), "KILL");
    running.end();
    place.wait_until_quiet(BOUND);
    assert_eq!(journals(&place).len(), 1);

    // The server is down: every command that needs it reports the change.
    let left = ["bgwriter_delay = 50ms", "checkpoint_timeout = 9min (before: 7min)", "pgdyno target restore"];
    let status = place.run(["target", "status", "--format", "json"]).expect(0).says(&left);
    assert!(
        in_one_line(&status.stdout).contains("left changed") && !status.stdout.contains("geheim"),
        "{}",
        status.stdout
    );
    place.run(["bench", "-t", "1", "-n", "-f", "one.sql", &server.url()]).expect(66).says(&left);
    let mut again = place.command(["run", file.to_str().unwrap()]);
    again.env("TEST_URL", &url);
    support::finish(again).expect(66).says(&left);
    place.run(["target", "restore", "--url", &url]).expect(66).says(&["checkpoint_timeout"]);
    place.run(["target", "restore"]).expect(66).says(&["not put back"]);

    server.restart();
    assert_eq!(settings(&server), changed_settings());
    // A user without the right to restore it may still measure, but sees the message.
    server.psql("create role guest login");
    let guest = format!("host={} port={} user=guest dbname=postgres", server.socket.display(), server.port);
    place
        .run(["bench", "-t", "1", "-n", "-f", "one.sql", &guest])
        .expect(0)
        .says(&left)
        .says(&["not put back"]);
    // The drop-in refuses to measure, unless an option allows it.
    let dropin = |more: &[&str]| {
        let words = ["pgbench", "-n", "-t", "1", "-f", "one.sql", "-U", "postgres", "-h"];
        let (host, port) = (server.socket.to_str().unwrap(), server.port.to_string());
        place.run(words.iter().chain(&[host, "-p", &port]).chain(more).chain(&["postgres"]))
    };
    let refused = dropin(&[]).expect(1).says(&left).says(&["pgbench: error: ", "--allow-changed-settings"]);
    assert_eq!(refused.stdout, "", "nothing was measured");
    let results = place.results();
    let kept = dropin(&["--allow-changed-settings", "--results", results.to_str().unwrap()]).expect(0);
    assert!(in_one_line(&kept.stdout).contains("tps = "), "{}", kept.stdout);
    kept.says(&["pgbench: warning: ", "bgwriter_delay = 50ms"]);
    assert_eq!(settings(&server), changed_settings(), "the drop-in changes nothing");

    let done = place.run(["target", "restore", "--url", &url, "--format", "csv"]).expect(0);
    assert!(done.stdout.contains("\"bgwriter_delay, checkpoint_timeout\""), "{}", done.stdout);
    done.says(&["put back: bgwriter_delay, checkpoint_timeout"]);
    assert_eq!(settings(&server), own_settings());
    assert!(journals(&place).is_empty());
    for arguments in [&["target", "restore"][..], &["target", "restore", &url]] {
        place.run(arguments).expect(0).says(&["nothing to put back"]);
    }
    dropin(&[]).expect(0);
}

#[test]
fn the_next_command_by_another_way_says_what_it_put_back() {
    let (place, server, file) = set_up();
    leave_changed(&place, &file, &server.network_url("scram", "geheim", "?sslmode=disable"));
    assert_eq!(settings(&server), changed_settings());
    // Left over TCP, found over the socket.
    place
        .run(["bench", "-t", "1", "-n", "-f", "one.sql", &server.url()])
        .expect(0)
        .says(&["a pgdyno that was killed", "put back: bgwriter_delay, checkpoint_timeout"]);
    assert_eq!(settings(&server), own_settings());
    assert!(journals(&place).is_empty());
}

#[test]
fn the_drop_in_asks_a_server_without_a_journal_nothing_more() {
    let (place, server) = (Place::new(), Server::start_with(&["log_statement=all", "log_connections=on"]));
    place.write("one.sql", "SELECT 1;\n");
    let port = server.port.to_string();
    let words = ["pgbench", "-n", "-t", "1", "-f", "one.sql", "-U", "postgres", "-p", &port, "-h"];
    let measure = || {
        let before = server.log().len();
        place.run(words.iter().copied().chain([server.socket.to_str().unwrap(), "postgres"])).expect(0);
        let log = server.log()[before..].to_owned();
        (log.matches("connection received").count(), log.matches("statement: ").count())
    };
    let plain = measure();
    // A journal of another server: the port differs.
    let folder = place.home().join("journal");
    std::fs::create_dir_all(&folder).unwrap();
    let journal = |port: u16| {
        format!(
            r#"{{"format":2,"dsn":"host=x","system_identifier":"7","port":{port},"reached_port":{port},
                "machine":"this machine","reached_at":"this machine","pid":0,
                "settings":{{"fsync":{{"former":null,"ours":"off"}}}}}}"#
        )
    };
    std::fs::write(folder.join("a.json"), journal(1)).unwrap();
    assert_eq!(measure(), plain);
    // Possibly a journal of this server: one query, over the existing connection.
    std::fs::write(folder.join("a.json"), journal(server.port)).unwrap();
    assert_eq!(measure(), (plain.0, plain.1 + 1));
}

#[test]
fn a_full_disk_refuses_the_change() {
    if !support::is_root() {
        support::not_available("a full disk", "mounting a small file system needs root");
        return;
    }
    let (place, server, file) = set_up();
    let folder = place.home().join("journal");
    std::fs::create_dir_all(&folder).unwrap();
    let mount =
        |words: &[&str]| Command::new(words[0]).args(&words[1..]).arg(&folder).status().unwrap().success();
    if !mount(&["mount", "-t", "tmpfs", "-o", "size=64k,mode=755", "tmpfs"]) {
        support::not_available("a full disk", "tmpfs cannot be mounted here");
        return;
    }
    let filled = std::fs::write(folder.join("filler"), vec![b'x'; 1 << 20]);
    let mut command = place.command(["run", file.to_str().unwrap()]);
    command.env("TEST_URL", server.url());
    let done = support::finish(command);
    assert!(mount(&["umount"]));
    assert!(filled.is_err(), "the disk is not full");
    done.expect(74).says(&["cannot keep the journal", "nothing is changed"]);
    assert_eq!(settings(&server), own_settings());
    place.wait_until_quiet(BOUND);
}

#[test]
fn two_pgdynos_do_not_change_one_server_at_once() {
    let (place, server, file) = set_up();
    let long = place.write("long.toml", EXPERIMENT.replace("\"1s\"", "\"5s\""));
    let mut first = run(&place, &long, &server.url(), &[]);
    assert!(first.until("step: measure"), "{}", first.seen);
    let status = place.run(["target", "status", "--format", "csv"]).expect(0);
    assert!(in_one_line(&status.stdout).contains("changed by a run under way"), "{}", status.stdout);
    place.run(["target", "restore"]).expect(67).says(&["a run under way"]);
    // Also while the first run is in the arm without changes.
    assert!(first.until("step: measure"), "{}", first.seen);
    assert_eq!(settings(&server), own_settings());
    let other = place.path().join("other.sqlite");
    let mut second = place.command(["run", file.to_str().unwrap(), "--results", other.to_str().unwrap()]);
    second.env("TEST_URL", server.network_url("scram", "geheim", "?sslmode=disable"));
    support::finish(second).expect(67).says(&["another pgdyno", "(now: nothing)", "nothing is changed"]);
    signal(first.child.id(), "KILL");
    first.end();
    place.wait_until_quiet(BOUND);
    assert_eq!(settings(&server), own_settings());
    assert!(journals(&place).is_empty());
}

/// A second experiment was refused only at its first change: its other runs were measured with the settings
/// of the first experiment.
#[test]
fn a_second_experiment_is_refused_before_anything_is_measured() {
    let (place, server, _) = set_up();
    let text = EXPERIMENT.replace("base = \"changed\"", "base = \"stock\"").replace("\"1s\"", "\"4s\"");
    let file = place.write("long.toml", &text);
    let looking_on = place.write("looking-on.toml", own_arms());
    let other = place.path().join("other.sqlite");
    let refused = |file: &Path| {
        let args = ["run", "--verbose", file.to_str().unwrap(), "--results", other.to_str().unwrap()];
        let mut command = place.command(args);
        command.env("TEST_URL", server.url());
        let done = support::finish(command).expect(67);
        assert!(
            !done.stderr.contains("step: measure") && !done.stderr.contains("step: guard"),
            "{}",
            done.stderr
        );
        done.says(&["another pgdyno (pid ", "nothing is changed or measured", "pgdyno target status"]);
    };
    let mut first = run(&place, &file, &server.url(), &[]);
    // From its beginning on, before any arm is active, then in each arm.
    for time in ["step: results", "step: measure", "step: measure"] {
        assert!(first.until(time), "{}", first.seen);
        refused(&file);
        refused(&looking_on);
    }
    signal(first.child.id(), "INT");
    first.end();
    place.wait_until_quiet(BOUND);
    assert_eq!(settings(&server), own_settings());
    assert!(journals(&place).is_empty());
    // After its end nobody is refused.
    let mut command = place.command(["run", looking_on.to_str().unwrap()]);
    command.env("TEST_URL", server.url());
    support::finish(command);
    assert_eq!(place.sql("select count(*) from v_run where workload = 'one' and arm in ('a', 'b')"), "4");
}

/// The experiment with session settings only.
fn own_arms() -> String {
    let text = EXPERIMENT.replace("change_server = true\n", "").replace("base = \"changed\"", "base = \"a\"");
    let from = text.find("[settings.changed]").unwrap();
    format!("{}[settings.a]\n[settings.b]\nwork_mem = \"8MB\"\n", &text[..from])
        + "[measure]\nslices = false\nwarmup = \"0s\"\nduration = \"1s\"\nrounds = 2\n"
}

/// Another experiment changed the server's settings in the middle of a run, and the run counted.
#[test]
fn a_run_does_not_count_when_somebody_changes_the_server_under_it() {
    let (place, server, _) = set_up();
    let change = |value: &str| {
        server.psql(&format!("alter system set bgwriter_delay = '{value}'"));
        server.psql("select pg_reload_conf()");
    };
    let file = place.write("own.toml", own_arms());
    let mut running = run(&place, &file, &server.url(), &[]);
    assert!(running.until("step: measure"), "{}", running.seen);
    change("60ms");
    let (_, stderr) = running.end();
    let told = "somebody changed settings of the server under the run: bgwriter_delay was 200ms and is 60ms";
    assert!(stderr.contains(told), "{stderr}");
    // Only that run: later runs read their settings again, which are their arm's.
    let count = |which: &str| place.sql(&format!("select count(*) from v_run where {which}"));
    assert_eq!((count("validity = 'invalid'"), count("true")), ("1".into(), "4".into()), "{stderr}");

    let script = place.path().join("one.sql");
    let args = ["bench", "--verbose", "-T", "2", "-f", script.to_str().unwrap(), &server.url()];
    let mut running = Watched::start(place.command(args));
    assert!(running.until("step: measure"), "{}", running.seen);
    change("70ms");
    let (status, stderr) = running.end();
    assert!(stderr.contains("bgwriter_delay was 60ms and is 70ms"), "{stderr}");
    assert_eq!((status.code(), count("validity = 'invalid'")), (Some(3), "2".into()), "{stderr}");
}

#[test]
fn a_private_servers_settings_are_restored_by_its_name() {
    let place = Place::with_private("mine");
    place.run(["target", "start", "mine"]).expect(0);
    place.run(["target", "restore", "mine"]).expect(0).says(&["nothing to put back"]);
    place.write("one.sql", "SELECT 1;\n");
    let experiment = EXPERIMENT
        .replace("url = \"$TEST_URL\"\nchange_server = true", "managed = { name = \"mine\" }")
        .replace("duration = \"1s\"", "duration = \"20s\"");
    let file = place.write("mine.toml", experiment);
    let mut running = run(&place, &file, "", &[]);
    assert!(running.until("step: measure"), "{}", running.seen);
    signal(running.child.id(), "KILL");
    running.end();
    let columns =
        |line: &str| -> BTreeMap<usize, String> { line.split(',').map(str::to_owned).enumerate().collect() };
    let status =
        place.run(["target", "status", "--format", "csv"]).expect(0).says(&["pgdyno target restore mine"]);
    let row = columns(status.stdout.lines().nth(1).unwrap());
    assert_eq!((row[&0].as_str(), row[&6].as_str()), ("mine", "left changed"), "{}", status.stdout);
    place.run(["target", "restore", "mine"]).expect(0);
    let status = place.run(["target", "status", "--format", "csv"]).expect(0).stdout;
    assert_eq!(columns(status.lines().nth(1).unwrap())[&6], "its own", "{status}");
    place.run(["target", "restore", "nowhere"]).expect(64).says(&["nowhere"]);
    place.run(["target", "destroy", "mine"]).expect(0);
}

/// The journal of a pgdyno that was killed with its watchdog.
#[test]
fn changes_left_on_a_private_server_are_told_and_undone() {
    let place = Place::with_private("mine");
    let url = place.run(["target", "start", "mine"]).expect(0).stdout.trim().to_owned();
    let sql = |text: &str| {
        let done = Command::new("psql").args(["-XAtqc", text, &url]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap().trim().to_owned()
    };
    let id = sql("select system_identifier from pg_control_system()");
    let file = place.open_folder().join("made");
    let journal = place.home().join("clusters/mine/journal.json");
    let leave = || {
        sql("create table if not exists made ()");
        std::fs::write(&file, "").unwrap();
        let made = |step: &str| {
            format!(
                r#""done":true,"database":"pgdyno","environment":{{"folder":"/","variables":{{}}}},{step}"#
            )
        };
        let table = made(
            r#""id":"a","do":{"sql":"create table made ()"},"undo":{"sql":"drop table if exists made"}"#,
        );
        let touched = file.display();
        let touch = format!(
            r#""id":"b","do":{{"command":"touch {touched}"}},"undo":{{"command":"rm -f {touched}"}}"#
        );
        let text = format!(
            r#"{{"format":3,"dsn":"host=x","system_identifier":"{id}","pid":1,"settings":{{}},
                "changes":[{{{table}}},{{{}}}]}}"#,
            made(&touch)
        );
        std::fs::write(&journal, text).unwrap();
    };
    let undone = || !file.exists() && !journal.exists() && sql("select to_regclass('made') is null") == "t";
    let words =
        ["\"create table made ()\" (undo: \"drop table if exists made\")", "pgdyno target restore mine"];

    leave();
    let status = place.run(["target", "status", "--format", "csv"]).expect(0).says(&words);
    assert!(in_one_line(&status.stdout).contains("left changed: "), "{}", status.stdout);
    place
        .run(["target", "restore", "mine"])
        .expect(0)
        .says(&["undone: command \"touch", "\"create table made ()\""]);
    assert!(undone());
    // By any command that connects, with or without its name.
    leave();
    place.write("one.sql", "SELECT 1;\n");
    place
        .run(["bench", "-t", "1", "-n", "-f", "one.sql", &url])
        .expect(0)
        .says(&["a pgdyno that was killed", "undone: "]);
    assert!(undone());
    leave();
    place.run(["target", "stop", "mine"]).expect(0);
    place.run(["target", "status"]).expect(0).says(&words);
    place.run(["target", "restore"]).expect(0).says(&["undone: "]);
    assert!(!file.exists() && !journal.exists());
    place.run(["target", "start", "mine"]).expect(0);
    assert!(undone());
    leave();
    place.run(["target", "start", "mine"]).expect(0).says(&["undone: "]);
    assert!(undone());
    leave();
    place.run(["target", "destroy", "mine"]).expect(0).says(&["were not undone", "command \"touch"]);
}

/// A column did not exist, and the message was "what it did is still there": the server was locked for later
/// comparisons, and neither `target restore` nor a manual undo helped.
#[test]
fn a_change_that_was_never_made_needs_no_undo() {
    let (place, server) = (Place::new(), Server::start());
    server.psql("CREATE TABLE news (id int); INSERT INTO news SELECT generate_series(1, 1000)");
    let find = place.write("find.sql", "SELECT count(*) FROM news WHERE id = 5;\n").display().to_string();
    let bench = |column: &str| {
        let index = format!("sql: create index ai on news ({column})");
        let undo = ["--undo", "drop index ai", "--change-server"];
        let args = ["bench", "-f", &find, "-T", "1", "--rounds", "2", &server.url(), "--against", &index];
        place.run(args.into_iter().chain(undo))
    };
    let failed = bench("nosuchcolumn");
    assert!(failed.status.code().is_some_and(|code| code >= 64), "{}", failed.stderr);
    let failed = failed.says(&["column \"nosuchcolumn\" does not exist"]);
    assert!(!failed.stderr.contains("still there"), "{}", failed.stderr);
    let done = bench("id");
    assert!(matches!(done.status.code(), Some(0..=2)), "{}", done.stderr);
    assert_eq!(server.psql("SELECT count(*) FROM pg_class WHERE relname = 'ai'").trim(), "0");
}
