//! Values of a report's lines, stored in its fields.

use super::line::{self, ReportKey};
use super::model::{ParsedReport, Printed, ReportScript};
use spec::figures::{self, Id, Values};

/// Sets a value that is not set yet: later lines with the same words are not pgbench's.
fn set<T>(place: &mut Option<T>, value: Option<T>, key: ReportKey, rest: &str) -> Result<(), String> {
    match (place.is_some(), value) {
        (true, _) => {}
        (false, Some(value)) => *place = Some(value),
        (false, None) => {
            let shown: String = rest.chars().take(40).collect();
            return Err(format!("invalid number \"{}\" ({key:?})", shown.escape_debug()));
        }
    }
    Ok(())
}

/// The same for a figure.
fn set_figure<T: Copy>(
    values: &mut Values<T>,
    of: Id<T>,
    value: Option<T>,
    key: ReportKey,
    rest: &str,
) -> Result<(), String> {
    let mut place = values.get(of);
    set(&mut place, value, key, rest)?;
    values.extend(place.map(|value| (of, value)));
    Ok(())
}

impl ParsedReport {
    pub(super) fn take(&mut self, key: ReportKey, rest: &str) -> Result<(), String> {
        let (whole, real) = (|| line::parse_whole(rest), || line::parse_real(rest));
        match key {
            ReportKey::Scale => set(&mut self.scale, whole(), key, rest),
            ReportKey::PartitionMethod => set(&mut self.partition_method, Some(rest.to_owned()), key, rest),
            ReportKey::Partitions => set(&mut self.partitions, whole(), key, rest),
            ReportKey::Protocol => set(&mut self.protocol, Some(rest.to_owned()), key, rest),
            ReportKey::Clients => set(&mut self.clients, whole(), key, rest),
            ReportKey::Threads => set(&mut self.threads, whole(), key, rest),
            ReportKey::MaxTries => set_figure(&mut self.figures, figures::MAX_TRIES, real(), key, rest),
            ReportKey::PerClient => set(&mut self.per_client, whole(), key, rest),
            ReportKey::Duration => set(&mut self.duration_s, real(), key, rest),
            ReportKey::Processed => {
                let wanted = rest.split_once('/').and_then(|(_, wanted)| line::parse_whole(wanted));
                self.wanted = self.wanted.or(wanted);
                set(&mut self.processed, whole(), key, rest)
            }
            ReportKey::Late => self.late(rest),
            ReportKey::Lag => {
                let most =
                    rest.split_once("(max ").and_then(|(_, most)| line::parse_real(most)).unwrap_or(0.0);
                // Without a transaction it is NaN; it still shows that there was a schedule.
                let mean = real().unwrap_or(0.0);
                self.figures.extend([(figures::LAG_MEAN_US, mean * 1e3), (figures::LAG_MAX_US, most * 1e3)]);
                Ok(())
            }
            ReportKey::Connect => set_figure(&mut self.figures, figures::CONNECT_MS, real(), key, rest),
            ReportKey::Reconnect => {
                self.figures.extend(real().map(|ms| (figures::RECONNECT_MEAN_MS, ms)));
                Ok(())
            }
            ReportKey::Tps => self.rate(rest),
            _ => self.printed.take(key, rest),
        }
    }

    /// `1.0 ms latency limit: 6/200 (3.000%)`; without a total until 10, where skipped ones count as
    /// processed.
    fn late(&mut self, rest: &str) -> Result<(), String> {
        let Some((limit, counts)) = rest.split_once(" ms latency limit: ") else { return Ok(()) };
        let limit = line::parse_real(limit);
        set_figure(&mut self.figures, figures::LATENCY_LIMIT_MS, limit, ReportKey::Late, rest)?;
        self.skipped_processed = !counts.split(' ').next().unwrap_or_default().contains('/');
        set(&mut self.late, line::parse_whole(counts), ReportKey::Late, rest)
    }

    /// `12.5 (including connections establishing)`: 13 and earlier print it with and without.
    fn rate(&mut self, rest: &str) -> Result<(), String> {
        let including = self.figures.get(figures::TPS_WITH_CONNECTING);
        if rest.contains("(including connections") {
            let including = including.or(line::parse_real(rest));
            self.figures.extend(including.map(|tps| (figures::TPS_WITH_CONNECTING, tps)));
            // A report may have been cut before the second rate; then only this one exists.
            self.tps = self.tps.or(including);
        } else if self.tps.is_none() || self.tps == including {
            self.tps = line::parse_real(rest).or(self.tps);
        }
        Ok(())
    }
}

impl Printed {
    pub(super) fn take(&mut self, key: ReportKey, rest: &str) -> Result<(), String> {
        let counter = match key {
            ReportKey::Failed => figures::FAILED,
            ReportKey::Serialization => figures::SERIALIZATION_FAILURES,
            ReportKey::Deadlock => figures::DEADLOCK_FAILURES,
            ReportKey::Other => figures::OTHER_FAILURES,
            ReportKey::Retried => figures::RETRIED,
            ReportKey::Retries => figures::RETRIES,
            ReportKey::Skipped => figures::SKIPPED,
            ReportKey::Latency => {
                self.latency_ms = self.latency_ms.or(line::parse_real(rest));
                return Ok(());
            }
            ReportKey::Stddev => {
                self.stddev_ms = self.stddev_ms.or(line::parse_real(rest));
                return Ok(());
            }
            _ => return Ok(()),
        };
        set_figure(&mut self.counts, counter, line::parse_whole(rest), key, rest)
    }
}

impl ReportScript {
    /// Takes a line; `false` if it is not a line of a script. The report itself is complete here, so an
    /// unreadable value does not invalidate it.
    pub(super) fn take(&mut self, key: ReportKey, rest: &str) -> bool {
        match key {
            ReportKey::Weight => self.weight = self.weight.or(line::parse_whole(rest)),
            ReportKey::Total => {
                self.total = self.total.or(rest.split_whitespace().next_back().and_then(line::parse_whole));
            }
            ReportKey::Processed => self.processed = self.processed.or(line::parse_whole(rest)),
            ReportKey::Failed
            | ReportKey::Serialization
            | ReportKey::Deadlock
            | ReportKey::Other
            | ReportKey::Retried
            | ReportKey::Retries
            | ReportKey::Skipped
            | ReportKey::Latency
            | ReportKey::Stddev => return self.printed.take(key, rest).is_ok(),
            _ => return false,
        }
        true
    }
}
