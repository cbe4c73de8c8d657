//! Scripts: parsed, checked, and run as far as they can be without a server.

#![no_main]

#[path = "../../crates/script/tests/fuzz/script.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
