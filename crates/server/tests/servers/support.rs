//! What these tests share: their own home, and one started server to use.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use server::child::{Account, Watchdog};
use server::home::{Home, HomeFolder};
use server::managed::{Cluster, ServerOptions};

/// A home that goes away with the test; it must not lie in a folder closed to the server's account.
pub struct Place {
    pub home: Home,
    folder: tempfile::TempDir,
    /// Keeps the template while any test uses it.
    template: Mutex<Option<Arc<Place>>>,
}

impl Place {
    pub fn new() -> Self {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let home = Home::at(&folder.path().join("home"));
        Self { home, folder, template: Mutex::new(None) }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A folder where commands may write, who run as another account when tests run as root.
    pub fn open_folder(&self) -> std::path::PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let open = self.folder().join("open");
        let _ = std::fs::create_dir(&open);
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o777)).unwrap();
        open
    }
}

pub fn watchdog() -> Watchdog {
    Watchdog { exe: env!("CARGO_BIN_EXE_pgdyno-test-owner").into() }
}

/// A running server made for one test. initdb is what takes time, so it is done once and copied.
pub fn cluster(place: &Place) -> Cluster {
    let template = template();
    place.home.make_part(HomeFolder::Clusters, Account::unprivileged().unwrap().as_ref()).unwrap();
    copy(&template.home.path(HomeFolder::Clusters), &place.home.path(HomeFolder::Clusters));
    *place.template.lock().unwrap_or_else(PoisonError::into_inner) = Some(template);
    start(place)
}

fn start(place: &Place) -> Cluster {
    Cluster::ensure(&place.home, "main", &ServerOptions::default(), &watchdog(), &server::Stop::new())
        .unwrap()
}

fn template() -> Arc<Place> {
    static TEMPLATE: Mutex<Weak<Place>> = Mutex::new(Weak::new());
    let mut known = TEMPLATE.lock().unwrap_or_else(PoisonError::into_inner);
    known.upgrade().unwrap_or_else(|| {
        let place = Arc::new(Place::new());
        drop(start(&place));
        *known = Arc::downgrade(&place);
        place
    })
}

/// `cp -a`, which keeps owners and modes.
fn copy(from: &Path, to: &Path) {
    let status = std::process::Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status().unwrap();
    assert!(status.success());
}

/// Waits until a condition holds.
#[track_caller]
pub fn eventually(bound: Duration, what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < bound, "{what}: not within {bound:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether a process of this pid exists and is not a zombie.
pub fn is_alive(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat"))
        .is_ok_and(|stat| !stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('Z')))
}

/// Sends SIGKILL to one process of ours.
pub fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// Pid of a process's parent.
pub fn parent(pid: u32) -> u32 {
    parent_of(pid).unwrap()
}

/// The same of a process that may be gone.
pub fn parent_of(pid: u32) -> Option<u32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// Says why a test was not run.
#[expect(clippy::print_stderr, reason = "a test has no other way to say it")]
pub fn not_run(why: &str) {
    eprintln!("not run: {why}");
}
