//! HammerDB: `Vuser 1:TEST RESULT : System achieved 45678 NOPM from 104321 PostgreSQL TPM`, since 4.0; before,
//! `System achieved 104321 PostgreSQL TPM at 45678 NOPM`.

use super::{Number, ToolReader, after, number};

#[derive(Debug, Default)]
pub(super) struct HammerDb {
    version: Option<String>,
    users: Option<u32>,
    warehouses: Option<String>,
    /// Length of the test, seconds.
    length_s: Option<f64>,
    /// Lines of users that failed.
    errors: Vec<String>,
    /// A result whose errors may still follow.
    open: Option<Number>,
}

/// Lines of errors that are kept.
const MOST_ERRORS: usize = 20;

impl ToolReader for HammerDb {
    fn line(&mut self, line: &str) -> (Option<Number>, bool) {
        let own = line.starts_with("Vuser ")
            || line.contains("HammerDB")
            || line.to_lowercase().contains("virtual user");
        if is_error(line) && self.errors.len() < MOST_ERRORS {
            self.errors.push(line.trim().to_owned());
        }
        let begins = ["RUNNING", "Beginning rampup", "Timing test period of "]
            .iter()
            .any(|words| line.contains(words));
        let before = if begins { self.end() } else { None };
        if let Some(minutes) = after(line, "Timing test period of ") {
            self.length_s = Some(minutes * 60.0);
        }
        if before.is_some() {
            return (before, own);
        }
        if let Some((_, rest)) = line.split_once("HammerDB CLI v").or_else(|| line.split_once("HammerDB v")) {
            self.version = rest.split_whitespace().next().map(str::to_owned);
        }
        if let Some((before, _)) = line.split_once(" Active Virtual Users configured") {
            let users = before.rsplit([':', ' ']).next();
            self.users = users.and_then(|users| users.parse().ok());
            return (self.end(), true);
        }
        if line.contains("pg_count_ware") {
            let warehouses = line.split(['=', ' ', '{', '}']).rfind(|word| word.parse::<u32>().is_ok());
            self.warehouses = warehouses.map(str::to_owned).or(self.warehouses.take());
        }
        let Some((_, achieved)) = line.split_once("System achieved ") else { return (None, own) };
        let (nopm, tpm) = if achieved.contains(" NOPM from ") {
            (number(achieved), after(achieved, " from "))
        } else {
            (after(achieved, " at "), number(achieved))
        };
        let per_minute = nopm.or(tpm).filter(|rate| *rate > 0.0);
        let before = self.end();
        self.open = per_minute.map(|rate| self.result(rate, nopm, tpm, line));
        self.length_s = None;
        (before, true)
    }

    fn end(&mut self) -> Option<Number> {
        let mut result = self.open.take()?;
        result.errors = std::mem::take(&mut self.errors);
        Some(result)
    }
}

impl HammerDb {
    fn result(&self, per_minute: f64, nopm: Option<f64>, tpm: Option<f64>, line: &str) -> Number {
        let mut result = Number {
            version: self.version.clone(),
            workload: "hammerdb tprocc".to_owned(),
            tps: per_minute / 60.0,
            clients: self.users,
            length_s: self.length_s,
            scale: self.warehouses.clone(),
            text: format!("{line}\n"),
            notes: vec![match nopm {
                Some(_) => "new orders per minute (NOPM) are compared, as tps: divided by 60".to_owned(),
                None => "transactions per minute (TPM) are compared, as tps: divided by 60".to_owned(),
            }],
            ..Number::default()
        };
        for (name, value) in [("nopm", nopm), ("tpm", tpm)] {
            value.into_iter().for_each(|value| result.figures.set_named(name.to_owned(), value));
        }
        result
    }
}

/// What a user prints that gave up: the others went on without it.
fn is_error(line: &str) -> bool {
    const WORDS: [&str; 4] = ["Error in Virtual User", "FINISHED FAILED", "FATAL:", "ERROR:"];
    WORDS.iter().any(|words| line.contains(words))
}
