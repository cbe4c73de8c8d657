//! Messages about responses.

use protocol::http::Encoding;

use super::accept::ResponseFault;
use super::body::title;

/// Characters of a body in a message.
const WORDS: usize = 80;

/// A response, for a message.
pub(super) struct ShownResponse<'a> {
    pub(super) path: &'a str,
    pub(super) status: u16,
    pub(super) content_type: &'a [u8],
    pub(super) location: &'a [u8],
    pub(super) encoding: Encoding,
    /// The beginning of its body, or all of it.
    pub(super) body: &'a [u8],
}

impl ShownResponse<'_> {
    /// `GET /1/0/0 gave 500: out of memory`.
    pub(super) fn in_words(&self, fault: ResponseFault) -> String {
        let path = self.path;
        let what = match fault {
            ResponseFault::Status => self.status.to_string(),
            ResponseFault::Type if self.content_type.is_empty() => "a body without a content type".to_owned(),
            ResponseFault::Type => String::from_utf8_lossy(self.content_type).into_owned(),
            ResponseFault::Page => {
                format!("an HTML page (Content-Type {:?})", String::from_utf8_lossy(self.content_type))
            }
        };
        let what = match (fault, self.location) {
            (ResponseFault::Status, [_, ..]) => {
                format!("{what}, which leads to {}", String::from_utf8_lossy(self.location))
            }
            _ => what,
        };
        match self.beginning() {
            words if words.is_empty() => format!("GET {path} gave {what}"),
            words => format!("GET {path} gave {what}: {words}"),
        }
    }

    fn beginning(&self) -> String {
        if self.encoding != Encoding::Identity && !self.body.is_empty() {
            return "(compressed)".to_owned();
        }
        let text = String::from_utf8_lossy(self.body);
        let text = title(&text).unwrap_or(&text);
        let plain: String =
            text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
        let mut words = plain.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((end, _)) = words.char_indices().nth(WORDS) {
            words.truncate(end);
            words.push('…');
        }
        words
    }

    /// What to try.
    pub(super) fn hint(&self, fault: ResponseFault) -> &'static str {
        match (fault, self.status) {
            (ResponseFault::Page, _) => {
                "open this URL in a browser: a login page, an error page or a start page may answer there, or the path lacks \
                 a part such as .pbf; a workload of pages names them by accept"
            }
            (ResponseFault::Type, _) => {
                "is the path right, and is it the server itself that answers? what is meant to come is named by accept"
            }
            (_, 401 | 403) => "put user and password in the URL: http://USER:PASSWORD@HOST/…",
            (_, 404 | 410) => {
                "check the path of the URL, whether rows count from the south there ({-y}), and whether the tiles are within what \
                 the server has; if it answers so where a tile is empty, count that as empty: empty_status, --empty-status"
            }
            (_, 300..=399) => "redirects are not followed: write the URL that it leads to",
            (_, 500..) => "the server's own log says why",
            _ => "check the URL; asking for it by curl -i shows the whole answer",
        }
    }
}
