//! Files that a user or an experiment names: regular ones, of bounded length. A pipe that nobody writes to would be waited
//! for, a device may have no end.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Longest text that is read whole, bytes.
const LONGEST: u64 = 64 << 20;

/// Opens a regular file.
///
/// # Errors
/// As the system says, or that it is a folder, a pipe or a device.
pub fn open(path: &Path) -> Result<File> {
    let found = std::fs::metadata(path)?;
    match found.is_file() {
        true => File::open(path),
        false if found.is_dir() => Err(refused("it is a folder; name a file in it")),
        false => Err(refused("it is a pipe or a device, not a file")),
    }
}

/// The content of a regular file of at most 64 MiB.
///
/// # Errors
/// As [`open`], or that it is too long.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let mut content = Vec::new();
    open(path)?.take(LONGEST + 1).read_to_end(&mut content)?;
    match content.len() as u64 > LONGEST {
        true => Err(refused("it is longer than 64 MiB, the most that is read of a text")),
        false => Ok(content),
    }
}

/// The text of a regular file of at most 64 MiB.
///
/// # Errors
/// As [`read`], or that it is not UTF-8.
pub fn read_text(path: &Path) -> Result<String> {
    String::from_utf8(read(path)?).map_err(|error| Error::new(ErrorKind::InvalidData, error.utf8_error()))
}

fn refused(why: &str) -> Error {
    Error::new(ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_a_file_is_read_and_nothing_is_waited_for() {
        for (path, why) in
            [("/dev/zero", "a pipe or a device"), ("/", "a folder"), ("/nowhere", "No such file")]
        {
            let error = read_text(Path::new(path)).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        }
        // The length that /proc reports is 0.
        assert!(read_text(Path::new("/proc/self/status")).unwrap().contains("Name:"));
    }
}
