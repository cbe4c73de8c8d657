//! Makes a filesystem step by step, and mounts it again.

use std::io;
use std::time::{Duration, Instant};

use spec::Error;

use super::error::{failed, of_file};
use super::journal::{StorageJournal, StorageStep};
use super::loop_device::{attach, attached};
use super::made::{IMAGE, JOURNAL, KeeperOrder, MOUNTED, MadeFolder};
use super::mount_point;
use super::tools::Tools;
use super::zfs::{self, By};
use crate::home::Readable;
use crate::host::is_mounted;
use spec::plan::storage::{Filesystem, FilesystemKind};

/// Timeout of the tool that makes a filesystem; it writes only metadata.
const FORMAT_BOUND: Duration = Duration::from_secs(300);
/// Timeout of other tools; unmounting writes what is still in memory.
const BOUND: Duration = Duration::from_secs(120);

/// How long a mounted filesystem may be busy, and the time between two tries.
const BUSY: Duration = Duration::from_secs(1);
const PAUSE: Duration = Duration::from_millis(10);

/// Makes the requested filesystem; if this fails, [`super::dismantle`] removes the rest.
pub(super) fn make(made: &MadeFolder, order: &KeeperOrder, tools: &Tools<'_>) -> Result<(), Error> {
    let mut journal = StorageJournal::new(&order.filesystem);
    begin(&mut journal, made, StorageStep::Image)?;
    make_image(made, order.filesystem.size_bytes)?;
    let mounted = made.mounted();
    let at_mounted = of_file(&mounted);
    made.open().and_then(|folder| folder.make(MOUNTED, 0o711)).map_err(at_mounted)?;
    match &order.filesystem.kind {
        FilesystemKind::Zfs { .. } => make_pool(made, &mut journal, tools)?,
        kind => {
            begin(&mut journal, made, StorageStep::Loop)?;
            let device = attach(made, tools)?;
            begin(&mut journal, made, StorageStep::Format)?;
            let (tool, args) = make_command(kind);
            let args: Vec<&str> = args.iter().map(String::as_str).chain([device.as_str()]).collect();
            tools.run(tool, &args, FORMAT_BOUND)?;
            begin(&mut journal, made, StorageStep::Mount)?;
            mount(made, &order.filesystem, &device, tools)?;
        }
    }
    is_there(made)?;
    // The root of what is mounted now.
    made.open().and_then(|folder| folder.make(MOUNTED, 0o711)).map(drop).map_err(of_file(&mounted))
}

/// Checks that the filesystem is mounted: otherwise files would silently be stored on the disk below.
fn is_there(made: &MadeFolder) -> Result<(), Error> {
    let mounted = made.mounted();
    match is_mounted(&mounted) {
        true => Ok(()),
        false => Err(failed(format!(
            "nothing is mounted on {}, though its tools say so; see its options",
            mounted.display()
        ))),
    }
}

/// Unmounts it and mounts it again, so that none of its data are in memory; nobody may use it.
pub(super) fn again(made: &MadeFolder, tools: &Tools<'_>) -> Result<(), Error> {
    let gone = || failed(format!("{} has no journal any more", made.folder.display()));
    let journal = StorageJournal::read(made).ok_or_else(gone)?;
    if let Some(pool) = &journal.pool {
        zfs::export(pool, tools)?;
        forget(made)?;
        zfs::import(made, pool, tools)?;
        return is_there(made);
    }
    unmount(made).map_err(of_file(&made.mounted()))?;
    for device in attached(made, tools)? {
        tools.run("losetup", &["--detach", &device], BOUND)?;
    }
    forget(made)?;
    let device = attach(made, tools)?;
    mount(made, &journal.filesystem, &device, tools)
}

