//! Starts and stops the server.

use std::ffi::OsString;
use std::net::TcpListener;
use std::path::Path;
use std::time::{Duration, Instant};

use spec::{Class, Error};

use super::crash::{ServerCrash, first_crash, recovers};
use super::error::{LastLines, disk_full, server_file_error, storage_full, would_not_stop};
use super::log::{disk_full_line, quote};
use super::postmaster::{self, PidFile};
use super::{Choice, Cluster, NetworkAccess, Running, SOCKET_PORT, installation_for};
use crate::child::{Program, StopWay};
use crate::home::{Dir, socket_folder};
use crate::host::proc::is_alive;

/// Timeout of a start; crash recovery can be long.
const START_BOUND: Duration = Duration::from_secs(1800);
/// How long a fast shutdown may take (its last checkpoint) before it becomes an immediate one.
pub(super) const STOP_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a stop waits for a server that recovers from a crash.
const RECOVERY_BOUND: Duration = Duration::from_secs(5);
const LONGEST_SOCKET_NAME: &str = ".s.PGSQL.65535";

impl Cluster {
    /// Starts the server unless it runs, and waits until it accepts connections (including crash recovery).
    ///
    /// # Errors
    /// When it does not start, with its last log lines.
    pub fn start(&mut self) -> Result<(), Error> {
        if !matches!(self.running, Running::No) {
            return Ok(());
        }
        if !self.is_found {
            self.installation = installation_for(&self.marker, &Choice::default(), &self.name)?;
            self.is_found = true;
        }
        postmaster::clear_leftovers(&self.data_folder()?);
        self.make_socket_folder()?;
        self.clear_sockets();
        self.choose_port()?;
        self.ensure_certificate()?;
        self.log_start = self.log.length();
        self.killed_by = None;
        let log = self.log.open().map_err(|error| server_file_error(&self.log.path(), error))?;
        let program = self.server_program();
        self.running = if self.marker.detached {
            Running::Detached(self.watchdog.start_detached(&program, &log)?)
        } else {
            Running::Watched(self.watchdog.start(&program, &log)?)
        };
        let ready = self.await_ready();
        if ready.is_err() {
            let _ = self.stop();
        }
        ready
    }

    /// Stops the server by a fast shutdown, unless it is stopped already.
    pub fn stop(&mut self) -> Result<(), Error> {
        self.end_recovery();
        match std::mem::replace(&mut self.running, Running::No) {
            Running::No => Ok(()),
            Running::Watched(mut child) => {
                let pid = child.pid();
                match child.stop() {
                    // Its watchdog will stop it.
                    Err(error) if child.is_left() => return Err(error),
                    // A watchdog that was killed cannot stop its child; then we do it ourselves.
                    Err(error) if !self.stop_postmaster(pid) => return Err(error),
                    _ => {}
                }
                self.leave_sockets();
                Ok(())
            }
            Running::Detached(pid) if self.stop_postmaster(pid) => {
                self.leave_sockets();
                Ok(())
            }
            Running::Detached(pid) => {
                self.running = Running::Detached(pid);
                Err(would_not_stop(pid))
            }
        }
    }

    /// A fast shutdown of a server that recovers from a crash hangs: it waits for a checkpointer that nobody stops
    /// (seen in PostgreSQL 15). It is ended at once, and recovers at its next start.
    fn end_recovery(&self) {
        let Some(pid) = self.pid().filter(|_| self.recovers()) else { return };
        let is_over = || !self.recovers() || self.stop.soon() || !is_alive(pid);
        if !postmaster::wait_until(RECOVERY_BOUND, is_over) {
            postmaster::quit(pid);
        }
    }

    fn recovers(&self) -> bool {
        recovers(&self.log.since(self.log_start))
    }

    /// Stops a server that is not our child; returns whether it is gone.
    fn stop_postmaster(&self, pid: u32) -> bool {
        match self.data_folder() {
            Ok(data) => postmaster::stop(pid, &data, STOP_TIMEOUT),
            Err(_) => !is_alive(pid),
        }
    }

    /// Stops and starts the server.
    pub fn restart(&mut self) -> Result<(), Error> {
        self.stop()?;
        self.start()
    }

    /// Checks that the server still runs.
    ///
    /// # Errors
    /// How it died, with its last log lines, or that its disk is full.
    pub fn check(&mut self) -> Result<(), Error> {
        match self.ended() {
            Ok(None) => Ok(()),
            Ok(Some(end)) => {
                self.running = Running::No;
                Err(self.died(&end))
            }
            // Its watchdog is gone, and a server that the kernel then stops cannot be used.
            Err(error) => {
                let _ = self.stop();
                Err(error)
            }
        }
    }

    /// The last lines of the server's log since its start, without statements and passwords.
    #[must_use]
    pub fn last_log_lines(&self) -> String {
        quote(&self.log.since(self.log_start))
    }

    /// Length of the server's log, bytes: what it reports later follows there.
    #[must_use]
    pub fn log_length(&self) -> u64 {
        self.log.length()
    }

    /// The first crash since the server's start: that the log reports after its first `start` bytes, or of the server
    /// as a whole.
    #[must_use]
    pub fn crash_since(&self, start: u64) -> Option<ServerCrash> {
        let log = self.log.since(start.max(self.log_start));
        first_crash(&log).or_else(|| {
            let is_of_it = |line: &&str| !line.contains("LOG:  checkpoint ");
            let lines = quote(&log).lines().filter(is_of_it).map(str::to_owned).collect();
            Some(ServerCrash { signal: self.killed_by?, lines, statement: None })
        })
    }

