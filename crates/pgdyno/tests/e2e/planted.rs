//! Files below root's home planted by the unprivileged account, or by code that runs as it: none is followed,
//! executed, changed or trusted.

use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{self, Finished, Place, is_root, not_available, signal};

/// User and group of the account that runs servers.
fn account() -> (u32, u32) {
    let id = |option: &str| {
        let output = Command::new("id").args([option, "postgres"]).output().expect("id");
        String::from_utf8_lossy(&output.stdout).trim().parse().expect("a number")
    };
    (id("-u"), id("-g"))
}

fn root_only(what: &str) -> bool {
    if !is_root() {
        not_available(what, "only root has an account to be protected from");
    }
    is_root()
}

fn give(path: &Path) {
    let (user, group) = account();
    std::os::unix::fs::lchown(path, Some(user), Some(group)).expect("root");
}

fn give_all(path: &Path) {
    give(path);
    if path.is_dir() && !path.is_symlink() {
        for entry in std::fs::read_dir(path).expect("a folder").flatten() {
            give_all(&entry.path());
        }
    }
}

/// Root's files in another folder, and their expected state afterwards.
struct Victim {
    folder: PathBuf,
    before: Vec<(PathBuf, u32, u32, Vec<u8>)>,
}

impl Victim {
    fn new(place: &Place) -> Self {
        let folder = place.path().join("victim");
        std::fs::create_dir_all(folder.join("inner")).expect("own folder");
        std::fs::write(folder.join("shadow"), "root:secret:0").expect("own folder");
        std::fs::set_permissions(folder.join("shadow"), PermissionsExt::from_mode(0o600)).expect("own file");
        let before = Self::look(&folder);
        Self { folder, before }
    }

    fn file(&self) -> PathBuf {
        self.folder.join("shadow")
    }

    fn look(folder: &Path) -> Vec<(PathBuf, u32, u32, Vec<u8>)> {
        let mut all = vec![folder.to_owned()];
        let mut seen = Vec::new();
        while let Some(path) = all.pop() {
            let metadata = path.symlink_metadata().expect("there");
            let content = if metadata.is_file() { std::fs::read(&path).expect("root") } else { Vec::new() };
            if metadata.is_dir() {
                all.extend(std::fs::read_dir(&path).expect("root").flatten().map(|entry| entry.path()));
            }
            seen.push((path, metadata.uid(), metadata.mode(), content));
        }
        seen.sort();
        seen
    }

    #[track_caller]
    fn is_untouched(&self, case: &str) {
        assert_eq!(Self::look(&self.folder), self.before, "{case}");
    }
}

fn run<S: AsRef<OsStr>>(place: &Place, args: impl IntoIterator<Item = S>) -> Finished {
    let done = place.run(args);
    assert!(!done.stderr.contains("panicked"), "{}", done.stderr);
    done
}

/// A program that records which user runs it, in a folder writable by all.
fn spy(place: &Place, name: &str) -> (PathBuf, PathBuf) {
    let said = place.path().join("said");
    std::fs::create_dir_all(&said).expect("own folder");
    std::fs::set_permissions(&said, PermissionsExt::from_mode(0o777)).expect("own folder");
    let bin = place.path().join("spy/bin");
    std::fs::create_dir_all(&bin).expect("own folder");
    let who = said.join("who");
    for program in [name, "initdb", "pg_ctl"] {
        let path = bin.join(program);
        std::fs::write(
            &path,
            format!("#!/bin/sh\nid -u >> {}\necho 'postgres (PostgreSQL) 15.1'\n", who.display()),
        )
        .expect("own folder");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("own file");
    }
    give_all(&place.path().join("spy"));
    (bin, who)
}

