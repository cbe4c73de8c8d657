//! Keys of tiles in the cache, and the commands with them.

use std::io::Write as _;

use tile::Tile;

use super::super::atlas::{Atlas, Pick};

/// Prefix of all keys.
const PREFIX: &str = "pgdyno:tile";

/// Writes keys and commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tiles) struct Keys {
    /// A hash of the statements, which separates workloads' tiles.
    space: String,
    /// `EX` and seconds, encoded; empty without time to live.
    expiry: Vec<u8>,
}

impl Keys {
    pub(in crate::tiles) fn new(atlas: &Atlas, ttl_s: Option<u32>) -> Self {
        let texts: String = atlas.statements.concat();
        let space = crate::hash::sha256_hex(texts.as_bytes())[..12].to_owned();
        let expiry = ttl_s.map_or_else(Vec::new, |ttl| {
            let ttl = ttl.to_string();
            format!("$2\r\nEX\r\n${}\r\n{ttl}\r\n", ttl.len()).into_bytes()
        });
        Self { space, expiry }
    }

    /// Writes the key of a tile into reused memory.
    pub(in crate::tiles) fn write(&self, pick: &Pick, key: &mut Vec<u8>) {
        let Tile { z, x, y } = pick.tile;
        key.clear();
        // Writing to a vector cannot fail.
        let _ = write!(key, "{PREFIX}:{}:{}:{z}/{x}/{y}", self.space, pick.statement);
    }

    pub(in crate::tiles) fn append_get(key: &[u8], out: &mut Vec<u8>) {
        let _ = write!(out, "*2\r\n$3\r\nGET\r\n${}\r\n", key.len());
        out.extend_from_slice(key);
        out.extend_from_slice(b"\r\n");
    }

    pub(in crate::tiles) fn set(&self, key: &[u8], value: &[u8], out: &mut Vec<u8>) {
        let words = if self.expiry.is_empty() { 3 } else { 5 };
        let _ = write!(out, "*{words}\r\n$3\r\nSET\r\n${}\r\n", key.len());
        out.extend_from_slice(key);
        let _ = write!(out, "\r\n${}\r\n", value.len());
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&self.expiry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_written_as_redis_reads_them() {
        let pick =
            Pick { tile: Tile { z: 14, x: 8851, y: 6439 }, layer: 0, statement: 2, script: 0, item: None };
        let keys = Keys::new(&Atlas::default(), Some(60));
        let mut key = b"old".to_vec();
        keys.write(&pick, &mut key);
        let text = String::from_utf8(key.clone()).unwrap();
        assert!(text.starts_with("pgdyno:tile:") && text.ends_with(":2:14/8851/6439"), "{text}");
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        Keys::append_get(&key, &mut ours);
        keys.set(&key, b"va\r\nlue", &mut ours);
        protocol::redis::command(&mut theirs, &[b"GET".as_slice(), &key]);
        protocol::redis::command(&mut theirs, &[b"SET".as_slice(), &key, b"va\r\nlue", b"EX", b"60"]);
        assert_eq!(ours, theirs);
    }
}
