//! What a Redis server sends.

#![no_main]

#[path = "../../crates/protocol/tests/fuzz/redis.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
