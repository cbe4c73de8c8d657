//! A parsed line of osm2pgsql's log.

/// A line without its time stamp (1.4 and later).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LogLine<'a> {
    /// The thread's number, shown with `--log-level=debug`.
    pub(super) thread: Option<u32>,
    /// The rest, trimmed.
    pub(super) text: &'a str,
}

impl<'a> LogLine<'a> {
    pub(super) fn parse(raw: &'a str) -> Self {
        let raw = raw.trim();
        let rest = without_stamp(raw).unwrap_or(raw).trim_start();
        match thread_number(rest) {
            Some((thread, text)) => Self { thread: Some(thread), text: text.trim_start() },
            None => Self { thread: None, text: rest },
        }
    }

    /// The number at the start of the text.
    pub(super) fn number_at_start(&self) -> Option<u64> {
        let digits = self.text.len() - self.text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        self.text[..digits].parse().ok()
    }

    /// The number after `words` in the text: 95 in `took 95s (1m 35s) overall`.
    pub(super) fn number_after(&self, words: &str) -> Option<u64> {
        let (_, rest) = self.text.split_once(words)?;
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        rest[..digits].parse().ok()
    }

    /// The name between the first pair of `'` after `words` at the start of the text.
    pub(super) fn quoted_after(&self, words: &str) -> Option<&'a str> {
        let rest = self.text.strip_prefix(words)?.strip_prefix('\'')?;
        rest.split_once('\'').map(|(name, _)| name)
    }

    /// The table of an `ANALYZE "table"` in the log of statements (`--log-sql`).
    pub(super) fn analyzed(&self) -> Option<&'a str> {
        let (_, rest) = self.text.strip_prefix("SQL: ")?.split_once("ANALYZE ")?;
        let name = rest.trim().trim_end_matches(';');
        Some(name.rsplit('.').next().unwrap_or(name).trim_matches('"'))
    }

    /// Whether a logged statement starts a COPY.
    pub(super) fn copies(&self) -> bool {
        self.text.starts_with("SQL: ") && self.text.contains(") COPY ")
    }
}

/// The text after `YYYY-MM-DD HH:MM:SS`.
fn without_stamp(raw: &str) -> Option<&str> {
    const FORM: &[u8] = b"0000-00-00 00:00:00";
    let stamp = raw.as_bytes().get(..FORM.len())?;
    let fits = |(byte, form): (&u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == form };
    stamp.iter().zip(FORM).all(fits).then(|| &raw[FORM.len()..])
}

fn thread_number(text: &str) -> Option<(u32, &str)> {
    let (number, rest) = text.strip_prefix('[')?.split_once(']')?;
    Some((number.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_into_parts() {
        let cases = [
            ("2026-11-21 02:44:40  [2] Starting task...", (Some(2), "Starting task...")),
            ("2026-11-21 02:44:40  [02]   Processed 1 nodes", (Some(2), "Processed 1 nodes")),
            ("2026-11-21 02:44:40    Processed 1 nodes", (None, "Processed 1 nodes")),
            ("[0] Mid: pgsql, cache=1024", (Some(0), "Mid: pgsql, cache=1024")),
            ("Node stats: total(3), max(4) in 27s", (None, "Node stats: total(3), max(4) in 27s")),
            ("2026-11-21 02:44", (None, "2026-11-21 02:44")),
            ("", (None, "")),
        ];
        for (raw, (thread, text)) in cases {
            assert_eq!(LogLine::parse(raw), LogLine { thread, text });
        }
    }

    #[test]
    fn statements_name_their_table() {
        let line = LogLine::parse("2026-11-21 05:41:09  [0] SQL: (C1) ANALYZE \"planet_osm_nodes\"");
        assert_eq!(line.analyzed(), Some("planet_osm_nodes"));
        let line =
            LogLine::parse("2026-11-21 05:41:09  [0] SQL: (C1) ANALYZE \"public\".\"planet_osm_nodes\";");
        assert_eq!(line.analyzed(), Some("planet_osm_nodes"));
    }

    proptest::proptest! {
        #[test]
        fn any_line_is_survived(raw in "\\PC*") {
            let line = LogLine::parse(&raw);
            let _ = (line.number_after("in "), line.quoted_after("table "), line.analyzed());
        }
    }
}
