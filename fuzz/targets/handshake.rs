//! What a PostgreSQL server sends until a connection is ready.

#![no_main]

#[path = "../../crates/protocol/tests/fuzz/handshake.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