    /// The log line that reports a full disk, if written since the server's start.
    #[must_use]
    pub fn disk_full(&self) -> Option<String> {
        disk_full_line(&self.log.since(self.log_start))
    }

    /// The error of its disk: its storage was lost, or is full.
    #[must_use]
    pub fn disk_error(&self) -> Option<Error> {
        let full = || self.disk_full().map(|line| self.is_full(&line));
        self.file_storage.as_ref().and_then(|file_storage| file_storage.lost()).or_else(full)
    }

    /// The error of a full disk, reported by `line`.
    pub(super) fn is_full(&self, line: &str) -> Error {
        let folder = self.disk_folder();
        match self.file_storage {
            Some(_) => storage_full(&folder, line),
            None => disk_full(&folder, line),
        }
    }

    fn server_program(&self) -> Program {
        let listen = if self.marker.network { "127.0.0.1" } else { "" };
        let setting = |name: &str, file: &Path| {
            let mut setting = OsString::from(format!("{name}="));
            setting.push(file);
            ["-c".into(), setting]
        };
        let program =
            Program::server(self.installation.program("postgres"), self.folder.path(), self.account.as_ref())
                .arg("-D")
                .arg(self.data())
                .arg("-k")
                .arg(&self.socket_folder)
                .args(["-p".to_owned(), self.marker.port.to_string()])
                .args(["-c".to_owned(), format!("listen_addresses={listen}")])
                .args(["-c", "unix_socket_permissions=0700"])
                .stopped_by(StopWay::Postgres);
        if self.marker.via() < NetworkAccess::Tls {
            return program;
        }
        program
            .args(["-c", "ssl=on"])
            .args(setting("ssl_cert_file", &self.certificate_file()))
            .args(setting("ssl_key_file", &self.key_file()))
    }

    /// A port for a server with network: its last one, if still free, but not PostgreSQL's default, which
    /// others would take for this machine's server.
    fn choose_port(&mut self) -> Result<(), Error> {
        let is_free = |port| TcpListener::bind(("127.0.0.1", port)).is_ok();
        if !self.marker.network || (self.marker.port != SOCKET_PORT && is_free(self.marker.port)) {
            return Ok(());
        }
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
        self.marker.port = free.map_err(|error| server_file_error(self.folder.path(), error))?.port();
        self.write_marker()
    }

    /// Removes sockets that a dead server left: only servers of this folder make them there.
    fn clear_sockets(&self) {
        let Ok(entries) = std::fs::read_dir(&self.socket_folder) else { return };
        for entry in entries.flatten() {
            let _ = std::fs::remove_file(entry.path());
        }
    }

    /// Makes the folder of the socket, which is missing after a reboot and after every stop.
    pub(super) fn make_socket_folder(&mut self) -> Result<(), Error> {
        self.socket_folder = socket_folder(self.folder.path(), LONGEST_SOCKET_NAME, self.account.as_ref())?;
        Ok(())
    }

    /// Removes the socket folder of a stopped server; the next start makes it again.
    pub(super) fn leave_sockets(&self) {
        self.clear_sockets();
        let _ = std::fs::remove_dir(&self.socket_folder);
    }

    fn await_ready(&mut self) -> Result<(), Error> {
        let start = Instant::now();
        let data = self.data_folder()?;
        loop {
            if let Some(end) = self.ended()? {
                self.running = Running::No;
                return Err(self.not_started(&end));
            }
            if self.stop.at_once() {
                return Err(Error::stopped());
            }
            if is_ready(&data, self.pid()) {
                return Ok(());
            }
            if start.elapsed() > START_BOUND {
                return Err(self.not_started(&format!("not ready after {} s", START_BOUND.as_secs())));
            }
            std::thread::sleep(Duration::from_millis(4));
        }
    }

    fn ended(&mut self) -> Result<Option<String>, Error> {
        match &mut self.running {
            Running::No => Ok(Some("stopped".to_owned())),
            Running::Watched(child) => {
                let end = child.wait(Duration::ZERO)?;
                let signal = end.and_then(|end| end.signal).and_then(|signal| u32::try_from(signal).ok());
                self.killed_by = self.killed_by.or(signal);
                Ok(end.map(|ended| ended.to_string()))
            }
            Running::Detached(pid) => Ok((!is_alive(*pid)).then(|| "ended".to_owned())),
        }
    }

    fn not_started(&self, end: &str) -> Error {
        let log = self.last_log_lines();
        let not_started = || {
            Error::new(Class::Child, self.with_log("did not start", end, &log))
                .because(LastLines(log.clone()))
        };
        self.disk_error().unwrap_or_else(not_started)
    }

    fn died(&self, end: &str) -> Error {
        let died = || Error::new(Class::Unreachable, self.with_log("died", end, &self.last_log_lines()));
        self.disk_error().unwrap_or_else(died)
    }

    /// What happened to the server and how it ended, or how long the wait was, with its last log lines.
    fn with_log(&self, what: &str, end: &str, log: &str) -> String {
        format!("the server {what} ({end}); the last lines of {}:\n{log}", self.log.path().display())
    }
}

/// Whether the server of this pid takes queries.
pub(crate) fn is_ready(data: &Dir, pid: Option<u32>) -> bool {
    PidFile::read(data).is_some_and(|file| Some(file.pid) == pid && file.status.as_deref() == Some("ready"))
}
