//! What goes over a connection, without one. One binary, because each additional one links everything again.

mod conninfo;
mod errors;
mod frontend;
mod handshake;
mod http;
mod messages;
mod misplaced;
mod redis;
