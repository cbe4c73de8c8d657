//! `script` crate of pgdyno.
