//! A PgBouncer in front of a private server, in a user's typical setup.

use std::fs::File;
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{PATIENCE, Server, account, free_port, is_root, signal};

pub struct Pooler {
    process: Child,
    port: u16,
}

impl Pooler {
    /// In front of this server, with these lines in `[pgbouncer]`.
    pub fn start(server: &Server, more: &str) -> Self {
        let port = free_port();
        let file = server.socket.join("pgbouncer.ini");
        let text = format!(
            "[databases]\npostgres = host={0} port={1} user=postgres\nalias = host={0} port={1} user=postgres dbname=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\n{more}\n",
            server.socket.display(),
            server.port
        );
        std::fs::write(&file, text).expect("own folder");
        let mut command = Command::new("pgbouncer");
        if is_root() {
            let (uid, gid) = account("postgres").or_else(|| account("nobody")).expect("an unprivileged user");
            command.uid(uid).gid(gid);
        }
        let log = File::create(server.socket.join("pgbouncer.log")).expect("own folder");
        let command = command.arg(&file).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let pooler = Self { process: command.spawn().expect("pgbouncer"), port };
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(start.elapsed() < PATIENCE, "pgbouncer did not start");
            std::thread::sleep(Duration::from_millis(20));
        }
        pooler
    }

    pub fn url(&self) -> String {
        self.url_of("postgres")
    }

    /// The same for a database by its name there; `alias` is another name of `postgres`.
    pub fn url_of(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        signal(self.process.id(), "INT");
        let _ = self.process.wait();
    }
}
