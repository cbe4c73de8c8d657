//! Values of a report's lines, stored in its fields.

use super::line::{self, Key};
use super::model::{Figures, Report, ReportScript};

/// Sets a value that is not set yet: later lines with the same words are not pgbench's.
fn set<T>(place: &mut Option<T>, value: Option<T>, key: Key, rest: &str) -> Result<(), String> {
    match (place.is_some(), value) {
        (true, _) => {}
        (false, Some(value)) => *place = Some(value),
        (false, None) => {
            let shown: String = rest.chars().take(40).collect();
            return Err(format!("\"{}\" is no number ({key:?})", shown.escape_debug()));
        }
    }
    Ok(())
}

impl Report {
    pub(super) fn take(&mut self, key: Key, rest: &str) -> Result<(), String> {
        let (whole, real) = (|| line::whole(rest), || line::real(rest));
        match key {
            Key::Scale => set(&mut self.scale, whole(), key, rest),
            Key::PartitionMethod => set(&mut self.partition_method, Some(rest.to_owned()), key, rest),
            Key::Partitions => set(&mut self.partitions, whole(), key, rest),
            Key::Protocol => set(&mut self.protocol, Some(rest.to_owned()), key, rest),
            Key::Clients => set(&mut self.clients, whole(), key, rest),
            Key::Threads => set(&mut self.threads, whole(), key, rest),
            Key::MaxTries => set(&mut self.max_tries, whole(), key, rest),
            Key::PerClient => set(&mut self.per_client, whole(), key, rest),
            Key::Duration => set(&mut self.duration_s, real(), key, rest),
            Key::Processed => {
                let wanted = rest.split_once('/').and_then(|(_, wanted)| line::whole(wanted));
                self.wanted = self.wanted.or(wanted);
                set(&mut self.processed, whole(), key, rest)
            }
            Key::Late => self.late(rest),
            Key::Lag => {
                let most = rest.split_once("(max ").and_then(|(_, most)| line::real(most)).unwrap_or(0.0);
                // Without a transaction it is NaN; it still shows that there was a schedule.
                self.lag_ms = Some((real().unwrap_or(0.0), most));
                Ok(())
            }
            Key::Connect => set(&mut self.connect_ms, real(), key, rest),
            Key::Reconnect => {
                self.reconnect_ms = real();
                Ok(())
            }
            Key::Tps => self.rate(rest),
            _ => self.figures.take(key, rest),
        }
    }

    /// `1.0 ms latency limit: 6/200 (3.000%)`; without a total until 10, where skipped ones count as
    /// processed.
    fn late(&mut self, rest: &str) -> Result<(), String> {
        let Some((limit, counts)) = rest.split_once(" ms latency limit: ") else { return Ok(()) };
        set(&mut self.limit_ms, line::real(limit), Key::Late, rest)?;
        self.skipped_processed = !counts.split(' ').next().unwrap_or_default().contains('/');
        set(&mut self.late, line::whole(counts), Key::Late, rest)
    }

    /// `12.5 (including connections establishing)`: 13 and earlier print it with and without.
    fn rate(&mut self, rest: &str) -> Result<(), String> {
        if rest.contains("(including connections") {
            self.tps_with_connecting = self.tps_with_connecting.or(line::real(rest));
            // A report may have been cut before the second rate; then only this one exists.
            self.tps = self.tps.or(self.tps_with_connecting);
        } else if self.tps.is_none() || self.tps == self.tps_with_connecting {
            self.tps = line::real(rest).or(self.tps);
        }
        Ok(())
    }
}

impl Figures {
    pub(super) fn take(&mut self, key: Key, rest: &str) -> Result<(), String> {
        let place = match key {
            Key::Failed => &mut self.failed,
            Key::Serialization => &mut self.serialization,
            Key::Deadlock => &mut self.deadlock,
            Key::Other => &mut self.other,
            Key::Retried => &mut self.retried,
            Key::Retries => &mut self.retries,
            Key::Skipped => &mut self.skipped,
            Key::Latency => {
                self.latency_ms = self.latency_ms.or(line::real(rest));
                return Ok(());
            }
            Key::Stddev => {
                self.stddev_ms = self.stddev_ms.or(line::real(rest));
                return Ok(());
            }
            _ => return Ok(()),
        };
        set(place, line::whole(rest), key, rest)
    }
}

impl ReportScript {
    /// Takes a line; `false` if it is not a line of a script. The report itself is complete here, so an
    /// unreadable value does not invalidate it.
    pub(super) fn take(&mut self, key: Key, rest: &str) -> bool {
        match key {
            Key::Weight => self.weight = self.weight.or(line::whole(rest)),
            Key::Total => {
                self.total = self.total.or(rest.split_whitespace().next_back().and_then(line::whole));
            }
            Key::Processed => self.processed = self.processed.or(line::whole(rest)),
            Key::Failed
            | Key::Serialization
            | Key::Deadlock
            | Key::Other
            | Key::Retried
            | Key::Retries
            | Key::Skipped
            | Key::Latency
            | Key::Stddev => return self.figures.take(key, rest).is_ok(),
            _ => return false,
        }
        true
    }
}
