//! The pgdyno program.
fn main() {}
