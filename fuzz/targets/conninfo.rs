//! Connection strings and URIs, the environment and the files they lead to.

#![no_main]

#[path = "../../crates/protocol/tests/fuzz/conninfo.rs"]
mod body;

libfuzzer_sys::fuzz_target!(|data: &[u8]| body::run(data));
