//! The language: read, followed, and compared with pgbench's. One binary, because each additional one links everything again.

mod golden;
mod language;
mod properties;
mod syntax;
