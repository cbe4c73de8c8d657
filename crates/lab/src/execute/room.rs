//! Whether copies of a server fit into memory and onto the disk, so that each arm runs as fast as it would
//! alone.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use server::home::Home;
use server::host::{self, Disk};
use server::managed::{DataFolderSizes, disks_of, sizes_of};
use server::settings::memory_bytes;
use spec::plan::{Arm, Copies, Plan, TargetSpec};

use crate::runner::Takes;
use crate::setup::At;

/// All servers together may use this share of memory; the rest is for the load and other programs.
const SHARE_PCT: u64 = 60;
/// What stays free on the disk besides the copies, bytes, and as a share of them: servers that are written to
/// grow.
const FREE_BYTES: u64 = 1 << 30;
const FREE_PCT: u64 = 20;
/// Default of a new server, bytes.
const STOCK_SHARED_BUFFERS: u64 = 128 << 20;
const STOCK_WORK_MEM: u64 = 4 << 20;

#[derive(Debug, Clone)]
pub(super) struct Room {
    /// Of this machine or its control group, bytes.
    pub(super) memory: u64,
    /// Disks of the copies: one, unless some files of a server are on another disk. Empty if unknown.
    pub(super) disks: Vec<DiskShare>,
}

/// A disk, or a filesystem made for servers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DiskShare {
    /// Bytes, existing copies included.
    free: u64,
    /// Share of the copies on this disk, 0 to 1.
    share: f64,
}

impl Room {
    /// The space of this machine; existing copies of these servers are not counted twice.
    pub(super) fn here(templates: &[String]) -> Self {
        let disks = Home::locate().map(|home| disk_shares(&home, templates)).unwrap_or_default();
        Self { memory: host::memory_bytes(), disks }
    }
}

/// The disks of these servers' files; the disk of the home if none of them exists.
fn disk_shares(home: &Home, templates: &[String]) -> Vec<DiskShare> {
    let on_disk = |folder: &Path| Some(std::fs::metadata(folder).ok()?.dev());
    // By disk: bytes of the servers, a folder on it, and bytes of their copies.
    let mut disks: BTreeMap<u64, (u64, PathBuf, u64)> = BTreeMap::new();
    for name in templates {
        for (folder, bytes) in disks_of(home, name) {
            let Some(disk) = on_disk(&folder) else { continue };
            disks.entry(disk).or_insert((0, folder, 0)).0 += bytes;
        }
        let copies = (1..=MOST_COPIES).map(|number| format!("{name}.{number}"));
        for (folder, bytes) in copies.flat_map(|copy| disks_of(home, &copy)) {
            if let Some(there) = on_disk(&folder).and_then(|disk| disks.get_mut(&disk)) {
                there.2 += bytes;
            }
        }
    }
    let all: u64 = disks.values().map(|(bytes, ..)| bytes).sum();
    if all == 0 {
        let folder = home.folder().ancestors().find(|folder| folder.exists());
        let free = folder.and_then(Disk::of).map(|disk| disk.free_bytes);
        return free.map(|free| DiskShare { free, share: 1.0 }).into_iter().collect();
    }
    let disk = |(bytes, folder, copies): (u64, PathBuf, u64)| {
        let free = Disk::of(&folder)?.free_bytes + copies;
        Some(DiskShare { free, share: bytes as f64 / all as f64 })
    };
    disks.into_values().filter_map(disk).collect()
}

/// Numbers of copies that are searched.
const MOST_COPIES: u32 = 20;

/// What a closed server needs, as far as its folder shows.
pub(super) fn at_rest(spec: &TargetSpec) -> Option<Takes> {
    let TargetSpec::Managed { name, .. } = spec else { return None };
    let sizes = Home::locate().ok().and_then(|home| sizes_of(&home, name))?;
    Some(Takes { sizes, shared_buffers: STOCK_SHARED_BUFFERS, work_mem: STOCK_WORK_MEM })
}

/// What a server without files needs: the certain minimum.
pub(super) const NOTHING_YET: Takes = Takes {
    sizes: DataFolderSizes { data: 0, wal: 0 },
    shared_buffers: STOCK_SHARED_BUFFERS,
    work_mem: STOCK_WORK_MEM,
};

