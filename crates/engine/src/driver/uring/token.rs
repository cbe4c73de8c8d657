//! The 64 bits of a completion: operation, connection and its generation.

use crate::driver::Conn;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OperationKind {
    Receive,
    Send,
    Connect,
    Wake,
}

const GENERATIONS: u64 = (1 << 30) - 1;

/// Two bits of kind, 30 of generation, 32 of connection.
pub(super) const fn token(kind: OperationKind, generation: u32, conn: Conn) -> u64 {
    (kind as u64) << 62 | (generation as u64 & GENERATIONS) << 32 | conn as u64 & u32::MAX as u64
}

/// The parts of a [`token`]; the generation modulo 2^30.
pub(super) fn parts(token: u64) -> (OperationKind, u32, Conn) {
    let kind = match token >> 62 {
        0 => OperationKind::Receive,
        1 => OperationKind::Send,
        2 => OperationKind::Connect,
        _ => OperationKind::Wake,
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
        for kind in [OperationKind::Receive, OperationKind::Send, OperationKind::Connect, OperationKind::Wake]
        {
            for generation in [0, 1, 77, GENERATIONS as u32] {
                for conn in [0, 5, u32::MAX as usize] {
                    assert_eq!(parts(token(kind, generation, conn)), (kind, generation, conn));
                }
            }
        }
        assert_eq!(next(GENERATIONS as u32), 0);
    }
}
