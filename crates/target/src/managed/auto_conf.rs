//! `postgresql.auto.conf` as it stood before an experiment, kept beside the data.
//!
//! The file is put back offline, so that also a server whose new settings keep it from starting can be mended.

use std::io;
use std::path::{Path, PathBuf};

use crate::child::Account;

fn live(data: &Path) -> PathBuf {
    data.join("postgresql.auto.conf")
}

fn kept(folder: &Path) -> PathBuf {
    folder.join("postgresql.auto.conf.before")
}

/// Keeps a copy, unless one is kept already: that one is older and is the one to go back to.
pub(super) fn keep(folder: &Path, data: &Path) -> io::Result<()> {
    if kept(folder).exists() {
        return Ok(());
    }
    let new = kept(folder).with_extension("new");
    std::fs::copy(live(data), &new)?;
    std::fs::File::open(&new)?.sync_all()?;
    std::fs::rename(new, kept(folder))
}

/// Whether a copy is kept.
pub(super) fn is_kept(folder: &Path) -> bool {
    kept(folder).exists()
}

/// Puts the copy back; answers whether there was one. The running server is not told.
pub(super) fn put_back(folder: &Path, data: &Path, account: Option<&Account>) -> io::Result<bool> {
    if !is_kept(folder) {
        return Ok(false);
    }
    let new = data.join("postgresql.auto.conf.pgdyno");
    std::fs::copy(kept(folder), &new)?;
    if let Some(account) = account {
        std::os::unix::fs::chown(&new, Some(account.uid), Some(account.gid))?;
    }
    std::fs::File::open(&new)?.sync_all()?;
    std::fs::rename(new, live(data))?;
    std::fs::remove_file(kept(folder))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_copy_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        std::fs::create_dir(&data).unwrap();
        std::fs::write(live(&data), "work_mem = '1MB'\n").unwrap();
        assert!(!put_back(folder.path(), &data, None).unwrap());
        keep(folder.path(), &data).unwrap();
        std::fs::write(live(&data), "work_mem = '2MB'\n").unwrap();
        keep(folder.path(), &data).unwrap();
        assert!(put_back(folder.path(), &data, None).unwrap());
        assert_eq!(std::fs::read_to_string(live(&data)).unwrap(), "work_mem = '1MB'\n");
        assert!(!is_kept(folder.path()));
    }
}
