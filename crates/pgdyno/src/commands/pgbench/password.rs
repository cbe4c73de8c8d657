//! Asks for a password.

/// Asks on the terminal without echo; `None` if there is no terminal.
pub(super) fn ask() -> Option<String> {
    rpassword::prompt_password("Password: ").ok()
}
