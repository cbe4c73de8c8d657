//! What a PostgreSQL server sends to a connection that is ready.

#![no_main]

#[path = "../../crates/protocol/tests/fuzz/messages.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
