//! A private Slurm: the controller, and three nodes on this machine.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{Finished, PATIENCE, Place, finish, not_available, signal, wait};

const NODES: usize = 3;

pub struct Slurm {
    folder: tempfile::TempDir,
    /// In the order in which they were started.
    daemons: Vec<Child>,
}

impl Slurm {
    /// `None` where it is not installed.
    pub fn start() -> Option<Self> {
        if !Path::new("/usr/sbin/slurmctld").exists() || !Path::new("/usr/sbin/munged").exists() {
            not_available("Slurm", "slurm-wlm is not installed");
            return None;
        }
        let folder = tempfile::Builder::new().prefix("pgdyno-slurm-").tempdir().expect("a temporary folder");
        let mut slurm = Self { folder, daemons: Vec::new() };
        slurm.configure();
        slurm.start_all();
        Some(slurm)
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn configure(&self) {
        use std::os::unix::fs::PermissionsExt;
        for folder in ["state", "spool"] {
            std::fs::create_dir(self.path(folder)).expect("own folder");
        }
        let key = self.path("munge.key");
        std::fs::write(&key, [7; 128]).expect("own folder");
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).expect("own file");
        let account = account_name();
        let host = text(Command::new("hostname").arg("-s"));
        let ports: Vec<u16> = free_ports(NODES + 1);
        let nodes = ports[1..].iter().zip(1..).map(|(port, node)| {
            format!(
                "NodeName=n{node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 State=UNKNOWN\n"
            )
        });
        let nodes: String = nodes.collect();
        let at = self.folder.path().display();
        let text = format!(
            "ClusterName=pgdyno\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nAuthType=auth/munge\n\
             AuthInfo=socket={at}/munge.sock\nCredType=cred/munge\nSlurmUser={account}\nSlurmdUser={account}\n\
             StateSaveLocation={at}/state\nSlurmdSpoolDir={at}/spool/%n\nSlurmctldPidFile={at}/ctld.pid\n\
             SlurmdPidFile={at}/%n.pid\nSlurmctldLogFile={at}/ctld.log\nSlurmdLogFile={at}/%n.log\n\
             SwitchType=switch/none\nMpiDefault=none\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\nSlurmdParameters=config_overrides\nReturnToService=2\n\
             KillWait=10\nMinJobAge=300\n{nodes}\
             PartitionName=all Nodes=ALL Default=YES MaxTime=10 State=UP\n",
            ports[0]
        );
        std::fs::write(self.path("slurm.conf"), text).expect("own folder");
    }

    fn start_all(&mut self) {
        let mut munged = Command::new("/usr/sbin/munged");
        munged.args(["--foreground", "--force"]);
        for (option, file) in [
            ("socket", "munge.sock"),
            ("key-file", "munge.key"),
            ("pid-file", "munged.pid"),
            ("log-file", "munged.log"),
            ("seed-file", "munged.seed"),
        ] {
            munged.arg(format!("--{option}={}", self.path(file)));
        }
        self.daemon(munged);
        self.until("the socket of munged", |slurm| Path::new(&slurm.path("munge.sock")).exists());
        let mut controller = Command::new("/usr/sbin/slurmctld");
        controller.arg("-D");
        self.daemon(controller);
        for node in 1..=NODES {
            let mut slurmd = Command::new("/usr/sbin/slurmd");
            slurmd.args(["-D", "-N", &format!("n{node}")]);
            self.daemon(slurmd);
        }
        self.until("three idle nodes", |slurm| {
            let idle = slurm.command("sinfo").args(["-h", "-t", "idle", "-o", "%D"]).output();
            idle.is_ok_and(|output| output.stdout.trim_ascii() == b"3")
        });
    }

    fn daemon(&mut self, mut command: Command) {
        command.env("SLURM_CONF", self.path("slurm.conf"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        self.daemons.push(command.spawn().expect("it starts"));
    }

    #[track_caller]
    fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let start = Instant::now();
        while !holds(self) {
            assert!(start.elapsed() < PATIENCE, "{what} never came:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path("ctld.log")).unwrap_or_default()
    }

    /// A program of Slurm's, asking this one.
    fn command(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.env("SLURM_CONF", self.path("slurm.conf"));
        command
    }

    /// Submits a script of `experiments/many-machines` with these options of sbatch and of its own; returns the job.
    pub fn submit(&self, place: &Place, options: &[&str], script: &str, own: &[&str]) -> String {
        let scripts = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/many-machines");
        let program = Path::new(env!("CARGO_BIN_EXE_pgdyno")).parent().expect("its folder");
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = self.command("sbatch");
        command.envs(place.command([""]).get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("PATH", format!("{}:{path}", program.display())).current_dir(place.path());
        command.args(["--parsable", "--output=task-%j-%a.log"]).args(options);
        command.arg(format!("{scripts}/{script}")).args(own);
        finish(command).expect(0).stdout.trim().to_owned()
    }

    /// Waits until no task of a job is left.
    #[track_caller]
    pub fn await_end(&self, job: &str) {
        self.until("the end of a job", |slurm| slurm.states(job).is_empty());
    }

    /// The states of a job's tasks that are not over, such as `2 RUNNING`.
    pub fn states(&self, job: &str) -> Vec<String> {
        let mut command = self.command("squeue");
        command.args(["-h", "-r", "-o", "%K %T", "-j", job]);
        let found = command.output().map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        found.unwrap_or_default().lines().map(|line| line.trim().to_owned()).collect()
    }

    #[track_caller]
    pub fn await_state(&self, job: &str, state: &str) {
        self.until(state, |slurm| slurm.states(job).iter().any(|own| own == state));
    }

    /// Asks its controller for something: `scancel`, `scontrol`.
    pub fn ask(&self, program: &str, args: &[&str]) -> Finished {
        let mut command = self.command(program);
        command.args(args);
        finish(command)
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        let _ = self.command("scancel").args(["--full", "-u", &account_name()]).output();
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(20)
            && self.command("squeue").arg("-h").output().is_ok_and(|left| !left.stdout.is_empty())
        {
            std::thread::sleep(Duration::from_millis(100));
        }
        for daemon in self.daemons.iter_mut().rev() {
            signal(daemon.id(), "TERM");
            wait(daemon, Duration::from_secs(20));
        }
    }
}

/// The name of the account that tests run as.
fn account_name() -> String {
    text(Command::new("id").arg("-un"))
}

fn text(command: &mut Command) -> String {
    String::from_utf8_lossy(&command.output().expect("it runs").stdout).trim().to_owned()
}

/// Held at one time, so that they differ.
fn free_ports(count: usize) -> Vec<u16> {
    let held: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a port")).collect();
    held.iter().map(|listener| listener.local_addr().expect("its address").port()).collect()
}
