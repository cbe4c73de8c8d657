//! From files or made-up runs to a comparison. One binary, because each additional one links everything again.

mod import;
mod simulated;
