//! URLs of web servers, with or without placeholders for a tile.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Longest accepted URL.
const LONGEST: usize = 8 * 1024;

/// `http://host:3000/{z}/{x}/{y}.pbf`: a server and a path, with or without placeholders for zoom, column and
/// row of a tile.
///
/// User and password are kept for the request; neither `Debug` nor `Display` shows them.
#[derive(Clone, PartialEq, Eq)]
pub struct Url {
    secure: bool,
    host: String,
    port: u16,
    /// Value of the `Authorization` header, with `Basic `.
    authorization: Option<String>,
    path: Vec<UrlPiece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum UrlPiece {
    Text(String),
    Zoom,
    Column,
    /// Counted from the north, as in web maps.
    Row,
    /// Counted from the south (TMS).
    RowFromSouth,
}

impl UrlPiece {
    const PLACES: [(&'static str, Self); 4] =
        [("{z}", Self::Zoom), ("{x}", Self::Column), ("{y}", Self::Row), ("{-y}", Self::RowFromSouth)];
}

/// Why a URL is invalid. Nothing before an `@` is ever quoted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("must begin with http:// or https://, as in http://127.0.0.1:3000/{{z}}/{{x}}/{{y}}")]
    Scheme,
    #[error("has no valid host; write http://HOST:PORT/PATH (an IPv6 address in brackets)")]
    Host,
    #[error("has an invalid port (1..65535)")]
    Port,
    #[error("user and password must be percent-encoded: a % is written %25, an @ %40, a / %2F")]
    Credentials,
    #[error(
        "unknown placeholder {0:?}; there are {{z}}, {{x}}, {{y}} and {{-y}} (rows counted from the south)"
    )]
    Place(String),
    /// Some of the three placeholders are missing, or one is repeated.
    #[error("needs {{z}}, {{x}} and {{y}} (or {{-y}}) once each, or none of them")]
    Places,
    /// A blank, a control character, or a character beyond ASCII in the path.
    #[error("{0:?} is not allowed in a URL; percent-encode it")]
    Letter(char),
    /// A `#`: a fragment is never sent.
    #[error("the part after # is never sent; leave it out")]
    Fragment,
    #[error("is longer than {LONGEST} bytes")]
    Long,
}

impl Url {
    /// Parses a URL.
    ///
    /// # Errors
    /// [`UrlError`], the first one found.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        if text.len() > LONGEST {
            return Err(UrlError::Long);
        }
        let (secure, rest) = scheme(text).ok_or(UrlError::Scheme)?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let (credentials, place) = match authority.rsplit_once('@') {
            Some((credentials, place)) => (Some(credentials), place),
            None => (None, authority),
        };
        let (host, port) = host_and_port(place, if secure { 443 } else { 80 })?;
        let authorization = credentials.map(authorization).transpose()?;
        Ok(Self { secure, host: host.to_owned(), port, authorization, path: pieces(path)? })
    }

    /// Whether it is https.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.secure
    }

    /// Host name or address, without brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Port; by default 80, or 443 for https.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether it has placeholders for a tile.
    #[must_use]
    pub fn has_places(&self) -> bool {
        self.path.iter().any(|piece| !matches!(piece, UrlPiece::Text(_)))
    }

    /// The path and query to request, with this tile (rows counted from the north) in the placeholders.
    #[must_use]
    pub fn path(&self, z: u8, x: u32, y: u32) -> String {
        let rows = 1_u64.checked_shl(u32::from(z)).unwrap_or(0);
        let mut path = String::new();
        for piece in &self.path {
            match piece {
                UrlPiece::Text(text) => path.push_str(text),
                UrlPiece::Zoom => path.push_str(&z.to_string()),
                UrlPiece::Column => path.push_str(&x.to_string()),
                UrlPiece::Row => path.push_str(&y.to_string()),
                UrlPiece::RowFromSouth => {
                    path.push_str(&rows.saturating_sub(1 + u64::from(y)).to_string());
                }
            }
        }
        path
    }

    /// Host and port for the `Host` header: without the default port.
    #[must_use]
    pub fn authority(&self) -> String {
        let usual = if self.secure { 443 } else { 80 };
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        if self.port == usual { host } else { format!("{host}:{}", self.port) }
    }

    /// Whether `Display` hides a user, a password, or a secret in the query.
    #[must_use]
    pub fn has_credentials(&self) -> bool {
        self.authorization.is_some() || self.written_path() != self.shown_path()
    }

    /// The path with its placeholders.
    fn written_path(&self) -> String {
        let written = |piece: &UrlPiece| match piece {
            UrlPiece::Text(text) => text.clone(),
            place => {
                let known = UrlPiece::PLACES.iter().find(|(_, known)| known == place);
                known.map_or_else(String::new, |(written, _)| (*written).to_owned())
            }
        };
        self.path.iter().map(written).collect()
    }

    /// [`Self::written_path`] without secrets in the query.
    fn shown_path(&self) -> String {
        let path = self.written_path();
        let Some((path, query)) = path.split_once('?') else { return path };
        let shown = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, value)) if logs_in(name) && !is_place(value) => format!("{name}=hidden"),
            _ => pair.to_owned(),
        });
        format!("{path}?{}", shown.collect::<Vec<_>>().join("&"))
    }

    /// Value of the `Authorization` header: user and password, in base64. A secret.
    #[must_use]
    pub fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }
}

