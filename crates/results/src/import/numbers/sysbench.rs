//! sysbench: its summary, of 0.4 to 1.1.

use super::{Number, ToolReader, after, number};
use spec::figures;

#[derive(Debug, Default)]
pub(super) struct Sysbench {
    version: Option<String>,
    test: Option<String>,
    threads: Option<u32>,
    open: Option<Number>,
    in_latency: bool,
}

impl ToolReader for Sysbench {
    fn line(&mut self, line: &str) -> (Option<Number>, bool) {
        let text = line.trim();
        let mut done = None;
        if let Some(rest) = text.strip_prefix("sysbench ") {
            done = self.end();
            let version = rest.split([' ', ':']).next().unwrap_or_default();
            *self = Self { version: Some(version.to_owned()), ..Self::default() };
            // `sysbench oltp_read_only --threads=8 run`: the command.
            if !version.starts_with(|c: char| c.is_ascii_digit()) {
                self.version = None;
                self.command(rest);
            }
            return (done, true);
        }
        if let Some(threads) = after(text, "Number of threads: ") {
            self.threads = Some(threads as u32);
            return (done, true);
        }
        if text == "SQL statistics:" || text == "OLTP test statistics:" {
            done = self.end();
            self.open = Some(Number::default());
        }
        let own = self.open.is_some()
            && (line.starts_with(char::is_whitespace)
                || text.is_empty()
                || text.ends_with(':')
                || is_of_summary(text));
        let Some(open) = self.open.as_mut().filter(|_| own) else { return (done, false) };
        open.text.push_str(line);
        open.text.push('\n');
        if text.starts_with("Latency")
            || text.starts_with("per-request statistics")
            || text.starts_with("Response time")
        {
            self.in_latency = true;
        }
        take(open, text, self.in_latency);
        (done, true)
    }

    fn end(&mut self) -> Option<Number> {
        self.in_latency = false;
        let open = self.open.take()?;
        (open.tps > 0.0).then(|| Number {
            version: self.version.clone(),
            workload: self.test.clone().unwrap_or_else(|| "sysbench".to_owned()),
            clients: self.threads,
            ..open
        })
    }
}

impl Sysbench {
    fn command(&mut self, words: &str) {
        for word in words.split_whitespace() {
            if let Some(threads) =
                word.strip_prefix("--threads=").or_else(|| word.strip_prefix("--num-threads="))
            {
                self.threads = threads.parse().ok();
            } else if let Some(test) =
                word.strip_prefix("--test=").or((!word.starts_with('-') && word != "run").then_some(word))
            {
                let name = test.rsplit('/').next().unwrap_or(test);
                self.test.get_or_insert_with(|| name.trim_end_matches(".lua").to_owned());
            }
        }
    }
}

/// Whether a line is of a summary, also where its indentation is lost.
fn is_of_summary(text: &str) -> bool {
    const NAMES: [&str; 16] = [
        "read",
        "write",
        "other",
        "total",
        "transactions",
        "queries",
        "ignored errors",
        "reconnects",
        "deadlocks",
        "events",
        "execution time",
        "time elapsed",
        "min",
        "avg",
        "max",
        "sum",
    ];
    let name = text.split_once([':', '(']).map_or(text, |(name, _)| name.trim());
    NAMES.contains(&name) || name.starts_with("total ") || name.contains("percentile")
}

fn take(open: &mut Number, text: &str, in_latency: bool) {
    let Some((name, rest)) = text.split_once(':') else { return };
    let (value, us) = (number(rest), |of| (of, number(rest).map(|ms| ms * 1e3)));
    match name.trim() {
        "transactions" => {
            open.done = value.map(|count| count as u64);
            open.tps = after(rest, "(").unwrap_or(0.0);
        }
        "ignored errors" | "deadlocks" => open.failed = value.unwrap_or(0.0) as u64,
        "total time" | "time elapsed" => open.length_s = value,
        name if in_latency => {
            let figure = match name {
                "min" => us(figures::LATENCY_MIN_US),
                "avg" => us(figures::LATENCY_MEAN_US),
                "max" => us(figures::LATENCY_MAX_US),
                name if name.contains("percentile") => {
                    let percent: String = name.chars().filter(char::is_ascii_digit).collect();
                    let us = number(rest.trim()).map(|ms| ms * 1e3);
                    us.into_iter()
                        .for_each(|us| open.figures.set_named(format!("latency_p{percent}_us"), us));
                    return;
                }
                _ => return,
            };
            open.figures.extend(figure.1.map(|value| (figure.0, value)));
        }
        _ => {}
    }
}
