//! Only a manifest: see Cargo.toml.
