//! Asking for a password.

/// Asks at the terminal, without showing what is typed; `None` when there is no terminal.
pub(super) fn ask() -> Option<String> {
    rpassword::prompt_password("Password: ").ok()
}