/// Without user, password, and secrets in the query; with placeholders.
impl fmt::Display for Url {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.secure { "https" } else { "http" };
        write!(formatter, "{scheme}://{}{}", self.authority(), self.shown_path())
    }
}

/// Whether a query parameter's name suggests a secret.
fn logs_in(name: &str) -> bool {
    const WORDS: [&str; 6] = ["key", "token", "secret", "pass", "auth", "sig"];
    let name = name.to_ascii_lowercase();
    WORDS.iter().any(|word| name.contains(word))
}

fn is_place(text: &str) -> bool {
    UrlPiece::PLACES.iter().any(|(written, _)| text == *written)
}

impl fmt::Debug for Url {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Url({self})")
    }
}

fn scheme(text: &str) -> Option<(bool, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    match () {
        () if scheme.eq_ignore_ascii_case("http") => Some((false, rest)),
        () if scheme.eq_ignore_ascii_case("https") => Some((true, rest)),
        () => None,
    }
}

fn host_and_port(place: &str, usual: u16) -> Result<(&str, u16), UrlError> {
    let (host, port) = match place.strip_prefix('[') {
        Some(rest) => {
            let (host, behind) = rest.split_once(']').ok_or(UrlError::Host)?;
            let is_address = host.parse::<std::net::Ipv6Addr>().is_ok();
            let port = behind.strip_prefix(':');
            if !is_address || (port.is_none() && !behind.is_empty()) {
                return Err(UrlError::Host);
            }
            (host, port)
        }
        None => match place.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (place, None),
        },
    };
    let good = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '-' | '_' | ':');
    if host.is_empty() || !host.chars().all(good) {
        return Err(UrlError::Host);
    }
    let Some(port) = port.filter(|port| !port.is_empty()) else { return Ok((host, usual)) };
    let digits = port.bytes().all(|byte| byte.is_ascii_digit());
    let number = port.parse().ok().filter(|port| digits && *port != 0);
    Ok((host, number.ok_or(UrlError::Port)?))
}

fn authorization(credentials: &str) -> Result<String, UrlError> {
    let (user, password) = credentials.split_once(':').unwrap_or((credentials, ""));
    let mut pair = decoded(user)?;
    // The end of the user's name would be ambiguous.
    if pair.contains(&b':') {
        return Err(UrlError::Credentials);
    }
    pair.push(b':');
    pair.extend(decoded(password)?);
    Ok(format!("Basic {}", STANDARD.encode(pair)))
}

fn decoded(text: &str) -> Result<Vec<u8>, UrlError> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'%' => {
                let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
                match (digit(), digit()) {
                    (Some(high), Some(low)) => (high * 16 + low) as u8,
                    _ => return Err(UrlError::Credentials),
                }
            }
            byte => byte,
        };
        bytes.push(byte);
    }
    Ok(bytes)
}

fn pieces(path: &str) -> Result<Vec<UrlPiece>, UrlError> {
    if path.contains('#') {
        return Err(UrlError::Fragment);
    }
    if let Some(letter) = path.chars().find(|letter| !letter.is_ascii_graphic()) {
        return Err(UrlError::Letter(letter));
    }
    let mut pieces = Vec::new();
    // `http://host?query` requests the root.
    let mut text = if path.starts_with('/') { String::new() } else { "/".to_owned() };
    let mut rest = path;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let known = UrlPiece::PLACES.iter().find(|(written, _)| rest.starts_with(written));
        let Some((written, place)) = known else {
            let end = rest.find('}').map_or(rest.len(), |end| end + 1);
            return Err(UrlError::Place(rest[..end].to_owned()));
        };
        pieces.extend(Some(UrlPiece::Text(std::mem::take(&mut text))).filter(|piece| !is_empty(piece)));
        pieces.push(place.clone());
        rest = &rest[written.len()..];
    }
    text.push_str(rest);
    pieces.extend(Some(UrlPiece::Text(text)).filter(|piece| !is_empty(piece)));
    let count = |wanted: &[UrlPiece]| pieces.iter().filter(|piece| wanted.contains(piece)).count();
    let counts =
        [&[UrlPiece::Zoom][..], &[UrlPiece::Column], &[UrlPiece::Row, UrlPiece::RowFromSouth]].map(count);
    match counts {
        [0, 0, 0] | [1, 1, 1] => Ok(pieces),
        _ => Err(UrlError::Places),
    }
}

