//! Small files of ours that are replaced as a whole.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, fchown};
use std::path::Path;

use crate::child::Account;

/// Writes a file that only its owner (`None`: the user we are) can read; a crash leaves the old or the new one.
pub(crate) fn replace(path: &Path, content: &[u8], owner: Option<&Account>) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    // Of an earlier try, with whatever rights.
    let _ = std::fs::remove_file(&new);
    let written = write_private(&new, content, owner);
    // Half a file would stay where the disk is full, and make a folder look like somebody else's.
    written.inspect_err(|_| drop(std::fs::remove_file(&new)))?;
    std::fs::rename(new, path)
}

fn write_private(path: &Path, content: &[u8], owner: Option<&Account>) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    if let Some(owner) = owner {
        fchown(&file, Some(owner.uid), Some(owner.gid))?;
    }
    file.write_all(content)?;
    file.sync_all()
}