/// The journal of a server by URL contained a command, which ran as root at the next command on any server.
#[test]
fn a_journal_that_the_account_wrote_is_refused_with_its_path() {
    if !root_only("a planted journal") {
        return;
    }
    let place = Place::with_private("kept");
    run(&place, ["target", "start", "kept"]).expect(0);
    let url = run(&place, ["target", "start", "kept"]).expect(0).stdout.trim().to_owned();
    let (_, who) = spy(&place, "postgres");
    let identifier = sql(&url, "SELECT system_identifier FROM pg_control_system()");
    let entry = format!(
        r#"{{"format":3,"dsn":"{url}","system_identifier":"{identifier}","settings":{{}},"changes":[{{"id":"a1",
            "do":{{"command":"true"}},"undo":{{"command":"id -u > {}"}},"done":true,"database":"postgres",
            "environment":{{"folder":"/","variables":{{}}}}}}]}}"#,
        who.display()
    );
    let journal = place.home().join("journal");
    std::fs::create_dir_all(&journal).expect("own folder");
    let planted = journal.join("later.json");
    std::fs::write(&planted, &entry).expect("own folder");
    give(&planted);
    for args in
        [vec!["target", "restore"], vec!["target", "restore", &url], vec!["bench", "-S", "-T", "1", &url]]
    {
        let done = run(&place, &args).expect(74);
        assert!(
            done.stderr.contains("later.json") && done.stderr.contains("user postgres"),
            "{}",
            done.stderr
        );
    }
    assert!(!who.exists(), "the command ran");
    // The whole folder, and the whole home.
    for (path, owner) in [(journal.clone(), "postgres"), (place.home(), "nobody")] {
        std::fs::remove_file(&planted).ok();
        std::fs::write(&planted, &entry).expect("own folder");
        let given = Command::new("chown").arg("-R").arg(owner).arg(&path).status().expect("chown");
        assert!(given.success());
        for args in
            [vec!["target", "restore"], vec!["target", "status"], vec!["bench", "-S", "-T", "1", &url]]
        {
            let done = run(&place, &args).expect(74);
            assert!(
                done.stderr.contains(&*path.to_string_lossy()) && done.stderr.contains(owner),
                "{}",
                done.stderr
            );
        }
        assert!(!who.exists(), "the command ran");
        let taken = Command::new("chown").arg("root").arg(&path).status().expect("chown");
        assert!(taken.success());
    }
    // A journal owned by root is undone, but not as root.
    let back = Command::new("chown").arg("-R").arg("root").arg(&journal).arg(place.home()).status();
    assert!(back.expect("chown").success());
    give_all(&place.home().join("clusters/kept/data"));
    std::fs::write(&planted, &entry).expect("own folder");
    run(&place, ["target", "restore"]).expect(0);
    assert_eq!(std::fs::read_to_string(&who).expect("undone").trim(), account().0.to_string());
    run(&place, ["target", "stop", "kept"]).expect(0);
}

