//! `protocol` crate of pgdyno.
