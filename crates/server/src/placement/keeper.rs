//! A process that keeps CPUs from sleeping, and unpins servers if pgdyno is killed.
//!
//! It is pgdyno's executable, started as a watchdog is, and ends with the lifeline. On each CPU a thread of
//! the scheduler's idle class keeps it awake: it yields to everything else.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::sync::mpsc;

use spec::Error;
use spec::plan::Cpus;

use super::quota::QuotaGroup;
use super::{free_tree, system};

/// First argument that makes a watchdog a keeper; its [`Duties`] follow.
pub(crate) const KEEPER_ARGUMENT: &str = "--keep";

/// Its answer once it works.
pub(super) const AT_WORK: &str = "kept";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Duties {
    pub(super) awake: Option<Cpus>,
    /// Pinned processes, to be unpinned if pgdyno is killed.
    pub(super) pinned: Option<(Cpus, Vec<u32>)>,
    /// The group of a quota, to be removed if pgdyno is killed.
    pub(super) quota: Option<QuotaGroup>,
}

impl Duties {
    pub(super) fn to_args(&self) -> Vec<String> {
        let cpus = |cpus: Option<&Cpus>| cpus.map_or_else(|| "-".to_owned(), Cpus::to_string);
        let pinned = self.pinned.as_ref();
        let pids = pinned.into_iter().flat_map(|(_, pids)| pids).map(u32::to_string);
        let group = |of: fn(&QuotaGroup) -> &PathBuf| {
            self.quota.as_ref().map_or_else(|| "-".to_owned(), |group| of(group).display().to_string())
        };
        let quota = [group(|group| &group.folder), group(|group| &group.from)];
        let cpus = [cpus(self.awake.as_ref()), cpus(pinned.map(|(cpus, _)| cpus))];
        cpus.into_iter().chain(quota).chain(pids).collect()
    }

    fn parse(args: &[OsString]) -> Result<Self, String> {
        let words: Vec<_> = args.iter().map(|word| word.to_string_lossy()).collect();
        let [awake, pinned, folder, from, pids @ ..] = &words[..] else {
            return Err("a keeper without duties".to_owned());
        };
        let cpus = |text: &str| {
            let parsed = (text != "-").then(|| text.parse()).transpose();
            parsed.map_err(|error: Error| error.to_string())
        };
        let pids: Result<Vec<u32>, _> = pids.iter().map(|pid| pid.parse()).collect();
        let pids = pids.map_err(|_| "a keeper with a pid that is none".to_owned())?;
        let group = || QuotaGroup { folder: PathBuf::from(&**folder), from: PathBuf::from(&**from) };
        Ok(Self {
            awake: cpus(awake)?,
            pinned: cpus(pinned)?.map(|cpus| (cpus, pids)),
            quota: (folder != "-").then(group),
        })
    }
}

/// Runs as a keeper until its standard input ends. Returns the exit code.
pub(crate) fn keeper_main(args: &[OsString]) -> i32 {
    let Ok(lifeline) = std::io::stdin().as_fd().try_clone_to_owned() else { return 1 };
    let mut lifeline = std::fs::File::from(lifeline);
    let begun = Duties::parse(args).and_then(|duties| {
        duties.awake.as_ref().map_or(Ok(()), stay_awake)?;
        Ok(duties)
    });
    let answer = begun.as_ref().map_or_else(String::as_str, |_| AT_WORK);
    let delivered = writeln!(lifeline, "{answer}").is_ok();
    let Ok(duties) = begun else { return 1 };
    if delivered {
        // Waits only for its end.
        let _ = lifeline.read_to_end(&mut Vec::new());
    }
    if let Some(group) = duties.quota {
        group.remove();
    }
    let (cpus, pids) = duties.pinned.unzip();
    for pid in pids.into_iter().flatten() {
        // By now its pid may belong to another process, with other CPUs.
        if cpus.is_some() && system::place_of(pid) == cpus {
            let _ = free_tree(pid);
        }
    }
    0
}

fn stay_awake(cpus: &Cpus) -> Result<(), String> {
    if let Some(why) = system::takes_a_share() {
        return Err(why);
    }
    let (sender, begun) = mpsc::channel();
    for cpu in cpus.iter() {
        let sender = sender.clone();
        std::thread::spawn(move || {
            let placed = system::be_idle_on(cpu);
            let refused = placed.is_err();
            let _ = sender.send(placed.map_err(|error| format!("CPU {cpu}: {error}")));
            if refused {
                return;
            }
            // No pause: a hypervisor may take one as a sign that the CPU is not needed.
            loop {
                std::hint::black_box(cpu);
            }
        });
    }
    drop(sender);
    begun.iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duties_survive_the_way() {
        for text in ["0-1 - - -", "- 0,2 - - 17 18", "1 0 - - 4711", "- - /sys/a/pgdyno-1-0 /sys/a"] {
            let words: Vec<OsString> = text.split(' ').map(OsString::from).collect();
            assert_eq!(Duties::parse(&words).unwrap().to_args().join(" "), text);
        }
        for text in ["", "0", "x -", "0 - -", "x - - -", "- 0 - - y"] {
            let words: Vec<OsString> = text.split(' ').map(OsString::from).collect();
            assert!(Duties::parse(&words).is_err(), "{text}");
        }
    }
}
