//! Session settings sent with a connection, as in libpq's `options`.

use std::collections::BTreeMap;
use std::sync::Arc;

use protocol::postgres::Login;
use protocol::postgres::Place;

/// The same place with settings for every connection (`options=-c name=value`); nothing on the server
/// changes.
#[must_use]
pub fn with_session_settings(connect: &Place, settings: &BTreeMap<String, String>) -> Place {
    if settings.is_empty() {
        return connect.clone();
    }
    let mut login: Login = (*connect.login).clone();
    let added = session_options(settings);
    match login.parameters.iter_mut().find(|(name, _)| name == "options") {
        Some((_, options)) => *options = format!("{options} {added}"),
        None => login.parameters.push(("options".to_owned(), added)),
    }
    Place { login: Arc::new(login), ..connect.clone() }
}

/// `-c name=value …`, for `options` and `PGOPTIONS`.
#[must_use]
fn session_options(settings: &BTreeMap<String, String>) -> String {
    let options = settings.iter().map(|(name, value)| format!("-c {name}={}", escaped(value)));
    options.collect::<Vec<_>>().join(" ")
}

/// The server splits options at blanks; a backslash escapes a character.
fn escaped(value: &str) -> String {
    value.chars().fold(String::with_capacity(value.len()), |mut out, character| {
        if character.is_ascii_whitespace() || character == '\\' {
            out.push('\\');
        }
        out.push(character);
        out
    })
}

#[cfg(test)]
mod tests {
    use protocol::Address;

    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn blanks_and_backslashes_are_escaped() {
        let given = settings(&[("search_path", "a, b"), ("x.y", "c\\d"), ("work_mem", "64MB")]);
        assert_eq!(session_options(&given), "-c search_path=a,\\ b -c work_mem=64MB -c x.y=c\\\\d");
    }

    #[test]
    fn earlier_options_stay() {
        let mut login = Login::new("u", "d");
        login.parameters.push(("options".into(), "-c jit=off".into()));

        let connect = Place::new(Address::Unix("/s".into()), Arc::new(login));
        let with = with_session_settings(&connect, &settings(&[("work_mem", "1MB")]));
        assert_eq!(with.login.parameters, [("options".to_owned(), "-c jit=off -c work_mem=1MB".to_owned())]);
        assert_eq!(
            with_session_settings(&connect, &BTreeMap::new()).login.parameters,
            connect.login.parameters
        );
    }
}
