//! The address of a server from the command line.

use protocol::postgres::conninfo::ConnectionString;
use protocol::postgres::{Env, Parameters};
use spec::{Class, Error};

/// The server that a database name, connection string or URI describes, with host, port and user as separate
/// options. Missing parts come from the environment, as with libpq.
///
/// # Errors
/// When host, port or user are given next to a URI, which has its own, or a part is invalid.
pub fn at(
    dsn: Option<&str>,
    host: Option<&str>,
    port: Option<&str>,
    user: Option<&str>,
) -> Result<ConnectionString, Error> {
    let apart: Vec<String> = [("host", host), ("port", port), ("user", user)]
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name}={}", quoted(value?))))
        .collect();
    let dsn = dsn.unwrap_or_default();
    let url = match (apart.is_empty(), dsn) {
        (true, _) => dsn.to_owned(),
        (false, "") => apart.join(" "),
        (false, uri) if uri.starts_with("postgres://") || uri.starts_with("postgresql://") => {
            return Err(Error::new(Class::Usage, "host, port or user are given together with a URI")
                .with_hint("write them into the URI: postgres://user@host:port/database"));
        }
        // The string itself wins over the options, as in pgbench, so it comes last.
        (false, string) if string.contains('=') => format!("{} {string}", apart.join(" ")),
        (false, name) => format!("{} dbname={}", apart.join(" "), quoted(name)),
    };
    let given = [("host", host), ("port", port), ("user", user)];
    let read = Parameters::parse(dsn).and_then(|mut parameters| {
        given.iter().try_for_each(|(name, value)| parameters.set_default(name, value.unwrap_or_default()))
    });
    read.map_err(|error| Error::new(Class::Usage, error.to_string()))?;
    // Check the string now: the stored form, without secrets, would hide the mistake.
    let wrong = |error| Error::new(Class::Usage, format!("connection string: {error}"));
    let url = ConnectionString::parse(&url).map_err(wrong)?;
    url.resolve(&Env::process()).map_err(wrong)?;
    Ok(url)
}

fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "\\'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(dsn: Option<&str>, host: Option<&str>, user: Option<&str>) -> Option<String> {
        Some(at(dsn, host, None, user).ok()?.with_secrets().to_owned())
    }

    #[test]
    fn descriptions_are_joined() {
        let cases = [
            (None, None, None, Some("")),
            (Some("shop"), None, None, Some("shop")),
            (Some("shop"), Some("h"), Some("o'b"), Some("host='h' user='o\\'b' dbname='shop'")),
            (Some("host=a dbname=x"), Some("b"), None, Some("host='b' host=a dbname=x")),
            (Some("postgres://h/x"), None, None, Some("postgres://h/x")),
            (Some("postgres://h/x"), Some("b"), None, None),
            (None, Some("b"), None, Some("host='b'")),
        ];
        for (dsn, host, user, wanted) in cases {
            assert_eq!(url(dsn, host, user).as_deref(), wanted, "{dsn:?} {host:?}");
        }
    }
}
