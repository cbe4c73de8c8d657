//! GET requests, prepared before they are needed.

use super::Url;

/// Value of `User-Agent`.
pub const USER_AGENT: &str = concat!("pgdyno/", env!("CARGO_PKG_VERSION"));

/// The parts that all requests of one kind share.
#[derive(Clone, PartialEq, Eq)]
pub struct Get {
    /// Everything after the path.
    head: String,
}

impl Get {
    /// Requests to a URL's server. `accept` are the acceptable content types, any if empty; `gzip` allows
    /// compressed bodies; `keep_alive` asks the server to keep the connection.
    #[must_use]
    pub fn new(url: &Url, accept: &[String], gzip: bool, keep_alive: bool) -> Self {
        let mut head = format!(" HTTP/1.1\r\nHost: {}\r\nUser-Agent: {USER_AGENT}\r\n", url.authority());
        if !accept.is_empty() {
            head += &format!("Accept: {}\r\n", accept.join(", "));
        }
        head += if gzip { "Accept-Encoding: gzip\r\n" } else { "Accept-Encoding: identity\r\n" };
        head += if keep_alive { "Connection: keep-alive\r\n" } else { "Connection: close\r\n" };
        if let Some(authorization) = url.authorization() {
            head += &format!("Authorization: {authorization}\r\n");
        }
        head += "\r\n";
        Self { head }
    }

    /// Appends the request for a path, as [`Url::path`] gives it.
    pub fn write(&self, path: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(b"GET ");
        out.extend_from_slice(path.as_bytes());
        out.extend_from_slice(self.head.as_bytes());
    }

    /// The path in a request from [`Self::write`].
    #[must_use]
    pub fn path_of(request: &[u8]) -> &str {
        let behind = request.strip_prefix(b"GET ").unwrap_or_default();
        let end = behind.iter().position(|byte| *byte == b' ').unwrap_or(behind.len());
        std::str::from_utf8(&behind[..end]).unwrap_or_default()
    }
}

/// Without the head, which may hold a password.
impl std::fmt::Debug for Get {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Get").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_say_what_is_wanted() {
        let url = Url::parse("http://me:x@h:3000/{z}/{x}/{y}").unwrap();
        let mut out = b"before".to_vec();
        Get::new(&url, &[], true, true).write(&url.path(1, 0, 1), &mut out);
        let version = env!("CARGO_PKG_VERSION");
        let wanted = format!(
            "beforeGET /1/0/1 HTTP/1.1\r\nHost: h:3000\r\nUser-Agent: pgdyno/{version}\r\nAccept-Encoding: gzip\r\n\
             Connection: keep-alive\r\nAuthorization: Basic bWU6eA==\r\n\r\n"
        );
        assert_eq!(String::from_utf8(out.clone()).unwrap(), wanted);
        assert_eq!(Get::path_of(&out[6..]), "/1/0/1");
        let mut out = Vec::new();
        let other = Get::new(&url, &["image/png".into(), "image/webp".into()], false, false);
        other.write("/", &mut out);
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains(
            "\r\nAccept: image/png, image/webp\r\nAccept-Encoding: identity\r\nConnection: close\r\n"
        ));
        assert!(!format!("{other:?}").contains("bWU6eA"));
        assert_eq!(Get::path_of(b"PUT x"), "");
    }
}
