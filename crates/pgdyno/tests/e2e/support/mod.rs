//! Common parts of end-to-end tests: a place for the program, and a private PostgreSQL server.
//!
//! Each test has one temporary folder; servers listen on a socket in it (and on loopback if a test needs it),
//! and are stopped by the pid of the started process.

pub mod dropin;
pub mod pooler;
mod server;
pub mod silent;
pub mod slurm;
mod template;

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

pub use server::Server;
use template::Template;

/// Longest time of a single command in a test.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// The map data for tests: the output of `setup/malta`, set by `make test`.
pub fn extract() -> PathBuf {
    match std::env::var_os("PGDYNO_DATA") {
        Some(path) => path.into(),
        None => {
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../setup/malta");
            let output = Command::new(script).output().expect("setup/malta");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8_lossy(&output.stdout).trim().into()
        }
    }
}

/// A temporary folder with a `PGDYNO_HOME` in it.
pub struct Place {
    folder: tempfile::TempDir,
    /// Kept for the next test.
    _template: Option<Arc<Place>>,
}

/// A place with `sleeps.sql`, whose transactions take this long on any host, and a server for it.
pub fn sleeping(seconds: f64) -> (Place, Server) {
    let (place, server) = (Place::new(), Server::start());
    place.write("sleeps.sql", format!("SELECT pg_sleep({seconds}), 1;\n"));
    (place, server)
}

#[derive(Debug)]
pub struct Finished {
    pub status: ExitStatus,
    pub stdout: String,
    pub stderr: String,
}

impl Finished {
    /// Checks the exit code; panics with all output if it differs.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.status.code(), Some(code), "stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        self
    }

    /// Asserts that standard error contains all of these.
    #[track_caller]
    pub fn says(self, words: &[&str]) -> Self {
        let said = in_one_line(&self.stderr);
        for word in words {
            let is_said = self.stderr.contains(word) || said.contains(word);
            assert!(is_said, "no {word:?} in:\n{}", self.stderr);
        }
        self
    }

    /// All that was printed, [`in_one_line`].
    pub fn words(&self) -> String {
        in_one_line(&format!("{} {}", self.stdout, self.stderr))
    }
}

/// With single blanks: where an output breaks its lines depends on the measured figures in it.
pub fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Place {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("pgdyno-test-").tempdir().expect("a temporary folder");
        // The server's account needs access.
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).expect("own folder");
        Self { folder, _template: None }
    }

    /// With a private server of this name. It is stopped.
    pub fn with_private(name: &str) -> Self {
        static PRIVATE: Template<Place> = Template::new();
        Self::with_copy(PRIVATE.get(|| Self::with_made(&[])), name)
    }

    /// The same with PostGIS in the server's database.
    pub fn with_private_postgis(name: &str) -> Self {
        static PRIVATE: Template<Place> = Template::new();
        Self::with_copy(PRIVATE.get(|| Self::with_made(&["--extensions", "postgis"])), name)
    }

    fn with_made(options: &[&str]) -> Self {
        let place = Self::new();
        place.run(["target", "start"].iter().chain(options)).expect(0);
        place.run(["target", "stop"]).expect(0);
        place
    }

    fn with_copy(template: Arc<Self>, name: &str) -> Self {
        let mut place = Self::new();
        template::copy(&template.home(), place.path());
        let clusters = place.home().join("clusters");
        std::fs::rename(clusters.join("default"), clusters.join(name)).expect("own folder");
        place._template = Some(template);
        place
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// A folder where programs may write that run as another account when tests run as root.
    pub fn open_folder(&self) -> PathBuf {
        let open = self.path().join("open");
        std::fs::create_dir_all(&open).expect("own folder");
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).expect("own folder");
        open
    }

    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    pub fn results(&self) -> PathBuf {
        self.path().join("results.sqlite")
    }

    /// Names of the private servers with a folder, including copies.
    pub fn clusters(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.home().join("clusters")) else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::write(&path, text).expect("own folder");
        path
    }

    /// The program, without the caller's libpq environment.
    pub fn command<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pgdyno"));
        command.args(args).current_dir(self.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(name);
            }
        }
        command
            .env("PGDYNO_HOME", self.home())
            .env("PGDYNO_RESULTS", self.results())
            // Tests run in parallel, but each should act as if it had the machine.
            .env("PGDYNO_MEASURING", self.path())
            .env("HOME", self.path());
        command
    }

    pub fn run<S: AsRef<OsStr>>(&self, args: impl IntoIterator<Item = S>) -> Finished {
        finish(self.command(args))
    }

    pub fn sql(&self, query: &str) -> String {
        let done = self.run(["sql", "--format", "csv", query]).expect(0);
        done.stdout.lines().nth(1).unwrap_or_default().to_owned()
    }

    /// Changes the stored fact that is like this (`json_set`), calls, and sets it back.
    pub fn with_fact(&self, like: &str, change: &str, then: impl FnOnce()) {
        let results = rusqlite::Connection::open(self.results()).unwrap();
        let select = "SELECT number, fact FROM fact WHERE experiment_id = 1 AND fact LIKE ?1";
        let (number, before): (i64, String) =
            results.query_row(select, [like], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        let set = format!(
            "UPDATE fact SET fact = json_set(fact, {change}) WHERE experiment_id = 1 AND number = ?1"
        );
        assert_eq!(results.execute(&set, [number]).unwrap(), 1, "{like}");
        then();
        let restore = "UPDATE fact SET fact = ?1 WHERE experiment_id = 1 AND number = ?2";
        results.execute(restore, (before, number)).unwrap();
    }

    /// Processes whose command line names this place (servers, watchdogs, helpers).
    pub fn processes(&self) -> Vec<String> {
        let needle = self.path().to_string_lossy().into_owned();
        let mut found = Vec::new();
        for entry in std::fs::read_dir("/proc").expect("/proc").flatten() {
            let Ok(line) = std::fs::read(entry.path().join("cmdline")) else { continue };
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            if line.contains(&needle) {
                found.push(format!("{}: {line}", entry.file_name().to_string_lossy()));
            }
        }
        found
    }

    /// Waits until no process of this place runs; panics with the rest after `limit`.
    #[track_caller]
    pub fn wait_until_quiet(&self, limit: Duration) {
        let start = Instant::now();
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            assert!(start.elapsed() < limit, "still running after {limit:?}: {left:#?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        for line in self.processes() {
            if let Some(pid) = line.split(':').next().and_then(|pid| pid.parse().ok()) {
                signal(pid, "TERM");
            }
        }
    }
}

