//! `postgresql.auto.conf` as it stood before an experiment, kept beside the data.
//!
//! The file is put back offline, so that also a server whose new settings keep it from starting can be mended.

use std::io;

use crate::child::Account;
use crate::home::{Dir, Readable, give};

/// In the data folder.
pub(super) const LIVE: &str = "postgresql.auto.conf";
/// In the server's folder, which only we can write to.
pub(super) const KEPT: &str = "postgresql.auto.conf.before";

/// Keeps a copy, unless one is kept already: that one is older and is the one to go back to.
pub(super) fn keep(folder: &Dir, data: &Dir) -> io::Result<()> {
    if folder.has(KEPT) {
        return Ok(());
    }
    folder.replace(KEPT, &data.read(LIVE)?, Readable::ByUs).map(drop)
}

pub(super) fn is_kept(folder: &Dir) -> bool {
    folder.has(KEPT)
}

/// Puts the copy back; answers whether there was one. The running server is not told.
pub(super) fn put_back(folder: &Dir, data: &Dir, account: Option<&Account>) -> io::Result<bool> {
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
        assert!(!put_back(&folder, &data, None).unwrap());
        keep(&folder, &data).unwrap();
        write("work_mem = '2MB'\n");
        keep(&folder, &data).unwrap();
        assert!(put_back(&folder, &data, None).unwrap());
        assert_eq!(data.read_text(LIVE).unwrap(), "work_mem = '1MB'\n");
        assert!(!is_kept(&folder));
    }
}
