//! Features of the system that pgdyno uses if available.

use std::net::TcpListener;
use std::path::Path;

use rustix::fs::{Access, access};
use server::child::Account;
use server::home::Home;

/// One feature of the system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    pub name: &'static str,
    pub is_well: bool,
    /// The state; if not well, also the consequence.
    pub state: String,
}

/// All features, checked on this system.
#[must_use]
pub fn parts() -> Vec<Part> {
    let mut parts = vec![home()];
    parts.extend(account());
    if cfg!(target_os = "linux") {
        parts.extend([io_uring(), shared_memory(Path::new("/dev/shm"))]);
    }
    parts.push(ipv6());
    parts
}

fn part(name: &'static str, state: Result<String, String>) -> Part {
    let is_well = state.is_ok();
    Part { name, is_well, state: state.unwrap_or_else(|why| why) }
}

fn home() -> Part {
    let state = match Home::locate() {
        Ok(home) => written_to(home.folder()),
        Err(error) => Err(error.to_string()),
    };
    part("home", state)
}

fn written_to(folder: &Path) -> Result<String, String> {
    let nearest = folder.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    match access(nearest, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Ok(folder.display().to_string()),
        Err(error) => Err(format!(
            "{} cannot be written to ({}): set PGDYNO_HOME to a folder of yours",
            nearest.display(),
            std::io::Error::from(error)
        )),
    }
}

/// The account that runs servers when pgdyno runs as root.
fn account() -> Option<Part> {
    match Account::unprivileged() {
        Ok(None) => None,
        Ok(Some(account)) => {
            Some(part("account", Ok(format!("servers and programs run as {}", account.name))))
        }
        Err(error) => Some(part("account", Err(error.to_string()))),
    }
}

fn io_uring() -> Part {
    let works = engine::io_uring_works().map(|()| "works".to_owned());
    part(
        "io_uring",
        works.map_err(|why| format!("not available: {why}; epoll is used, which costs more CPU")),
    )
}

/// PostgreSQL puts dynamic shared memory there, for parallel queries.
fn shared_memory(folder: &Path) -> Part {
    const LEAST: u64 = 256 << 20;
    let name = "/dev/shm";
    let state = match rustix::fs::statvfs(folder) {
        Err(_) => Err("missing: a private server cannot start; mount it (docker: --shm-size=1g)".to_owned()),
        Ok(_) if access(folder, Access::WRITE_OK).is_err() => {
            Err("cannot be written to: a private server cannot start".to_owned())
        }
        Ok(size) => {
            let bytes = size.f_blocks.saturating_mul(size.f_frsize);
            match bytes < LEAST {
                true => Err(format!(
                    "{} MB: parallel queries may run out of it (docker: --shm-size=1g)",
                    bytes >> 20
                )),
                false => Ok(format!("{} MB", bytes >> 20)),
            }
        }
    };
    part(name, state)
}

fn ipv6() -> Part {
    let state = TcpListener::bind("[::1]:0").map(|_| "works".to_owned());
    part("IPv6", state.map_err(|error| format!("not available ({error}); IPv4 is used")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_is_not_there_yet_is_judged_by_the_one_that_it_would_be_in() {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().join("a/b");
        assert_eq!(written_to(&folder), Ok(folder.display().to_string()));
        assert!(written_to(Path::new("/etc/passwd/home")).unwrap_err().contains("PGDYNO_HOME"));
    }

    #[test]
    fn shared_memory_that_is_missing_says_what_it_prevents() {
        let part = shared_memory(Path::new("/no/such/folder"));
        assert!(!part.is_well && part.state.contains("a private server cannot start"), "{part:?}");
    }
}
