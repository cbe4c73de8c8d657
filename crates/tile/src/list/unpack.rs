//! Lists are published compressed: gzip is unpacked while reading; other formats are refused by name.

use std::io::{BufRead, BufReader, Cursor, Error, ErrorKind, Read};

use flate2::bufread::MultiGzDecoder;

/// Longest of these beginnings.
const LONGEST: u64 = 6;
const GZIP: &[u8] = &[0x1f, 0x8b];
const OTHERS: [(&[u8], &str); 4] = [
    (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "zstd"),
    (b"BZh", "bzip2"),
    (b"PK\x03\x04", "zip"),
];

/// The text of a list, unpacked if it is compressed with gzip.
pub(super) fn unpacked<'r>(mut reader: impl BufRead + 'r) -> Result<Box<dyn BufRead + 'r>, Error> {
    // A pipe may give one byte at a time.
    let mut first = Vec::new();
    reader.by_ref().take(LONGEST).read_to_end(&mut first)?;
    if let Some((_, name)) = OTHERS.iter().find(|(start, _)| first.starts_with(start)) {
        let what = format!(
            "compressed with {name}; unpack it into a pipe: {name} -dc FILE | pgdyno tiles --trace -"
        );
        return Err(Error::new(ErrorKind::InvalidData, what));
    }
    let is_gzip = first.starts_with(GZIP);
    let whole = Cursor::new(first).chain(reader);
    Ok(if is_gzip { Box::new(BufReader::new(MultiGzDecoder::new(whole))) } else { Box::new(whole) })
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    fn packed(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    fn text(bytes: &[u8]) -> Result<String, Error> {
        let mut text = String::new();
        unpacked(BufReader::with_capacity(1, bytes))?.read_to_string(&mut text)?;
        Ok(text)
    }

    #[test]
    fn gzip_is_unpacked_also_of_several_parts() {
        let parts = [packed("1/0/0\n"), packed("1/1/1 7\n")].concat();
        assert_eq!(text(&parts).unwrap(), "1/0/0\n1/1/1 7\n");
        assert_eq!(text(b"1/0/0\n").unwrap(), "1/0/0\n");
        assert_eq!(text(b"").unwrap(), "");
        assert!(text(&parts[..parts.len() - 9]).is_err());
    }

    #[test]
    fn other_formats_are_named() {
        let error = text(b"\xfd7zXZ\x00\x00").unwrap_err().to_string();
        assert!(error.contains("compressed with xz") && error.contains("xz -dc FILE |"), "{error}");
    }
}
