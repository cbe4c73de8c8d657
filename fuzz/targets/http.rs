//! What a web server sends.

#![no_main]

#[path = "../../crates/protocol/tests/fuzz/http.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
