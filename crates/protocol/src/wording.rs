//! libpq's texts for failed connections, which its users know.

use std::io;

use crate::Address;

/// For a connection that ends without an error message.
pub const CLOSED: &str = "server closed the connection unexpectedly\n\tThis probably means the server terminated \
                          abnormally\n\tbefore or while processing the request.";

/// For a connection that failed: `connection to server at "localhost" (127.0.0.1), port 5432 failed: …`, with
/// the name that was looked up.
#[must_use]
pub fn not_connected(address: &Address, host: Option<&str>, reason: &str) -> String {
    format!("connection to server {} failed: {reason}", address.in_words(host))
}

/// libpq's question after the system's error when nobody listens; empty for other errors.
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

/// A system error's text without its number.
#[must_use]
pub fn system(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// For a name without an address.
#[must_use]
pub fn unknown_host(host: &str, error: &io::Error) -> String {
    let text = error.to_string();
    let reason = text.rsplit(": ").next().unwrap_or(&text);
    format!("could not translate host name \"{host}\" to address: {reason}")
}
