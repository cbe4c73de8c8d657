//! `posix_fadvise`, `mincore` and `drop_caches`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::Path;

use rustix::fs::{Advice, fadvise, statfs};

const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";
/// Clean pages only; entries of folders stay.
const PAGES: &[u8] = b"1\n";

/// File systems whose files are in memory, or with a separate cache that cannot be dropped.
const KEEPING: [(u32, &str); 3] = [
    (0x0102_1994, "is in memory (tmpfs)"),
    (0x8584_58f6, "is in memory (ramfs)"),
    (0x2fc1_2fc1, "is on ZFS, which has a separate cache"),
];

/// Files are examined in pieces of this size, with a byte per page.
const PIECE: usize = 256 << 20;

/// Why files of a folder stay in the cache.
pub(super) fn kept(folder: &Path) -> Option<String> {
    // Magic numbers have 32 bits; where the field is signed, ignore the sign.
    let kind = statfs(folder).ok()?.f_type as u32;
    let (_, why) = KEEPING.iter().find(|(magic, _)| *magic == kind)?;
    Some(format!("{} {why}", folder.display()))
}

pub(crate) fn drop_file(file: &File) -> io::Result<()> {
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}

/// Drops the cache of the whole machine, if permitted.
pub(super) fn drop_machine() -> bool {
    let opened = OpenOptions::new().write(true).open(DROP_CACHES);
    opened.and_then(|mut file| file.write_all(PAGES)).is_ok()
}

/// Bytes of a file's pages in the cache.
pub(super) fn cached(file: &File, length: u64) -> io::Result<u64> {
    // SAFETY: no pointer is handed in.
    let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as usize;
    let mut pages = vec![0_u8; PIECE.div_ceil(page)];
    let mut cached = 0;
    let mut at = 0;
    while at < length {
        let piece = PIECE.min((length - at) as usize);
        let pages = &mut pages[..piece.div_ceil(page)];
        see(file, at, piece, pages)?;
        cached += pages.iter().filter(|page| **page & 1 == 1).count() as u64 * page as u64;
        at += piece as u64;
    }
    Ok(cached)
}

/// Reads which pages of a piece are in the cache.
fn see(file: &File, at: u64, length: usize, pages: &mut [u8]) -> io::Result<()> {
    let fd = file.as_raw_fd();
    // SAFETY: the system chooses an unused place for the mapping, which nobody reads and which is gone at the
    // end; `pages` has a byte for each of its pages.
    unsafe {
        let map = libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ,
            libc::MAP_SHARED,
            fd,
            at as libc::off_t,
        );
        if map == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let seen = libc::mincore(map, length, pages.as_mut_ptr());
        let error = io::Error::last_os_error();
        libc::munmap(map, length);
        if seen == 0 { Ok(()) } else { Err(error) }
    }
}
