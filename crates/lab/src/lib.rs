//! `lab` crate of pgdyno.
