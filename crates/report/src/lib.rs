//! `report` crate of pgdyno.
