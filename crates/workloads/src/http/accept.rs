//! Which responses are acceptable.

use protocol::http::Response;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseFault {
    /// Not a success.
    Status,
    /// Its content type was not expected.
    Type,
}

/// Expected content types.
#[derive(Debug, Clone, Default)]
pub(super) struct Accept(pub(super) Vec<String>);

impl Accept {
    /// What is wrong with a response, if anything. An empty body needs no type.
    #[inline]
    pub(super) fn fault(&self, status: u16, content_type: &[u8], bytes: u64) -> Option<ResponseFault> {
        match status {
            200..=299 | 304 if bytes == 0 || self.takes(content_type) => None,
            200..=299 | 304 => Some(ResponseFault::Type),
            _ => Some(ResponseFault::Status),
        }
    }

    /// As [`Self::fault`], for a decoded response.
    #[inline]
    pub(super) fn fault_of(&self, response: &Response<'_>) -> Option<ResponseFault> {
        self.fault(response.status, response.content_type, response.bytes)
    }

    #[inline]
    fn takes(&self, content_type: &[u8]) -> bool {
        let end = content_type.iter().position(|byte| *byte == b';').unwrap_or(content_type.len());
        let plain = content_type[..end].trim_ascii();
        if self.0.is_empty() {
            return ![&b"text/html"[..], b"application/xhtml+xml"]
                .iter()
                .any(|page| plain.eq_ignore_ascii_case(page));
        }
        self.0.iter().any(|wanted| match wanted.strip_suffix('*') {
            Some("*/") => true,
            Some(kind) => {
                plain.get(..kind.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(kind.as_bytes()))
            }
            None => plain.eq_ignore_ascii_case(wanted.as_bytes()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_compared_without_their_parameters() {
        let cases = [
            (&[][..], "application/x-protobuf", true),
            (&[], "", true),
            (&[], "text/html; charset=utf-8", false),
            (&[], "TEXT/HTML", false),
            (&["text/html"], "text/html; charset=utf-8", true),
            (&["image/png"], "image/webp", false),
            (&["image/*"], "Image/WebP", true),
            (&["image/*"], "imagery/x", false),
            (&["image/png", "*/*"], "x/y", true),
            (&["image/png"], "", false),
        ];
        for (accept, found, wanted) in cases {
            let accept = Accept(accept.iter().map(|&word: &&str| word.to_owned()).collect());
            assert_eq!(accept.takes(found.as_bytes()), wanted, "{accept:?} {found}");
        }
        let any = Accept::default();
        for (status, bytes, wanted) in [
            (200, 1, Some(ResponseFault::Type)),
            (204, 0, None),
            (304, 0, None),
            (302, 0, Some(ResponseFault::Status)),
            (500, 0, Some(ResponseFault::Status)),
        ] {
            assert_eq!(any.fault(status, b"text/html", bytes), wanted, "{status}");
        }
    }
}
