//! Dates as servers write them.

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// The time of a header such as `Last-Modified: Fri, 20 Nov 2026 21:21:18 GMT`; `None` for what is none.
pub(super) fn of_http(text: &str) -> Option<Timestamp> {
    static PARSER: DateTimeParser = DateTimeParser::new();
    PARSER.parse_timestamp(text.trim()).ok()
}

/// Its day in UTC, `2026-11-20`.
pub(super) fn day(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http_dates_are_read() {
        let time = of_http("Fri, 20 Nov 2026 21:21:18 GMT").unwrap();
        assert_eq!(time.to_string(), "2026-11-20T21:21:18Z");
        assert_eq!(day(time), "2026-11-20");
        assert_eq!(of_http("yesterday"), None);
    }
}