/// `FILE:LINE` of the first line of a file with this text, as in messages.
pub fn line_of(file: &Path, words: &str) -> String {
    let text = std::fs::read_to_string(file).expect("a file");
    let line = text.lines().position(|line| line.contains(words)).expect("a line with these words");
    format!("{}:{}", file.file_name().expect("a name").to_string_lossy(), line + 1)
}

/// Runs a command, and kills it (and fails) after [`PATIENCE`].
#[track_caller]
pub fn finish(command: Command) -> Finished {
    finish_within(command, PATIENCE)
}

/// The same with another limit, for a command that repeats long work if the host is disturbed.
#[track_caller]
pub fn finish_within(mut command: Command, limit: Duration) -> Finished {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    let stdout = reader(child.stdout.take().expect("piped"));
    let stderr = reader(child.stderr.take().expect("piped"));
    let status = wait(&mut child, limit);
    let read = |handle: std::thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&handle.join().expect("reader")).into_owned()
    };
    Finished { status, stdout: read(stdout), stderr: read(stderr) }
}

fn reader(mut from: impl Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        bytes
    })
}

#[track_caller]
pub fn wait(child: &mut Child, limit: Duration) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("own child") {
            return status;
        }
        if start.elapsed() > limit {
            let _ = child.kill();
            panic!("a command took longer than {limit:?}");
        }
        std::thread::sleep(Duration::from_millis(4));
    }
}

/// Prints what a test cannot do here, and why.
#[expect(clippy::print_stderr, reason = "a test has no other way to say it")]
pub fn not_available(what: &str, reason: &str) {
    eprintln!("{what}: not available: {reason}");
}

/// A small file system in memory, unmounted when dropped.
pub struct SmallDisk(PathBuf);

impl SmallDisk {
    /// `None` if it cannot be mounted.
    pub fn mount(folder: &Path, options: &str) -> Option<Self> {
        std::fs::create_dir_all(folder).expect("own folder");
        let disk = Self(folder.to_owned());
        (is_root() && disk.change(options)).then_some(disk)
    }

    /// Mounts it with other options; returns whether that worked.
    pub fn change(&self, options: &str) -> bool {
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&self.0).status().is_ok_and(|s| s.success())
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).stderr(Stdio::null()).status();
    }
}

/// Sends a signal by name to a pid that a test started.
pub fn signal(pid: u32, name: &str) {
    let _ = Command::new("kill").args([format!("-{name}"), pid.to_string()]).stderr(Stdio::null()).status();
}

/// A started program whose standard error is read line by line.
pub struct Watched {
    pub child: Child,
    lines: mpsc::Receiver<String>,
    pub seen: String,
}

impl Watched {
    pub fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("starts");
        let stderr = BufReader::new(child.stderr.take().expect("piped"));
        let (send, lines) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if send.send(line).is_err() {
                    break;
                }
            }
        });
        Self { child, lines, seen: String::new() }
    }

    /// Reads until a line contains `words`; `false` if the program ended first.
    #[track_caller]
    pub fn until(&mut self, words: &str) -> bool {
        let start = Instant::now();
        loop {
            match self.lines.recv_timeout(PATIENCE.saturating_sub(start.elapsed())) {
                Ok(line) => {
                    self.seen += &line;
                    self.seen.push('\n');
                    if line.contains(words) {
                        return true;
                    }
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => return false,
                Err(mpsc::RecvTimeoutError::Timeout) => panic!("{words:?} never came; seen:\n{}", self.seen),
            }
        }
    }

    /// Waits for the end; returns the exit status with all of standard error.
    #[track_caller]
    pub fn end(mut self) -> (ExitStatus, String) {
        let status = wait(&mut self.child, PATIENCE);
        while let Ok(line) = self.lines.recv_timeout(Duration::from_millis(500)) {
            self.seen += &line;
            self.seen.push('\n');
        }
        (status, self.seen)
    }
}

/// Folder of PostgreSQL's programs: the newest found.
pub fn programs() -> PathBuf {
    let mut found: Vec<_> = std::fs::read_dir("/usr/lib/postgresql")
        .expect("PostgreSQL is installed (make test installs it)")
        .flatten()
        .map(|entry| entry.path().join("bin"))
        .filter(|bin| bin.join("postgres").exists())
        .collect();
    found.sort();
    found.pop().expect("PostgreSQL is installed (make test installs it)")
}

pub fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0)
}

pub fn account(name: &str) -> Option<(u32, u32)> {
    let passwd = std::fs::read_to_string("/etc/passwd").ok()?;
    let line = passwd.lines().find(|line| line.starts_with(&format!("{name}:")))?;
    let mut fields = line.split(':').skip(2);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|socket| socket.local_addr())
        .expect("loopback")
        .port()
}