fn sql(url: &str, query: &str) -> String {
    let output = Command::new("psql").args(["-XAtqc", query, url]).output().expect("psql");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A superuser of a private server runs code as the account, which can write only to the data folder.
#[test]
fn a_superuser_of_a_private_server_can_write_to_nothing_that_root_reads() {
    if !root_only("a planting superuser") {
        return;
    }
    let place = Place::with_private("open");
    let url = run(&place, ["target", "start", "open"]).expect(0).stdout.trim().to_owned();
    let home = place.home();
    let data = home.join("clusters/open/data");
    let (user, group) = account();
    let mut all = vec![home.clone()];
    while let Some(path) = all.pop() {
        let metadata = path.symlink_metadata().expect("there");
        let writable = metadata.uid() == user
            || metadata.gid() == group && metadata.mode() & 0o020 != 0
            || metadata.mode() & 0o002 != 0 && !metadata.is_symlink();
        assert!(!writable || path.starts_with(&data), "the account can write to {}", path.display());
        if metadata.is_dir() && path != data {
            all.extend(std::fs::read_dir(&path).expect("root").flatten().map(|entry| entry.path()));
        }
    }
    // A link in it would redirect root's copy of the settings, and a pid file would name another socket.
    let victim = Victim::new(&place);
    for name in ["postgresql.auto.conf.pgdyno", "postgresql.auto.conf.new"] {
        sql(
            &url,
            &format!(
                "COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; ln -sf {} {name}'",
                victim.file().display()
            ),
        );
    }
    let experiment = place.write(
        "settings.toml",
        "question = \"?\"\n[target]\nmanaged = { name = \"open\" }\n[prepare]\npgbench = { scale = 1 }\n[workload.s]\npgbench = { builtin = \"select-only\" }\n\
         [compare]\nfactor = \"settings\"\nbase = \"a\"\n[settings.a]\n[settings.b]\nshared_buffers = \"64MB\"\n\
         [measure]\nwarmup = \"0s\"\nduration = \"200ms\"\nrounds = 2\n",
    );
    run(&place, ["target", "stop", "open"]).expect(0);
    let done = run(&place, [OsStr::new("run"), experiment.as_os_str()]);
    assert!(done.status.code().is_some_and(|code| code <= 3), "{}", done.stderr);
    victim.is_untouched("links in the data folder");
    let auto_conf = data.join("postgresql.auto.conf");
    assert!(!auto_conf.is_symlink() && auto_conf.metadata().expect("there").uid() == account().0);
}

/// `target start` ran the programs of a marker's folder as root.
#[test]
fn root_runs_no_program_that_a_marker_names() {
    if !root_only("a planted marker") {
        return;
    }
    let place = Place::with_private("marked");
    run(&place, ["target", "start", "marked"]).expect(0);
    run(&place, ["target", "stop", "marked"]).expect(0);
    let (bin, who) = spy(&place, "postgres");
    let marker = place.home().join("clusters/marked/pgdyno-cluster.json");
    let text = std::fs::read_to_string(&marker).expect("there");
    let old = text.lines().find(|line| line.contains("\"bin\":")).expect("a folder of programs");
    std::fs::write(&marker, text.replace(old, &format!("\"bin\": \"{}\",", bin.display()))).expect("root");
    for command in ["status", "stop", "start", "stop", "restore"] {
        let mut args = vec!["target", command];
        args.extend((command != "status").then_some("marked"));
        run(&place, args).expect(0);
    }
    assert!(!who.exists(), "{:?}", std::fs::read_to_string(&who));
    // If the user names it, it runs as the account.
    let named = run(
        &place,
        [OsStr::new("target"), "start".as_ref(), "new".as_ref(), "--pg-bin".as_ref(), bin.as_os_str()],
    );
    assert_ne!(named.status.code(), Some(0));
    let uid = account().0.to_string();
    assert!(std::fs::read_to_string(&who).expect("it was asked").lines().all(|line| line == uid));
}

/// Data in a folder open to others was treated as missing, removed and made again under a running server.
#[test]
fn data_that_are_not_trusted_are_never_removed_by_a_stop() {
    let place = Place::with_private("dear");
    let url = run(&place, ["target", "start", "dear"]).expect(0).stdout.trim().to_owned();
    sql(&url, "CREATE TABLE precious AS SELECT 1 AS a");
    let data = place.home().join("clusters/dear/data");
    let number = data.metadata().expect("there").ino();
    for mode in [0o777, 0o702] {
        std::fs::set_permissions(&data, PermissionsExt::from_mode(mode)).expect("own folder");
        for command in ["stop", "start", "destroy"] {
            let done = run(&place, ["target", command, "dear"]).expect(74);
            assert!(done.stderr.contains("dear/data"), "{}", done.stderr);
            assert_eq!(data.metadata().expect("kept").ino(), number, "{command}");
        }
    }
    std::fs::set_permissions(&data, PermissionsExt::from_mode(0o700)).expect("own folder");
    assert_eq!(sql(&url, "SELECT a FROM precious"), "1");
    run(&place, ["target", "destroy", "dear"]).expect(0);
}

/// A server with a replaced pid file was reported as stopped, and continued to run.
#[test]
fn a_server_with_another_pid_file_is_stopped_all_the_same() {
    if !root_only("a pid file that names another process") {
        return;
    }
    let place = Place::with_private("lost");
    // A pipe would block PostgreSQL itself, which reads the file when it stops.
    for replace in
        ["rm -f postmaster.pid; mkdir postmaster.pid", "echo 1 > postmaster.pid", "rm -f postmaster.pid"]
    {
        let url = run(&place, ["target", "start", "lost"]).expect(0).stdout.trim().to_owned();
        let data = place.home().join("clusters/lost/data");
        let pid = std::fs::read_to_string(data.join("postmaster.pid")).expect("it runs");
        let pid: u32 = pid.lines().next().and_then(|line| line.parse().ok()).expect("a pid");
        sql(&url, &format!("COPY (SELECT 1) TO PROGRAM 'cat > /dev/null; {replace}'"));
        run(&place, ["target", "stop", "lost"]).expect(0);
        // An ended process that was not waited for has no command line.
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        assert!(line.is_empty(), "{replace}: the server runs on");
    }
    run(&place, ["target", "destroy", "lost"]).expect(0);
}

/// A server that had just started was reported as stopped, and continued to run.
#[test]
fn an_interrupted_start_leaves_no_server() {
    let place = Place::with_private("brief");
    run(&place, ["target", "start", "brief"]).expect(0);
    run(&place, ["target", "stop", "brief"]).expect(0);
    let data = place.home().join("clusters/brief/data");
    let runs = || {
        let lines = std::fs::read_dir("/proc").unwrap().flatten();
        let lines = lines.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
        lines.filter(|line| String::from_utf8_lossy(line).contains(data.to_str().unwrap())).count()
    };
    for ms in [10, 20, 30, 40, 60, 90] {
        let mut command = place.command(["target", "start", "brief"]);
        command.current_dir("/").stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
        let mut start = command.spawn().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(ms));
        signal(start.id(), "TERM");
        if !start.wait().unwrap().success() {
            assert_eq!(runs(), 0, "interrupted after {ms} ms");
        }
        run(&place, ["target", "stop", "brief"]).expect(0);
        assert_eq!(runs(), 0, "stopped after {ms} ms");
    }
    // A pipe in place of a file blocked the server, unnoticed.
    if is_root() {
        std::fs::remove_file(data.join("PG_VERSION")).unwrap();
        let made = Command::new("mkfifo").arg(data.join("PG_VERSION")).status().unwrap();
        assert!(made.success());
        give(&data.join("PG_VERSION"));
        run(&place, ["target", "start", "brief"]).expect(71);
        assert_eq!(runs(), 0);
    }
    run(&place, ["target", "destroy", "brief"]).expect(0);
}

