//! The server processes of one load's clients, and their memory.

use std::collections::BTreeSet;

use super::proc::{child_pids, private_bytes, title};

/// What processes of a server that serve no client are called in their titles.
const NO_CLIENT: [&str; 7] = [
    "autovacuum",
    "parallel worker",
    "logical replication",
    "walsender",
    "background worker",
    "io worker",
    "checkpointer",
];

/// The processes that a server has before a load's clients connect.
#[derive(Debug)]
pub struct ClientsToCome {
    postmaster: u32,
    before: BTreeSet<u32>,
}

impl ClientsToCome {
    /// Clients are about to connect to this server.
    #[must_use]
    pub fn watch(postmaster: u32) -> Self {
        Self { postmaster, before: child_pids(postmaster).into_iter().collect() }
    }

    /// The processes of its clients, which are connected now; `None` if the new processes are not as many as the
    /// clients: some may be another program's.
    #[must_use]
    pub fn connected(self, clients: usize) -> Option<Backends> {
        let new = child_pids(self.postmaster).into_iter().filter(|pid| !self.before.contains(pid));
        let serves = |pid: &u32| {
            let title = title(*pid);
            !NO_CLIENT.iter().any(|other| title.contains(other))
        };
        let pids: Vec<u32> = new.filter(serves).collect();
        (pids.len() == clients && clients > 0).then_some(Backends { pids })
    }
}

/// The server processes of a load's clients.
#[derive(Debug, Clone)]
pub struct Backends {
    pids: Vec<u32>,
}

impl Backends {
    /// Their private memory together, bytes: anonymous memory in RAM (`RssAnon`), without shared buffers and
    /// programs. The kernel counts it for each thread up to 64 pages late (proc(5)). `None` if one has ended.
    #[must_use]
    pub fn private_bytes(&self) -> Option<u64> {
        self.pids.iter().map(|pid| private_bytes(*pid)).sum()
    }

    /// Their number.
    #[must_use]
    pub fn count(&self) -> usize {
        self.pids.len()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};

    use super::*;

    /// A shell stands for a server, its children for the processes of clients.
    #[test]
    fn only_processes_that_came_with_the_clients_count() {
        let mut server = Command::new("sh")
            .args([
                "-c",
                "sleep 60 & a=$!; echo; read x; sleep 61 & b=$!; sleep 62 & c=$!; echo; read x; kill $a $b $c; wait",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut input, mut output) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
        output.read_exact(&mut [0]).unwrap();
        let watched = || ClientsToCome::watch(server.id());
        let (two, three) = (watched(), watched());
        input.write_all(b"\n").unwrap();
        output.read_exact(&mut [0]).unwrap();
        assert!(three.connected(3).is_none(), "two came, not three");
        let backends = two.connected(2).unwrap();
        assert_eq!(backends.count(), 2);
        assert!(backends.private_bytes().unwrap() > 0);
        input.write_all(b"\n").unwrap();
        server.wait().unwrap();
        assert_eq!(backends.private_bytes(), None, "they have ended");
    }
}
