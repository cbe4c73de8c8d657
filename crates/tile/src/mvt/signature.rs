//! Recognises other data by its first bytes, none of which begins a layer.

use super::Broken;

const COMPRESSED: [(&[u8], &str); 2] = [(&[0x1f, 0x8b], "gzip"), (&[0x28, 0xb5, 0x2f, 0xfd], "zstd")];

const PICTURES: [(&[u8], &str); 4] = [
    (b"\x89PNG", "a PNG picture"),
    (b"RIFF", "a WebP picture"),
    (b"\xff\xd8\xff", "a JPEG picture"),
    (b"GIF8", "a GIF picture"),
];

/// Readable text of this many bytes is not a tile.
const TEXT: usize = 8;

/// Refuses data that is recognisably something else.
pub(super) fn refuse(bytes: &[u8]) -> Result<(), Broken> {
    let found = |list: &[(&[u8], &'static str)]| {
        list.iter().find(|(start, _)| bytes.starts_with(start)).map(|(_, name)| *name)
    };
    if let Some(name) = found(&COMPRESSED) {
        return Err(Broken::Compressed(name));
    }
    let name = found(&PICTURES).or_else(|| text(bytes.trim_ascii_start()));
    name.map_or(Ok(()), |name| Err(Broken::Other(name)))
}

fn text(bytes: &[u8]) -> Option<&'static str> {
    let readable = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    match bytes {
        [b'<', b'?', ..] => Some("XML"),
        [b'<', ..] => Some("HTML"),
        [b'{' | b'[', ..] => Some("JSON"),
        // A plain message; no layer begins with a text character.
        [first, ..] if first.is_ascii_graphic() => {
            (bytes.len() >= TEXT && bytes.iter().take(64).all(readable)).then_some("plain text")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_tile_is_called_by_its_name() {
        let cases: [(&[u8], &str); 8] = [
            (b"<!DOCTYPE html><html>", "not a vector tile: this begins like HTML"),
            (b"\n <html>", "not a vector tile: this begins like HTML"),
            (b"<?xml version=", "not a vector tile: this begins like XML"),
            (b"{\"detail\":\"Not Found\"}", "not a vector tile: this begins like JSON"),
            (b"Not Found\n", "not a vector tile: this begins like plain text"),
            (b"\x89PNG\r\n", "not a vector tile: this begins like a PNG picture"),
            (&[0x1f, 0x8b, 8, 0], "compressed (this begins like gzip), not a plain vector tile"),
            (b"\x28\xb5\x2f\xfd\0", "compressed (this begins like zstd), not a plain vector tile"),
        ];
        for (bytes, wanted) in cases {
            assert_eq!(crate::mvt::decode(bytes).unwrap_err().to_string(), wanted);
            assert_eq!(crate::mvt::measure(bytes).unwrap_err().to_string(), wanted);
        }
        assert_eq!(refuse(&[0x1a, 0x02]), Ok(()));
        assert_eq!(refuse(&[]), Ok(()));
    }
}
