//! libpq's words for connections that fail: who knows them from its programs knows ours.

use std::io;

use crate::Address;

/// Of a connection that ends without a word.
pub const CLOSED: &str = "server closed the connection unexpectedly\n\tThis probably means the server terminated \
                          abnormally\n\tbefore or while processing the request.";

/// Of a connection that was not made: `connection to server at "localhost" (127.0.0.1), port 5432 failed: …`, with the
/// name the address was looked up by.
#[must_use]
pub fn not_connected(address: &Address, host: Option<&str>, reason: &str) -> String {
    format!("connection to server {} failed: {reason}", address.in_words(host))
}

/// What libpq asks, behind the system's words, when nobody answers; empty for other errors.
#[must_use]
pub fn advice(address: &Address, error: &io::Error) -> &'static str {
    use io::ErrorKind::{ConnectionRefused, NotFound};
    match (address, error.kind()) {
        (Address::Unix(_), ConnectionRefused | NotFound) => {
            "\n\tIs the server running locally and accepting connections on that socket?"
        }
        (Address::Tcp(_), ConnectionRefused) => {
            "\n\tIs the server running on that host and accepting TCP/IP connections?"
        }
        _ => "",
    }
}

/// An error of the system without its number.
#[must_use]
pub fn system(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// Of a name without an address.
#[must_use]
pub fn unknown_host(host: &str, error: &io::Error) -> String {
    let text = error.to_string();
    let reason = text.rsplit(": ").next().unwrap_or(&text);
    format!("could not translate host name \"{host}\" to address: {reason}")
}