fn is_empty(piece: &UrlPiece) -> bool {
    matches!(piece, UrlPiece::Text(text) if text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_taken_apart() {
        let parts = |text: &str| {
            let url = Url::parse(text).unwrap();
            (url.to_string(), url.authority(), url.port(), url.path(3, 1, 2), url.has_places())
        };
        for (text, shown, authority, port, path, places) in [
            ("http://h/{z}/{x}/{y}.pbf", "http://h/{z}/{x}/{y}.pbf", "h", 80, "/3/1/2.pbf", true),
            (
                "HTTPS://h:3000/t?x={x}&y={-y}&z={z}",
                "https://h:3000/t?x={x}&y={-y}&z={z}",
                "h:3000",
                3000,
                "/t?x=1&y=5&z=3",
                true,
            ),
            ("http://[::1]:8080", "http://[::1]:8080/", "[::1]:8080", 8080, "/", false),
            ("https://h:443/a%20b", "https://h/a%20b", "h", 443, "/a%20b", false),
            ("http://h?q=1", "http://h/?q=1", "h", 80, "/?q=1", false),
            (
                "http://h/{z}/{x}/{y}?map=roads&api_key=geheim",
                "http://h/{z}/{x}/{y}?map=roads&api_key=hidden",
                "h",
                80,
                "/3/1/2?map=roads&api_key=geheim",
                true,
            ),
            ("http://h:/{z}/{y}/{x}", "http://h/{z}/{y}/{x}", "h", 80, "/3/2/1", true),
        ] {
            let wanted = (shown.to_owned(), authority.to_owned(), port, path.to_owned(), places);
            assert_eq!(parts(text), wanted, "{text}");
        }
        let url = Url::parse("http://h/{z}/{x}/{-y}").unwrap();
        assert_eq!(url.path(0, 0, 0), "/0/0/0");
        assert_eq!(url.path(200, 1, 2), "/200/1/0");
    }

    #[test]
    fn user_and_password_go_into_the_request_alone() {
        let url = Url::parse("http://me:geh%40eim@h:81/").unwrap();
        assert_eq!(url.authorization(), Some("Basic bWU6Z2VoQGVpbQ=="));
        assert_eq!(Url::parse("http://me@h/").unwrap().authorization(), Some("Basic bWU6"));
        assert_eq!(format!("{url} {url:?}"), "http://h:81/ Url(http://h:81/)");
        // A password that contains an @.
        assert_eq!(Url::parse("http://me:a@b@h/").unwrap().host(), "h");
    }

    #[test]
    fn errors_quote_no_password() {
        for (text, wanted) in [
            ("h:3000/{z}/{x}/{y}", "must begin with http:// or https://"),
            ("ftp://h/", "must begin with http:// or https://"),
            ("postgres://me:geheim@h/", "must begin with http:// or https://"),
            ("http://", "has no valid host"),
            ("http:///x", "has no valid host"),
            ("http://a b/", "has no valid host"),
            ("http://[::1/", "has no valid host"),
            ("http://[::g]/", "has no valid host"),
            ("http://me:geheim@/", "has no valid host"),
            ("http://h:0/", "an invalid port (1..65535)"),
            ("http://h:70000/", "an invalid port"),
            ("http://h:+80/", "an invalid port"),
            ("http://me:geheim/", "an invalid port"),
            ("http://me:geheim%4@h/", "must be percent-encoded"),
            ("http://h/{z}/{x}", "needs {z}, {x} and {y}"),
            ("http://h/{z}/{x}/{y}/{-y}", "needs {z}, {x} and {y}"),
            ("http://h/{z}/{x}/{y}/{z}", "needs {z}, {x} and {y}"),
            ("http://h/{zoom}/{x}/{y}", "unknown placeholder \"{zoom}\""),
            ("http://h/{z", "unknown placeholder \"{z\""),
            ("http://h/a b", "' ' is not allowed in a URL"),
            ("http://h/ä", "'ä' is not allowed in a URL"),
            ("http://h/#12/3/4", "the part after # is never sent"),
            (&format!("http://h/{}", "x".repeat(9000)), "is longer than 8192 bytes"),
        ] {
            let message = Url::parse(text).unwrap_err().to_string();
            assert!(message.contains(wanted), "{message} for {text}");
            assert!(!message.contains("geheim"), "{message}");
        }
    }
}
