//! Hides secrets in texts.

use protocol::percent_encoded;
use protocol::postgres::Login;

/// Secrets that a program's log may contain, and a message must not.
#[derive(Debug, Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    pub(crate) fn of(login: &Login) -> Self {
        let Some(password) = &login.password else { return Self::default() };
        let bytes = password.as_bytes();
        let plain = String::from_utf8_lossy(bytes).into_owned();
        let mut spellings = vec![percent_encoded(bytes), plain];
        spellings.retain(|text| !text.is_empty());
        Self(spellings)
    }

    /// The text without the secrets.
    pub(crate) fn hidden(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "***"))
    }
}

#[cfg(test)]
mod tests {
    use protocol::postgres::conninfo::{Password, PasswordSource};

    use super::*;

    #[test]
    fn passwords_are_hidden_however_they_are_spelled() {
        let mut login = Login::new("ann", "d");
        assert_eq!(Secrets::of(&login).hidden("postgresql://ann@h"), "postgresql://ann@h");
        login.password = Some(Password::new("p w", PasswordSource::Environment));
        let text = "no postgresql://ann:p%20w@h, password p w";
        assert_eq!(Secrets::of(&login).hidden(text), "no postgresql://ann:***@h, password ***");
    }
}
