//! A private PostgreSQL server of a test. Its data folder is a copy: initdb, a certificate and PostGIS take longer.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::template::{Template, copy};
use super::{PATIENCE, account, free_port, is_root, programs, signal};

/// A private PostgreSQL server: trust on its socket for `postgres`, and on loopback the users `scram`, `md5`
/// and `password` (password `geheim`) with the method of that name.
pub struct Server {
    data: PathBuf,
    pub socket: PathBuf,
    pub port: u16,
    process: Child,
    settings: Vec<String>,
    /// Kept for the next test.
    _template: Option<Arc<Server>>,
    _folder: TempDir,
}

impl Server {
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts with extra settings (`name=value`).
    pub fn start_with(settings: &[&str]) -> Self {
        Self::start_copy(plain(), settings)
    }

    /// Starts with PostGIS in its database.
    pub fn start_with_postgis() -> Self {
        Self::start_copy(postgis(), &[])
    }

    /// Starts with PostGIS and the tables of these statements, with statistics.
    pub fn start_with_map(sql: &str) -> Self {
        let server = Self::start_with_postgis();
        server.psql(sql);
        server.psql("VACUUM ANALYZE");
        server
    }

    /// Makes data on a server with PostGIS, of which copies can be started.
    pub fn made_with_postgis(make: impl FnOnce(&Self)) -> Self {
        let server = Self::start_copy(postgis(), &[]);
        make(&server);
        server.finished("VACUUM ANALYZE")
    }

    /// Starts a copy of a server that was made.
    pub fn start_copy(template: Arc<Self>, settings: &[&str]) -> Self {
        let folder = folder();
        copy(&template.data, folder.path());
        Self::start_in(folder, Some(template), settings)
    }

    fn start_in(folder: TempDir, template: Option<Arc<Self>>, settings: &[&str]) -> Self {
        let (socket, data, port) = (folder.path().to_owned(), folder.path().join(DATA), free_port());
        let settings: Vec<String> = settings.iter().map(|setting| (*setting).to_owned()).collect();
        let process = launch(&data, &socket, port, &settings);
        let server = Self { data, socket, port, process, settings, _template: template, _folder: folder };
        server.wait_until_ready();
        server
    }

    /// Starts one of its own: copies have one system identifier.
    pub fn start_anew() -> Self {
        Self::start_in(initialised(), None, &[])
    }

    /// A streaming replica of it with this `cluster_name`, of its superuser.
    pub fn replica(&self, name: &str) -> Self {
        let hba = self.data.join("pg_hba.conf");
        let lines = std::fs::read_to_string(&hba).expect("own folder");
        std::fs::write(&hba, lines + "local replication all trust\n").expect("own folder");
        self.psql("select pg_reload_conf()");
        let folder = folder();
        let mut backup = as_server("pg_basebackup");
        backup.args(["-U", "postgres", "-R", "-X", "stream", "--checkpoint=fast", "-h"]).arg(&self.socket);
        backup.args(["-p", &self.port.to_string(), "-D"]).arg(folder.path().join(DATA));
        let made = backup.output().expect("pg_basebackup");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Self::start_in(folder, None, &[&format!("cluster_name={name}")])
    }

    /// Runs SQL and stops the server.
    fn finished(mut self, sql: &str) -> Self {
        self.psql(sql);
        self.end("INT");
        self
    }

    /// Ends the server with a signal to its first process: `KILL` like a power cut, `INT` like a fast
    /// shutdown.
    pub fn end(&mut self, signal_name: &str) {
        signal(self.process.id(), signal_name);
        let _ = self.process.wait();
    }

    /// Starts it again, with retries while parts of the old one still exist.
    pub fn restart(&mut self) {
        let start = Instant::now();
        loop {
            self.process = launch(&self.data, &self.socket, self.port, &self.settings);
            std::thread::sleep(Duration::from_millis(100));
            if matches!(self.process.try_wait(), Ok(None)) {
                return self.wait_until_ready();
            }
            assert!(start.elapsed() < PATIENCE, "the server did not start again: {}", self.log());
        }
    }

