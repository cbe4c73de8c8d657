//! The warning before a password leaves a connection whose TLS failed: with sslmode `prefer`, libpq goes on without it.

use std::sync::OnceLock;

use super::login::{AuthMethod, Login};

static WARNING: OnceLock<fn(&str)> = OnceLock::new();

/// Sets the function that prints the warning in this process; the first call counts.
pub fn on_unencrypted_password(told: fn(&str)) {
    let _ = WARNING.set(told);
}

/// Called before the answer to the server's request is sent.
pub(super) fn warn(login: &Login, method: AuthMethod, why: &str) {
    let Some(told) = WARNING.get() else { return };
    let sent = match method {
        AuthMethod::ScramSha256 => "the proof of the password",
        AuthMethod::Md5 => "the hash of the password",
        AuthMethod::Password | AuthMethod::None => "the password",
    };
    told(&format!(
        "TLS to the server failed ({why}), and sslmode=prefer goes on without it: {sent} of role {:?} is sent unencrypted; \
         sslmode=verify-full refuses such a server, and sslmode=disable states that no encryption is wanted",
        login.user
    ));
}
