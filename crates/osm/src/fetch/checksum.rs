//! MD5 sums: as Geofabrik writes them, and of a file. They detect corruption, not tampering.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use md5::{Digest, Md5};
use spec::Error;

use super::error;
use super::watch::FetchObserver;

const CHUNK: usize = 1 << 20;

/// The sum in a file such as `0123…cdef  malta-latest.osm.pbf`, in lower case.
pub(super) fn parse(bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let sum = text.split_whitespace().next()?.trim_start_matches('\\');
    (sum.len() == 32 && sum.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| sum.to_ascii_lowercase())
}

pub(super) fn of_file(path: &Path, watch: &dyn FetchObserver) -> Result<String, Error> {
    let failed = |error| error::file_error(path, error);
    let mut file = File::open(path).map_err(failed)?;
    let (mut sum, mut buffer) = (Md5::new(), vec![0; CHUNK]);
    loop {
        if watch.stops() {
            return Err(Error::stopped());
        }
        match file.read(&mut buffer).map_err(failed)? {
            0 => return Ok(spec::hex(&sum.finalize())),
            got => sum.update(&buffer[..got]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_read_as_they_are_written() {
        let sum = "d41d8cd98f00b204e9800998ecf8427e";
        assert_eq!(parse(format!("{sum}  malta-latest.osm.pbf\n").as_bytes()).as_deref(), Some(sum));
        assert_eq!(parse(sum.to_uppercase().as_bytes()).as_deref(), Some(sum));
        for wrong in ["", "<html>", "d41d8cd98f00", "g41d8cd98f00b204e9800998ecf8427e"] {
            assert_eq!(parse(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
