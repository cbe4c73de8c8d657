//! The content of a file as a number: it is part of the identity of an experiment, its path is not.
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use sha2::{Digest, Sha256};
use spec::Error;
use spec::given;

use crate::error::of_file;

/// Files up to this size are read whole; for larger ones the two ends and the length must suffice.
const WHOLE: u64 = 256 << 20;
const END: u64 = 16 << 20;

/// SHA-256 of a file's content, hex; for files above 256 MiB: of their length, first and last 16 MiB.
pub(crate) fn fingerprint(path: &Path) -> Result<String, Error> {
    let wrong = |source| of_file("read", path, source);
    let mut file = given::open(path).map_err(wrong)?;
    let length = file.metadata().map_err(wrong)?.len();
    let mut hash = Sha256::new();
    if length <= WHOLE {
        std::io::copy(&mut file, &mut Hashing(&mut hash)).map_err(wrong)?;
    } else {
        hash.update(length.to_le_bytes());
        std::io::copy(&mut (&mut file).take(END), &mut Hashing(&mut hash)).map_err(wrong)?;
        file.seek(SeekFrom::Start(length - END)).map_err(wrong)?;
        std::io::copy(&mut file, &mut Hashing(&mut hash)).map_err(wrong)?;
    }
    Ok(spec::hex(&hash.finalize()))
}

struct Hashing<'a>(&'a mut Sha256);

impl std::io::Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
