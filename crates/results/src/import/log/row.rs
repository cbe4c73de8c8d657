//! One line of a pgbench log.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::import) enum LoggedOutcome {
    /// Succeeded after this many µs, counted from its intended start. Negative values (a clock was set
    /// back) become 0.
    Done(u64),
    /// Never sent, since its latency limit had passed.
    Skipped,
    Failed,
    Serialization,
    Deadlock,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::import) struct LogRow {
    pub(in crate::import) client: u32,
    /// Number of the client's transaction, from 1 (from 0 in old versions); includes skipped and failed
    /// ones.
    pub(in crate::import) number: u64,
    pub(in crate::import) outcome: LoggedOutcome,
    pub(in crate::import) clock_set_back: bool,
    /// Script, from 0; below [`SCRIPTS`].
    pub(in crate::import) script: u16,
    pub(in crate::import) end_us: i64,
    /// Columns after the sixth; [`Self::columns`] of them.
    pub(in crate::import) more: [i64; 2],
    /// Columns after the sixth: 0, 1 or 2.
    pub(in crate::import) columns: u8,
}

/// pgbench takes at most this many scripts.
pub(in crate::import) const SCRIPTS: u16 = 128;
/// More clients than any machine runs; limits the memory for damaged files.
const CLIENTS: u32 = 1_000_000;
/// Latest accepted time, in seconds since 1970 (the year 9999).
pub(in crate::import) const LATEST_S: i64 = 253_402_300_799;

impl LogRow {
    /// Parses a line.
    ///
    /// # Errors
    /// What is wrong with it, as text.
    pub(in crate::import) fn parse(line: &[u8]) -> Result<Self, String> {
        let mut fields = Fields(line);
        let client = fields.number("client_id")?;
        let client = u32::try_from(client)
            .ok()
            .filter(|client| *client < CLIENTS)
            .ok_or_else(|| format!("client_id {client} is too large"))?;
        let number = fields.number("transaction_no")?;
        let (outcome, clock_set_back) = outcome(fields.next("time")?)?;
        let script = fields.number("script_no")?;
        let script = u16::try_from(script)
            .ok()
            .filter(|script| *script < SCRIPTS)
            .ok_or_else(|| format!("script_no {script} is too large: pgbench takes {SCRIPTS} scripts"))?;
        let seconds = fields.number("time_epoch")?;
        if seconds > LATEST_S.unsigned_abs() {
            return Err(format!("invalid time_epoch {seconds}"));
        }
        let micros = fields.number("time_us")?;
        if micros > 999_999 {
            return Err(format!("time_us {micros} is more than a second"));
        }
        let mut row = Self {
            client,
            number,
            outcome,
            clock_set_back,
            script,
            end_us: (seconds * 1_000_000 + micros) as i64,
            more: [0; 2],
            columns: 0,
        };
        while let Some(field) = fields.take() {
            let place = row.columns as usize;
            let Some(more) = row.more.get_mut(place) else {
                return Err("more than 8 columns".to_owned());
            };
            *more = signed(field).ok_or_else(|| wrong_field(["column 7", "column 8"][place], field))?;
            row.columns += 1;
        }
        Ok(row)
    }
}

fn outcome(field: &[u8]) -> Result<(LoggedOutcome, bool), String> {
    Ok(match field {
        b"skipped" => (LoggedOutcome::Skipped, false),
        b"failed" => (LoggedOutcome::Failed, false),
        b"serialization" => (LoggedOutcome::Serialization, false),
        b"deadlock" => (LoggedOutcome::Deadlock, false),
        b"other" => (LoggedOutcome::Other, false),
        field => {
            let time = signed(field).ok_or_else(|| wrong_field("time", field))?;
            (LoggedOutcome::Done(time.max(0).unsigned_abs()), time < 0)
        }
    })
}

/// Fields between blanks.
#[derive(Debug, Clone, Copy)]
pub(in crate::import) struct Fields<'a>(pub(in crate::import) &'a [u8]);

impl<'a> Fields<'a> {
    pub(in crate::import) fn take(&mut self) -> Option<&'a [u8]> {
        let start = self.0.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let rest = &self.0[start..];
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        let (field, rest) = rest.split_at(end);
        self.0 = rest;
        Some(field)
    }

    fn next(&mut self, name: &str) -> Result<&'a [u8], String> {
        self.take().ok_or_else(|| format!("the column {name} is missing"))
    }

    pub(in crate::import) fn number(&mut self, name: &str) -> Result<u64, String> {
        let field = self.next(name)?;
        unsigned(field).ok_or_else(|| wrong_field(name, field))
    }
}