/// A program asked for its version could type into root's terminal.
#[test]
fn programs_that_are_asked_have_no_terminal() {
    if !root_only("a program with root's terminal") {
        return;
    }
    let place = Place::new();
    let (bin, who) = spy(&place, "postgres");
    let text = format!(
        "#!/bin/sh\n(: </dev/tty) 2>/dev/null && echo terminal >> {0} || echo none >> {0}\n",
        who.display()
    );
    std::fs::write(bin.join("postgres"), text).expect("root");
    let mut command = Command::new("script");
    let line = format!("{} target start t --pg-bin {}", env!("CARGO_BIN_EXE_pgdyno"), bin.display());
    command
        .args(["-qec", &line, "/dev/null"])
        .env("PGDYNO_HOME", place.home())
        .stdin(std::process::Stdio::null());
    support::finish(command);
    assert_eq!(std::fs::read_to_string(&who).expect("it was asked").lines().next(), Some("none"));
}

/// The planted file.
#[derive(Debug, Clone, Copy)]
enum Plant {
    LinkToFile,
    LinkToFolder,
    BrokenLink,
    HardLink,
    ForeignFile,
    ForeignFolder,
    Pipe,
    OpenFile,
}

fn plant(what: Plant, at: &Path, victim: &Victim) {
    match what {
        Plant::LinkToFile => symlink(victim.file(), at).expect("root"),
        Plant::LinkToFolder => symlink(victim.folder.join("inner"), at).expect("root"),
        Plant::BrokenLink => symlink(victim.folder.join("new"), at).expect("root"),
        Plant::HardLink => std::fs::hard_link(victim.file(), at).expect("root"),
        Plant::ForeignFile => std::fs::write(at, "{}").expect("root"),
        Plant::ForeignFolder => std::fs::create_dir(at).expect("root"),
        Plant::Pipe => assert!(Command::new("mkfifo").arg(at).status().expect("mkfifo").success()),
        Plant::OpenFile => {
            std::fs::write(at, "{}").expect("root");
            std::fs::set_permissions(at, PermissionsExt::from_mode(0o666)).expect("root");
        }
    }
    if !matches!(what, Plant::HardLink | Plant::OpenFile) {
        give(at);
    }
}

