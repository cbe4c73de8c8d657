//! Keeps `postgresql.auto.conf` from before an experiment.
//!
//! The file is restored while the server is stopped, so that a server whose new settings prevent a start can
//! be repaired.

use std::io;

use crate::child::Account;
use crate::home::{Dir, Readable, give};

/// In the data folder.
pub(super) const LIVE: &str = "postgresql.auto.conf";
/// In the server's folder, where only we can write.
pub(super) const KEPT: &str = "postgresql.auto.conf.before";

/// Keeps a copy, unless an older one exists, which is the one to restore.
pub(super) fn keep(folder: &Dir, data: &Dir) -> io::Result<()> {
    if folder.has(KEPT) {
        return Ok(());
    }
    folder.replace(KEPT, &data.read(LIVE)?, Readable::ByUs).map(drop)
}

pub(super) fn is_kept(folder: &Dir) -> bool {
    folder.has(KEPT)
}

/// Restores the copy; false if there is none. The running server does not notice.
pub(super) fn restore(folder: &Dir, data: &Dir, account: Option<&Account>) -> io::Result<bool> {
    if !is_kept(folder) {
        return Ok(false);
    }
    let owned = |file: &std::fs::File| account.map_or(Ok(()), |account| give(file, account));
    data.replace_with(LIVE.as_ref(), &folder.read(KEPT)?, owned, Readable::ByUs)?;
    folder.remove_file(KEPT)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_copy_comes_back() {
        let top = tempfile::tempdir().unwrap();
        let folder = crate::home::Home::at(top.path()).open().unwrap().unwrap();
        let data = folder.make("data", 0o700).unwrap();
        let write = |text: &str| drop(data.replace(LIVE, text.as_bytes(), Readable::ByUs).unwrap());
        write("work_mem = '1MB'\n");
        assert!(!restore(&folder, &data, None).unwrap());
        keep(&folder, &data).unwrap();
        write("work_mem = '2MB'\n");
        keep(&folder, &data).unwrap();
        assert!(restore(&folder, &data, None).unwrap());
        assert_eq!(data.read_text(LIVE).unwrap(), "work_mem = '1MB'\n");
        assert!(!is_kept(&folder));
    }
}