fn wrong_field(name: &str, field: &[u8]) -> String {
    let shown: String = String::from_utf8_lossy(field).chars().take(40).collect();
    format!("invalid {name} \"{}\"", shown.escape_debug())
}

/// Up to 18 digits.
pub(in crate::import) fn unsigned(field: &[u8]) -> Option<u64> {
    if field.is_empty() || field.len() > 18 {
        return None;
    }
    let mut value = 0;
    for byte in field {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    Some(value)
}

fn signed(field: &[u8]) -> Option<i64> {
    match field {
        [b'-', digits @ ..] => Some(-(unsigned(digits)?.cast_signed())),
        digits => Some(unsigned(digits)?.cast_signed()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_layouts_are_read() {
        let plain = LogRow::parse(b"0 199 2241 0 1175850568 995598").unwrap();
        assert_eq!((plain.client, plain.number, plain.script, plain.columns), (0, 199, 0, 0));
        assert_eq!((plain.outcome, plain.end_us), (LoggedOutcome::Done(2241), 1_175_850_568_995_598));
        let throttled = LogRow::parse(b"0 81 4621 0 1412881037 912698 3005").unwrap();
        assert_eq!((throttled.columns, throttled.more), (1, [3005, 0]));
        let skipped = LogRow::parse(b"0 84 skipped 2 1412881037 999999 1042").unwrap();
        assert_eq!((skipped.outcome, skipped.script), (LoggedOutcome::Skipped, 2));
        let retried = LogRow::parse(b"3 0 deadlock 0 1499414498 84905 -7 9").unwrap();
        assert_eq!((retried.outcome, retried.columns, retried.more), (LoggedOutcome::Deadlock, 2, [-7, 9]));
        for (word, outcome) in [
            ("failed", LoggedOutcome::Failed),
            ("serialization", LoggedOutcome::Serialization),
            ("other", LoggedOutcome::Other),
            ("-12", LoggedOutcome::Done(0)),
        ] {
            let row = LogRow::parse(format!("0 1 {word} 0 1 0").as_bytes()).unwrap();
            assert_eq!((row.outcome, row.clock_set_back), (outcome, word == "-12"));
        }
    }

    #[test]
    fn mistakes_name_the_column() {
        for (line, wanted) in [
            ("", "the column client_id is missing"),
            ("0 1 5", "the column script_no is missing"),
            ("0 1 5 0 1175850568", "the column time_us is missing"),
            ("0 1 late 0 1175850568 0", "invalid time \"late\""),
            ("0 1 5 128 1175850568 0", "script_no 128 is too large: pgbench takes 128 scripts"),
            ("9999999 1 5 0 1175850568 0", "client_id 9999999 is too large"),
            ("0 1 5 0 1175850568 1000000", "time_us 1000000 is more than a second"),
            ("0 1 5 0 999999999999 0", "invalid time_epoch 999999999999"),
            ("0 1 5 0 1 2 3 4 5", "more than 8 columns"),
            ("0 1 5 0 1 2 x", "invalid column 7 \"x\""),
            ("\u{1b}[0m", "invalid client_id \"\\u{1b}[0m\""),
            ("0 1234567890123456789 5 0 1 2", "invalid transaction_no \"1234567890123456789\""),
        ] {
            assert_eq!(LogRow::parse(line.as_bytes()).unwrap_err(), wanted);
        }
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(line in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..80)) {
            let _ = LogRow::parse(&line);
        }

        #[test]
        fn what_pgbench_writes_is_read_back(
            client in 0..CLIENTS, number: u32, time in 0..u64::from(u32::MAX), script in 0..SCRIPTS,
            seconds in 0..4_000_000_000u64, micros in 0..1_000_000u64, lag in proptest::option::of(0..1_000_000i64),
        ) {
            let mut line = format!("{client} {number} {time} {script} {seconds} {micros}");
            if let Some(lag) = lag {
                line += &format!(" {lag}");
            }
            let row = LogRow::parse(line.as_bytes()).unwrap();
            proptest::prop_assert_eq!(row.client, client);
            proptest::prop_assert_eq!(row.outcome, LoggedOutcome::Done(time));
            proptest::prop_assert_eq!(row.end_us as u64, seconds * 1_000_000 + micros);
            proptest::prop_assert_eq!(row.more[0], lag.unwrap_or(0));
        }
    }
}