#[test]
fn thirty_kinds_of_planted_files_lead_root_nowhere() {
    use Plant::{BrokenLink, ForeignFile, ForeignFolder, HardLink, LinkToFile, LinkToFolder, OpenFile, Pipe};
    if !root_only("planted files") {
        return;
    }
    let place = Place::with_private("main");
    run(&place, ["target", "start", "main"]).expect(0);
    run(&place, ["target", "stop", "main"]).expect(0);
    let cases = [
        ("clusters/main/lock", LinkToFile),
        ("clusters/main/lock", HardLink),
        ("clusters/main/lock", Pipe),
        ("clusters/main/lock", BrokenLink),
        ("clusters/main/server.log", LinkToFile),
        ("clusters/main/server.log", HardLink),
        ("clusters/main/server.log", BrokenLink),
        ("clusters/main/server.log", Pipe),
        ("clusters/main/pgdyno-cluster.json", LinkToFile),
        ("clusters/main/pgdyno-cluster.json", ForeignFile),
        ("clusters/main/pgdyno-cluster.json", Pipe),
        ("clusters/main/pgdyno-cluster.json.new", LinkToFile),
        ("clusters/main/pgdyno-cluster.json.new", ForeignFolder),
        ("clusters/main/postgresql.auto.conf.before", LinkToFile),
        ("clusters/main/postgresql.auto.conf.before", ForeignFile),
        ("clusters/main/postgresql.auto.conf.before", OpenFile),
        ("clusters/main/journal.json", LinkToFile),
        ("clusters/main/journal.json", ForeignFile),
        ("clusters/main/journal.json", Pipe),
        ("clusters/main/data/postmaster.pid", LinkToFile),
        ("clusters/main/data/postmaster.pid", Pipe),
        ("clusters/main/data/postgresql.auto.conf.new", LinkToFile),
        ("clusters/main/data", LinkToFolder),
        ("clusters/main/storage", LinkToFolder),
        ("clusters/main", LinkToFolder),
        ("clusters/main", ForeignFolder),
        ("clusters", LinkToFolder),
        ("clusters", ForeignFolder),
        ("journal/a.json", LinkToFile),
        ("journal/a.json", ForeignFile),
        ("journal/a.json", OpenFile),
        ("journal/a.json", Pipe),
        ("journal/lock", HardLink),
        ("journal", LinkToFolder),
        ("journal", ForeignFolder),
        ("redis", LinkToFolder),
        ("poolers", LinkToFolder),
        ("tile-servers", ForeignFolder),
        ("storage", LinkToFolder),
        ("host.json", LinkToFile),
    ];
    for (number, (name, what)) in cases.into_iter().enumerate() {
        let case = format!("{what:?} at {name}");
        let victim = Victim::new(&place);
        let at = place.home().join(name);
        let aside = place.path().join(format!("aside-{number}"));
        let had = at.symlink_metadata().is_ok();
        if had {
            std::fs::rename(&at, &aside).expect("root");
        }
        std::fs::create_dir_all(at.parent().expect("below home")).expect("root");
        plant(what, &at, &victim);
        for args in [
            &["target", "status"][..],
            &["target", "start", "main"],
            &["target", "stop", "main"],
            &["target", "restore"],
        ] {
            let done = run(&place, args);
            let fine = matches!(done.status.code(), Some(0 | 64..=74));
            assert!(fine, "{case}: {args:?}: {:?}\n{}", done.status, done.stderr);
        }
        victim.is_untouched(&case);
        // Restore the earlier state.
        remove(&at);
        if had {
            std::fs::rename(&aside, &at).expect("root");
        }
        if what as u8 == HardLink as u8 {
            victim.is_untouched(&case);
        }
    }
    run(&place, ["target", "start", "main"]).expect(0);
    run(&place, ["target", "stop", "main"]).expect(0);
}

