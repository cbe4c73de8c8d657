//! The 64 bits of a completion: operation, connection and its generation.

use crate::driver::Conn;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Receive,
    Send,
    Connect,
    Wake,
}

const GENERATIONS: u64 = (1 << 30) - 1;

/// Two bits of kind, 30 of generation, 32 of connection.
pub(super) const fn token(kind: Kind, generation: u32, conn: Conn) -> u64 {
    (kind as u64) << 62 | (generation as u64 & GENERATIONS) << 32 | conn as u64 & u32::MAX as u64
}

/// The parts of a [`token`]; the generation modulo 2^30.
pub(super) fn parts(token: u64) -> (Kind, u32, Conn) {
    let kind = match token >> 62 {
        0 => Kind::Receive,
        1 => Kind::Send,
        2 => Kind::Connect,
        _ => Kind::Wake,
    };
    (kind, (token >> 32 & GENERATIONS) as u32, (token & u64::from(u32::MAX)) as Conn)
}

pub(super) fn next(generation: u32) -> u32 {
    (generation + 1) & GENERATIONS as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_come_apart_again() {
        for kind in [Kind::Receive, Kind::Send, Kind::Connect, Kind::Wake] {
            for generation in [0, 1, 77, GENERATIONS as u32] {
                for conn in [0, 5, u32::MAX as usize] {
                    assert_eq!(parts(token(kind, generation, conn)), (kind, generation, conn));
                }
            }
        }
        assert_eq!(next(GENERATIONS as u32), 0);
    }
}