/// What all copies need, and whether there is room.
///
/// # Errors
/// Why there is not, with the figures.
pub(super) fn copies_fit(
    plan: &Plan,
    copies: &Copies,
    templates: &BTreeMap<At, Takes>,
    room: &Room,
) -> Result<String, String> {
    let arms = &plan.content.arms;
    let each = u64::from(copies.each);
    let number = each * templates.len() as u64;
    let (mut data, mut wal, mut buffers, mut work_mem) = (0, 0, 0, 0);
    for takes in templates.values() {
        data += each * takes.sizes.data;
        wal += each * takes.sizes.wal;
        let of = |arm: &Arm| set(arm, "shared_buffers", "8kB").unwrap_or(takes.shared_buffers);
        buffers += match copies.swapped {
            true => arms.iter().map(of).sum(),
            false => each * arms.iter().map(of).max().unwrap_or(takes.shared_buffers),
        };
        let most = arms.iter().map(|arm| set(arm, "work_mem", "kB").unwrap_or(takes.work_mem)).max();
        work_mem = work_mem.max(most.unwrap_or(takes.work_mem));
    }
    // Each copy has its replicas, which are as large.
    let servers = 1 + u64::from(plan.content.most_replicas());
    (data, wal, buffers) = (data * servers, wal * servers, buffers * servers);
    // Arms take turns, so the clients of one arm are active.
    let clients = u64::from(plan.runs.iter().map(|run| run.clients).max().unwrap_or(1));
    let sorting = clients * work_mem;
    let (needed, most) = (data + buffers + sorting, room.memory / 100 * SHARE_PCT);
    let with_replicas = match servers - 1 {
        0 => String::new(),
        replicas => format!(" and {} of each", spec::count(replicas, "replica")),
    };
    let what = format!(
        "{number} copies{with_replicas} with data of {}, shared_buffers of {} and work_mem of {} for {} need {}",
        spec::bytes(data),
        spec::bytes(buffers),
        spec::bytes(sorting),
        crate::words::count(clients as usize, "client"),
        spec::bytes(needed),
    );
    let memory = format!("{SHARE_PCT} % of memory is {}", spec::bytes(most));
    if needed > most {
        return Err(format!("{what}; {memory}"));
    }
    for disk in &room.disks {
        let on_disk = ((data + wal) as f64 * disk.share) as u64;
        let with_reserve = on_disk + (on_disk / 100 * FREE_PCT).max(FREE_BYTES);
        if disk.free < with_reserve {
            return Err(format!(
                "{number} copies take {} of the disk and {} more for what is written, of which {} is free",
                spec::bytes(on_disk),
                spec::bytes(with_reserve - on_disk),
                spec::bytes(disk.free)
            ));
        }
    }
    Ok(format!("{what}, {memory}"))
}

fn set(arm: &Arm, name: &str, unit: &str) -> Option<u64> {
    Some(memory_bytes(arm.settings.get(name)?, unit)? as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::{plan, text};

    const GB: u64 = 1 << 30;

    /// Two arms of 1 MB and 2 MB of shared_buffers.
    fn fit(data: u64, room: Room) -> Result<String, String> {
        let plan = plan(&text(1, &[1, 4], 2, true, 2));
        let copies = plan.copies().expect("restarts").clone();
        let takes =
            Takes { sizes: DataFolderSizes { data, wal: GB / 8 }, shared_buffers: GB, work_mem: 4 << 20 };
        copies_fit(&plan, &copies, &BTreeMap::from([(At::default(), takes)]), &room)
    }

    #[test]
    fn copies_need_memory_and_disk_and_the_figures_are_told() {
        let on = |free, share| DiskShare { free, share };
        let large = Room { memory: 8 * GB, disks: vec![on(20 * GB, 1.0)] };
        let told = fit(GB, large.clone()).expect("there is room");
        assert!(told.contains("data of 2.00 GB") && told.contains("60 % of memory is 4.80 GB"), "{told}");
        assert!(told.contains("shared_buffers of 3.00 MB"), "that of the arms, not the server's own: {told}");
        assert!(told.contains("work_mem of 16.0 MB for 4 clients"), "{told}");
        let memory = fit(3 * GB, large.clone()).unwrap_err();
        assert!(memory.contains("need 6.02 GB; 60 % of memory is 4.80 GB"), "{memory}");
        let disk = fit(GB, Room { disks: vec![on(3 * GB, 1.0)], ..large.clone() }).unwrap_err();
        assert!(
            disk.contains("2 copies take 2.25 GB of the disk") && disk.contains("3.00 GB is free"),
            "{disk}"
        );
        let apart = Room { disks: vec![on(20 * GB, 0.9), on(GB, 0.1)], ..large.clone() };
        assert!(
            fit(GB, apart).unwrap_err().contains("2 copies take 230 MB of the disk"),
            "its log has a small one"
        );
        assert!(fit(GB, Room { disks: vec![], ..large }).is_ok(), "what cannot be seen is no reason");
    }
}
