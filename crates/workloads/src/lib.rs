//! `workloads` crate of pgdyno.
