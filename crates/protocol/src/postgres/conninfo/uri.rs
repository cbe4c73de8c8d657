//! Connection URIs: `postgresql://user:password@host:port,host:port/dbname?option=value&…`.

use super::error::{ConnInfoError, UriError};
use super::parameters::Parameters;
use super::{keywords, secret};

/// The text after `postgresql://` or `postgres://`; `None` if it is not a URI.
pub(super) fn after_scheme(dsn: &str) -> Option<&str> {
    dsn.strip_prefix("postgresql://").or_else(|| dsn.strip_prefix("postgres://"))
}

/// Parses the text after the scheme. Every part is optional.
pub(super) fn parse(rest: &str, into: &mut Parameters) -> Result<(), ConnInfoError> {
    let rest = credentials(rest, into)?;
    let rest = hosts(rest, into)?;
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    if let Some(dbname) = path.strip_prefix('/').filter(|dbname| !dbname.is_empty()) {
        secret::check_bare("dbname", dbname)?;
        into.set("dbname", &decode(dbname, "the database name")?)?;
    }
    let options = query.split('&').filter(|option| !option.is_empty());
    (1..).zip(options).try_for_each(|(number, option)| query_option(option, number, into))
}

/// `user:password@`, if there is an `@` before the first slash.
fn credentials<'a>(rest: &'a str, into: &mut Parameters) -> Result<&'a str, ConnInfoError> {
    let authority = &rest[..rest.find('/').unwrap_or(rest.len())];
    let Some((credentials, _)) = authority.split_once('@') else {
        return Ok(rest);
    };
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    if !user.is_empty() {
        secret::check_bare("user", user)?;
        into.set("user", &decode(user, "the user name")?)?;
    }
    if !password.is_empty() {
        into.set("password", &decode(password, "the password")?)?;
    }
    Ok(&rest[credentials.len() + 1..])
}

/// `host:port,host:port`; returns the rest.
fn hosts<'a>(mut rest: &'a str, into: &mut Parameters) -> Result<&'a str, ConnInfoError> {
    let mut hosts = Vec::new();
    let mut ports = Vec::new();
    loop {
        let (host, behind) = host(rest)?;
        hosts.push(host);
        rest = behind;
        let mut port = "";
        if let Some(behind) = rest.strip_prefix(':') {
            (port, rest) = behind.split_at(behind.find(['/', '?', ',']).unwrap_or(behind.len()));
        }
        ports.push(port);
        match rest.strip_prefix(',') {
            Some(behind) => rest = behind,
            None => break,
        }
    }
    let (hosts, ports) = (hosts.join(","), ports.join(","));
    if hosts.contains('@') {
        return Err(ConnInfoError::Uri(UriError::SecondAt));
    }
    if !hosts.is_empty() {
        into.set("host", &decode(&hosts, "the host")?)?;
    }
    if !ports.is_empty() {
        into.set("port", &decode(&ports, "the port")?)?;
    }
    Ok(rest)
}

/// One host, an IPv6 address in brackets; returns the rest.
fn host(rest: &str) -> Result<(&str, &str), ConnInfoError> {
    let Some(inside) = rest.strip_prefix('[') else {
        return Ok(rest.split_at(rest.find([':', '/', '?', ',']).unwrap_or(rest.len())));
    };
    let (address, behind) = inside.split_once(']').ok_or(ConnInfoError::Uri(UriError::UnclosedBracket))?;
    if address.is_empty() {
        return Err(ConnInfoError::Uri(UriError::EmptyBrackets));
    }
    match behind.chars().next() {
        None | Some(':' | '/' | '?' | ',') => Ok((address, behind)),
        Some(_) => Err(ConnInfoError::Uri(UriError::AfterBracket)),
    }
}

fn query_option(option: &str, number: usize, into: &mut Parameters) -> Result<(), ConnInfoError> {
    let (name, value) = option.split_once('=').ok_or_else(|| {
        ConnInfoError::Uri(UriError::MissingEquals(keywords::word_or_number(option, number)))
    })?;
    let name = decode(name, "a query parameter")?;
    if value.contains('=') {
        return Err(ConnInfoError::Uri(UriError::ExtraEquals(keywords::word_or_number(&name, number))));
    }
    let value = decode(value, "a query parameter")?;
    match (name.as_str(), value.as_str()) {
        // As in JDBC URIs.
        ("ssl", "true") => into.set("sslmode", "require"),
        _ => into.set(&name, &value).map_err(|error| error.numbered(number)),
    }
}

/// Decodes `%xx`; `what` names the part in messages, which never show the text.
fn decode(text: &str, what: &'static str) -> Result<String, ConnInfoError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let byte = behind
            .split_first_chunk::<2>()
            .and_then(|(&[high, low], behind)| {
                rest = behind;
                Some(hex(high)? << 4 | hex(low)?)
            })
            .ok_or(ConnInfoError::Uri(UriError::PercentToken(what)))?;
        if byte == 0 {
            return Err(ConnInfoError::Uri(UriError::PercentZero(what)));
        }
        bytes.push(byte);
    }
    String::from_utf8(bytes).map_err(|_| ConnInfoError::Uri(UriError::NotUtf8(what)))
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}
