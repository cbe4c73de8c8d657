//! What a body is by its first bytes, whatever its content type says.

/// What a body is, as far as messages about it differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyKind {
    Html,
    Xml,
    Json,
    /// Compressed, or compressed twice.
    Gzip,
    Other,
}

impl BodyKind {
    pub(crate) fn of(body: &[u8]) -> Self {
        if is_html(body) {
            return Self::Html;
        }
        match begin(body) {
            [0x1f, 0x8b, ..] => Self::Gzip,
            [b'<', b'?' | b'!' | b'a'..=b'z' | b'A'..=b'Z', ..] => Self::Xml,
            [b'{', next, ..] if b"\"} \r\n\t".contains(next) => Self::Json,
            _ => Self::Other,
        }
    }

    /// `an HTML page`.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Html => "an HTML page",
            Self::Xml => "an XML document",
            Self::Json => "a JSON document",
            Self::Gzip => "compressed data without a Content-Encoding header, or compressed twice",
            Self::Other => "something else",
        }
    }
}

/// Whether a body is an HTML page; cheap for everything else.
#[inline]
pub(super) fn is_html(body: &[u8]) -> bool {
    let begin = begin(body);
    begin.first() == Some(&b'<') && is_page(begin)
}

fn is_page(begin: &[u8]) -> bool {
    let starts = |text: &[u8], word: &str| {
        text.get(..word.len()).is_some_and(|first| first.eq_ignore_ascii_case(word.as_bytes()))
    };
    ["<!doctype html", "<html", "<head", "<body", "<title"].iter().any(|word| starts(begin, word))
}

/// Without a byte order mark and white space.
fn begin(body: &[u8]) -> &[u8] {
    body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body).trim_ascii_start()
}

/// The title of an HTML page, if its first bytes have it.
pub(super) fn title(page: &str) -> Option<&str> {
    let lower = page.to_ascii_lowercase();
    let start = lower.find("<title")?;
    let start = start + lower[start..].find('>')? + 1;
    let end = start + lower[start..].find("</title")?;
    Some(page[start..end].trim()).filter(|title| !title.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_are_known_by_their_first_bytes() {
        let cases: [(&[u8], BodyKind); 11] = [
            (b"<!DOCTYPE html><html>", BodyKind::Html),
            (b"\xef\xbb\xbf\r\n <HTML lang=de>", BodyKind::Html),
            (b"<head><title>x</title>", BodyKind::Html),
            (b"<?xml version=\"1.0\"?><ServiceExceptionReport/>", BodyKind::Xml),
            (b"<ows:ExceptionReport>", BodyKind::Xml),
            (b"{\"error\": \"no tile\"}", BodyKind::Json),
            (b"\x1f\x8b\x08\x00", BodyKind::Gzip),
            (b"\x1a\x10x\x02\x0a\x05roads", BodyKind::Other),
            (b"<", BodyKind::Other),
            (b"", BodyKind::Other),
            (b"<\x00\x01", BodyKind::Other),
        ];
        for (body, wanted) in cases {
            assert_eq!(BodyKind::of(body), wanted, "{:?}", String::from_utf8_lossy(body));
        }
    }

    #[test]
    fn titles_are_found_in_any_case() {
        assert_eq!(title("<html><TITLE class=a> Sign in </Title>"), Some("Sign in"));
        assert_eq!(title("<html><title></title>"), None);
        assert_eq!(title("<html><title>cut of"), None);
    }
}