fn remove(at: &Path) {
    if at.is_dir() && !at.is_symlink() {
        std::fs::remove_dir_all(at).expect("root");
    } else if at.symlink_metadata().is_ok() {
        std::fs::remove_file(at).expect("root");
    }
}

#[test]
fn homes_that_others_can_change_are_refused_in_one_line() {
    let place = Place::new();
    let shared = place.path().join("shared");
    std::fs::create_dir(&shared).expect("own folder");
    std::fs::set_permissions(&shared, PermissionsExt::from_mode(0o777)).expect("own folder");
    let open_home = place.path().join("open-home");
    std::fs::create_dir(&open_home).expect("own folder");
    std::fs::set_permissions(&open_home, PermissionsExt::from_mode(0o770)).expect("own folder");
    chown(&open_home, None, Some(65534)).unwrap_or_default();
    let mut cases = vec![
        (shared.join("home"), shared.clone(), "chmod go-w"),
        (PathBuf::from("/tmp"), PathBuf::from("/tmp"), "PGDYNO_HOME"),
    ];
    let foreign = place.path().join("foreign");
    if is_root() {
        std::fs::create_dir(&foreign).expect("own folder");
        chown(&foreign, Some(65534), Some(65534)).expect("root");
        cases.push((foreign.join("home"), foreign.clone(), "sudo"));
        cases.push((foreign.clone(), foreign.clone(), "sudo"));
        cases.push((open_home.clone(), open_home, "chmod go-w"));
    }
    for (home, named, fix) in cases {
        for args in [["target", "status"], ["target", "start"]] {
            let mut command = place.command(args);
            command.env("PGDYNO_HOME", &home);
            let done = support::finish(command).expect(74);
            let said = &done.stderr;
            assert!(
                said.contains(&*named.to_string_lossy()) && said.contains(fix),
                "{}: {said}",
                home.display()
            );
            let errors: Vec<&str> =
                said.lines().filter(|line| !line.starts_with("starting private")).collect();
            assert!(errors.len() == 1 && errors[0].starts_with("error: "), "{said}");
        }
    }
    if is_root() {
        assert_eq!(std::fs::read_dir(&foreign).expect("root").count(), 0);
    }
}

/// It was accepted silently: another user can take its name first, and cleaners empty it.
#[test]
fn a_new_home_in_a_shared_folder_is_warned_of_once() {
    let place = Place::new();
    let sticky = place.path().join("sticky");
    std::fs::create_dir(&sticky).expect("own folder");
    std::fs::set_permissions(&sticky, PermissionsExt::from_mode(0o1777)).expect("own folder");
    let start = || {
        let mut command = place.command(["target", "start", "brief"]);
        command.env("PGDYNO_HOME", sticky.join("home"));
        support::finish(command).expect(0)
    };
    let warned = |done: &Finished| done.stderr.contains("every user can write to");
    assert!(warned(&start()));
    assert!(!warned(&start()));
    let mut stop = place.command(["target", "stop", "brief"]);
    stop.env("PGDYNO_HOME", sticky.join("home"));
    support::finish(stop).expect(0);
}
