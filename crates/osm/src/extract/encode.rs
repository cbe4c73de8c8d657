//! Messages of Protocol Buffers, written: varints, and fields of numbers and of bytes
//! (<https://protobuf.dev/programming-guides/encoding/>).

/// Appends a number in groups of seven bits, the lowest first.
pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a number that may be below zero, small ones of either sign in few bytes.
pub(super) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put_varint(out, (value << 1 ^ value >> 63) as u64);
}

/// Appends a field that is a number.
pub(super) fn put_number(out: &mut Vec<u8>, field: u64, value: u64) {
    put_varint(out, field << 3);
    put_varint(out, value);
}

/// Appends a field of bytes: a string, a message, or numbers packed together.
pub(super) fn put_bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
    put_varint(out, field << 3 | 2);
    put_varint(out, value.len() as u64);
    out.extend_from_slice(value);
}

/// Packs numbers as differences, each to the one before.
#[derive(Debug, Default)]
pub(super) struct Deltas {
    pub bytes: Vec<u8>,
    last: i64,
}

impl Deltas {
    pub(super) fn push(&mut self, value: i64) {
        put_signed(&mut self.bytes, value.wrapping_sub(self.last));
        self.last = value;
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.last = 0;
    }
}
