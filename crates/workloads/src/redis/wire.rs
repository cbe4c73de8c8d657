//! Commands with prepared common parts.

use std::io::Write as _;
use std::sync::Arc;

use super::keys::Keys;
use super::options::RedisOptions;

/// Digits of a key's number.
const DIGITS: usize = 12;

#[derive(Debug, Clone)]
pub(super) struct Wire {
    /// Up to the number of the key.
    get: Arc<[u8]>,
    set: Arc<[u8]>,
    /// After the value.
    expiry: Arc<[u8]>,
}

impl Wire {
    pub(super) fn new(options: &RedisOptions, keys: &Keys) -> Self {
        let name = format!("${}\r\n{}", keys.prefix().len() + DIGITS, keys.prefix());
        let expiry = options.ttl_s.map(|ttl| {
            let ttl = ttl.to_string();
            format!("$2\r\nEX\r\n${}\r\n{ttl}\r\n", ttl.len())
        });
        let words = if expiry.is_some() { 5 } else { 3 };
        let bytes = |text: String| text.into_bytes().into();
        Self {
            get: bytes(format!("*2\r\n$3\r\nGET\r\n{name}")),
            set: bytes(format!("*{words}\r\n$3\r\nSET\r\n{name}")),
            expiry: bytes(expiry.unwrap_or_default()),
        }
    }

    #[inline]
    pub(super) fn append_get(&self, out: &mut Vec<u8>, key: u64) {
        out.extend_from_slice(&self.get);
        out.extend_from_slice(&digits(key));
        out.extend_from_slice(b"\r\n");
    }

    #[inline]
    pub(super) fn set(&self, out: &mut Vec<u8>, key: u64, value: &[u8]) {
        out.extend_from_slice(&self.set);
        out.extend_from_slice(&digits(key));
        // Writing to a vector cannot fail.
        let _ = write!(out, "\r\n${}\r\n", value.len());
        out.extend_from_slice(value);
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&self.expiry);
    }
}

#[inline]
fn digits(mut key: u64) -> [u8; DIGITS] {
    let mut digits = [b'0'; DIGITS];
    for digit in digits.iter_mut().rev() {
        *digit += (key % 10) as u8;
        key /= 10;
    }
    digits
}

#[cfg(test)]
mod tests {
    use protocol::redis::command;

    use super::*;
    use crate::redis::options::RedisCommand;
    use crate::redis::sizes::ValueSizes;

    #[test]
    fn commands_are_those_of_the_protocol() {
        for ttl_s in [None, Some(60)] {
            let options = RedisOptions {
                value_bytes: ValueSizes::all(5),
                ttl_s,
                ..RedisOptions::new(RedisCommand::Mixed)
            };
            let keys = Keys::new(&options);
            let wire = Wire::new(&options, &keys);
            for key in [0, 7, 999_999_999] {
                let name = keys.name(key);
                let (mut sent, mut wanted) = (Vec::new(), Vec::new());
                wire.append_get(&mut sent, key);
                wire.set(&mut sent, key, b"abcde");
                command(&mut wanted, &["GET", &name]);
                match ttl_s {
                    None => command(&mut wanted, &["SET", &name, "abcde"]),
                    Some(_) => command(&mut wanted, &["SET", &name, "abcde", "EX", "60"]),
                }
                assert_eq!(String::from_utf8(sent), String::from_utf8(wanted));
            }
        }
    }
}
