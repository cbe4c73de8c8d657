//! Which responses are acceptable.

use protocol::http::{Encoding, Response};

use super::body::is_html;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ResponseFault {
    /// Not a success.
    Status,
    /// Its content type was not expected.
    Type,
    /// It is an HTML page, and none was expected.
    Page,
}

/// Expected content types, and the statuses that mean an empty answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Accept {
    pub(super) types: Vec<String>,
    /// Besides 204.
    pub(super) empty: Vec<u16>,
}

/// What is judged of a response.
#[derive(Debug, Clone, Copy)]
pub(super) struct Judged<'r> {
    pub(super) status: u16,
    pub(super) content_type: &'r [u8],
    pub(super) bytes: u64,
    /// The first bytes of the decoded body; empty if it is compressed.
    pub(super) first: &'r [u8],
}

impl<'r> Judged<'r> {
    #[inline]
    pub(super) fn of(response: &Response<'r>) -> Self {
        let first = if response.encoding == Encoding::Identity { response.first } else { &[] };
        let Response { status, content_type, bytes, .. } = *response;
        Self { status, content_type, bytes, first }
    }
}

impl Accept {
    /// What is wrong with a response, if anything. An empty body needs no type.
    #[inline]
    pub(super) fn fault(&self, response: Judged<'_>) -> Option<ResponseFault> {
        let Judged { status, content_type, bytes, first } = response;
        match status {
            _ if self.is_empty(status) => None,
            200 | 203 | 304 if bytes == 0 => None,
            200 | 203 | 304 if self.takes(content_type) => {
                (is_html(first) && !self.takes(PAGES[0])).then_some(ResponseFault::Page)
            }
            200 | 203 | 304 if is_page(plain(content_type)) => Some(ResponseFault::Page),
            200 | 203 | 304 => Some(ResponseFault::Type),
            // 202: not made yet; 206: a part, which was not asked for.
            _ => Some(ResponseFault::Status),
        }
    }

    /// Whether a status means that there is nothing, whatever its body says.
    #[inline]
    pub(super) fn is_empty(&self, status: u16) -> bool {
        status == 204 || self.empty.contains(&status)
    }

    #[inline]
    fn takes(&self, content_type: &[u8]) -> bool {
        let plain = plain(content_type);
        if self.types.is_empty() {
            return !is_page(plain);
        }
        self.types.iter().any(|wanted| match wanted.strip_suffix('*') {
            Some("*/") => true,
            Some(kind) => {
                plain.get(..kind.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(kind.as_bytes()))
            }
            None => plain.eq_ignore_ascii_case(wanted.as_bytes()),
        })
    }
}

/// Content types of HTML pages.
const PAGES: [&[u8]; 2] = [b"text/html", b"application/xhtml+xml"];

/// A content type without its parameters.
fn plain(content_type: &[u8]) -> &[u8] {
    let end = content_type.iter().position(|byte| *byte == b';').unwrap_or(content_type.len());
    content_type[..end].trim_ascii()
}

fn is_page(plain: &[u8]) -> bool {
    PAGES.iter().any(|page| plain.eq_ignore_ascii_case(page))
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
            let types = accept.iter().map(|&word: &&str| word.to_owned()).collect();
            let accept = Accept { types, ..Accept::default() };
            assert_eq!(accept.takes(found.as_bytes()), wanted, "{accept:?} {found}");
        }
        let judged = |status, bytes, content_type: &'static str, first: &'static str| Judged {
            status,
            content_type: content_type.as_bytes(),
            bytes,
            first: first.as_bytes(),
        };
        let any = Accept::default();
        for (status, bytes, wanted) in [
            (200, 1, Some(ResponseFault::Page)),
            (204, 0, None),
            (304, 0, None),
            (302, 0, Some(ResponseFault::Status)),
            (500, 0, Some(ResponseFault::Status)),
        ] {
            assert_eq!(any.fault(judged(status, bytes, "text/html", "")), wanted, "{status}");
        }
        let of = |types: &[&str]| Accept {
            types: types.iter().map(|&word| word.to_owned()).collect(),
            empty: vec![404],
        };
        for (accept, response, wanted) in [
            (of(&[]), judged(200, 9, "application/x-protobuf", "<!doctype HTML>"), Some(ResponseFault::Page)),
            (
                of(&["application/*"]),
                judged(200, 9, "application/x-protobuf", "<html>"),
                Some(ResponseFault::Page),
            ),
            (of(&["text/html"]), judged(200, 9, "text/html", "<html>"), None),
            (of(&["*/*"]), judged(200, 9, "text/html", "<html>"), None),
            (of(&["image/png"]), judged(200, 9, "text/html", ""), Some(ResponseFault::Page)),
            (of(&["image/png"]), judged(200, 9, "image/gif", "GIF89a"), Some(ResponseFault::Type)),
            (of(&[]), judged(404, 9, "text/html", "<html>"), None),
            (of(&[]), judged(410, 9, "text/html", "<html>"), Some(ResponseFault::Status)),
        ] {
            assert_eq!(accept.fault(response), wanted, "{response:?}");
        }
    }
}