/// A program that is being started holds pgdyno's open files until it runs, for some milliseconds.
fn unmount(made: &MadeFolder) -> io::Result<()> {
    let start = Instant::now();
    loop {
        match mount_point::unmount(made, false) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && start.elapsed() < BUSY => {
                std::thread::sleep(PAUSE);
            }
            other => return other,
        }
    }
}

fn begin(journal: &mut StorageJournal, made: &MadeFolder, step: StorageStep) -> Result<(), Error> {
    journal.begin(made, step).map_err(of_file(&made.folder.join(JOURNAL)))
}

fn make_image(made: &MadeFolder, size: u64) -> Result<(), Error> {
    let image = made.image();
    let file = made.open().and_then(|folder| folder.create(IMAGE, Readable::ByUs));
    file.and_then(|file| file.set_len(size)).map_err(of_file(&image))
}

/// Drops the image from the page cache.
fn forget(made: &MadeFolder) -> Result<(), Error> {
    let image = made.image();
    let file = made.open().and_then(|folder| folder.file(IMAGE)).map_err(of_file(&image))?;
    file.sync_all().map_err(of_file(&image))?;
    crate::page_cache::drop_file(&file).map_err(of_file(&image))
}

/// The tool that makes it, with its arguments except for the device.
fn make_command(kind: &FilesystemKind) -> (&'static str, Vec<String>) {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    match kind {
        FilesystemKind::Ext4 { block_size_bytes, journal } => {
            // Nothing is left for a thread of the kernel to write later: it is mounted with noinit_itable.
            let mut args = words(&["-q", "-F", "-E", "lazy_itable_init=1,lazy_journal_init=1"]);
            args.extend(block_size_bytes.iter().flat_map(|size| ["-b".to_owned(), size.to_string()]));
            let journal = journal.map(|journal| if journal { "has_journal" } else { "^has_journal" });
            args.extend(journal.iter().flat_map(|journal| ["-O".to_owned(), (*journal).to_owned()]));
            ("mkfs.ext4", args)
        }
        FilesystemKind::Xfs { reflink } => {
            let mut args = words(&["-q", "-f"]);
            args.extend(
                reflink.iter().flat_map(|on| ["-m".to_owned(), format!("reflink={}", u8::from(*on))]),
            );
            ("mkfs.xfs", args)
        }
        FilesystemKind::Btrfs { .. } => ("mkfs.btrfs", words(&["-q", "-f"])),
        FilesystemKind::Zfs { .. } => unreachable!("a pool is made over its image"),
    }
}

fn mount(made: &MadeFolder, filesystem: &Filesystem, device: &str, tools: &Tools<'_>) -> Result<(), Error> {
    let kind = &filesystem.kind;
    let mut options = vec!["nosuid".to_owned(), "nodev".to_owned()];
    match kind {
        FilesystemKind::Ext4 { .. } => options.push("noinit_itable".to_owned()),
        FilesystemKind::Btrfs { compression, nodatacow } => {
            options.extend(compression.as_ref().map(|it| format!("compress-force={it}")));
            options.extend(nodatacow.map(|off| if off { "nodatacow" } else { "datacow" }.to_owned()));
        }
        FilesystemKind::Xfs { .. } | FilesystemKind::Zfs { .. } => {}
    }
    options.extend(filesystem.options().map(str::to_owned));
    mount_point::mount(made, device, kind.name(), &options.join(","), tools)
}

fn make_pool(made: &MadeFolder, journal: &mut StorageJournal, tools: &Tools<'_>) -> Result<(), Error> {
    journal.kernel = zfs::by(tools) == By::Kernel;
    journal.pool = Some(zfs::new_name());
    let _turn = zfs::turn(&made.home())?;
    if !journal.kernel {
        begin(journal, made, StorageStep::Daemon)?;
        zfs::start_daemon(&made.home(), tools)?;
    }
    begin(journal, made, StorageStep::Pool)?;
    let pool = journal.pool.clone().unwrap_or_default();
    zfs::create(made, &pool, &journal.filesystem, tools)
}