    fn wait_until_ready(&self) {
        let start = Instant::now();
        loop {
            let mut ping = Command::new(programs().join("pg_isready"));
            ping.arg("-q").arg("-h").arg(&self.socket).arg("-p").arg(self.port.to_string());
            if ping.status().expect("pg_isready").success() {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "the server did not start");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Connection string of the superuser over the socket.
    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The same for another database.
    pub fn url_of(&self, database: &str) -> String {
        format!("postgres:///{database}?host={}&port={}&user=postgres", self.socket.display(), self.port)
    }

    /// Connection string over loopback, with a user and password.
    pub fn network_url(&self, user: &str, password: &str, more: &str) -> String {
        format!("postgres://{user}:{password}@127.0.0.1:{}/postgres{more}", self.port)
    }

    /// Runs SQL with psql and returns its output.
    #[track_caller]
    pub fn psql(&self, sql: &str) -> String {
        let output = Command::new(programs().join("psql"))
            .args(["-XAtq", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", "postgres", "-c", sql, "-h"])
            .arg(&self.socket)
            .args(["-p", &self.port.to_string()])
            .output()
            .expect("psql");
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// Kills the server at once, like a crash.
    pub fn crash(&mut self) {
        self.end("QUIT");
    }

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.socket.join("log")).unwrap_or_default()
    }
}

fn launch(data: &Path, socket: &Path, port: u16, settings: &[String]) -> Child {
    let mut command = as_server("postgres");
    command.arg("-D").arg(data).arg("-k").arg(socket);
    command.args([
        "-p",
        &port.to_string(),
        "-c",
        "listen_addresses=127.0.0.1",
        "-c",
        "fsync=off",
        "-c",
        "ssl=on",
    ]);
    for setting in settings {
        command.args(["-c", setting]);
    }
    let log =
        std::fs::File::options().create(true).append(true).open(socket.join("log")).expect("own folder");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().expect("postgres")
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            self.crash();
        }
    }
}

/// The data folder in the folder of a server.
const DATA: &str = "data";

/// Free memory from which servers are in it, bytes.
const ROOM: u64 = 8 << 30;

/// In memory where there is room: a server has a thousand files, and ext4 makes files slowly after others were
/// removed.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let has_room = rustix::fs::statvfs(memory).is_ok_and(|disk| disk.f_bavail * disk.f_frsize >= ROOM);
    let parent = if has_room { memory.to_owned() } else { std::env::temp_dir() };
    let folder = tempfile::Builder::new().prefix("pgdyno-server-").tempdir_in(parent);
    let folder = folder.expect("a temporary folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o777)).expect("own folder");
    folder
}

/// A folder with a new data folder.
fn initialised() -> TempDir {
    let folder = folder();
    let data = folder.path().join(DATA);
    let options = ["-A", "trust", "-U", "postgres", "-N", "--encoding=UTF8", "--locale=C.UTF-8", "-D"];
    let made = as_server("initdb").args(options).arg(&data).output().expect("initdb");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    certificate(&data);
    folder
}

/// A server with the users for loopback.
fn plain() -> Arc<Server> {
    static PLAIN: Template<Server> = Template::new();
    PLAIN.get(|| {
        let folder = initialised();
        let data = folder.path().join(DATA);
        let hba = "local all all trust\nhost all scram 127.0.0.1/32 scram-sha-256\n\
                   host all md5 127.0.0.1/32 md5\nhost all password 127.0.0.1/32 password\n";
        std::fs::write(data.join("pg_hba.conf"), hba).expect("own folder");
        Server::start_in(folder, None, &[]).finished(
            "set password_encryption = 'scram-sha-256'; create role scram login password 'geheim';
             create role password login password 'geheim';
             set password_encryption = 'md5'; create role md5 login password 'geheim';",
        )
    })
}

/// The same with PostGIS.
fn postgis() -> Arc<Server> {
    static POSTGIS: Template<Server> = Template::new();
    POSTGIS.get(|| Server::start_copy(plain(), &[]).finished("create extension postgis"))
}

/// A program of PostgreSQL, as an unprivileged user if the test runs as root.
fn as_server(program: &str) -> Command {
    let mut command = Command::new(programs().join(program));
    if is_root() {
        let (uid, gid) = account("postgres").or_else(|| account("nobody")).expect("an unprivileged user");
        command.uid(uid).gid(gid);
    }
    command.env("LC_ALL", "C").current_dir("/");
    command
}

/// A self-signed certificate for the server, made as in PostgreSQL's manual.
fn certificate(data: &Path) {
    let made = Command::new("openssl")
        .args([
            "req",
            "-new",
            "-x509",
            "-days",
            "2",
            "-nodes",
            "-subj",
            "/CN=localhost",
            "-newkey",
            "rsa:2048",
        ])
        .arg("-out")
        .arg(data.join("server.crt"))
        .arg("-keyout")
        .arg(data.join("server.key"))
        .output()
        .expect("openssl");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    for name in ["server.crt", "server.key"] {
        let file = data.join(name);
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).expect("own file");
        if is_root() {
            let (uid, gid) = account("postgres").or_else(|| account("nobody")).expect("an unprivileged user");
            std::os::unix::fs::chown(&file, Some(uid), Some(gid)).expect("root may");
        }
    }
}
