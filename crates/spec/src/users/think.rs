//! Think times: how long a user pauses.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use jiff::SignedDuration;

/// Most pauses of a file: they are part of the plan.
pub const MOST_PAUSES: usize = 10_000;
/// Longest think time.
pub(super) const LONGEST: Duration = Duration::from_secs(24 * 3600);
/// Greatest sigma of a log-normal think time: its mean is then 90 times its median.
pub(super) const MOST_SIGMA: f64 = 3.0;

/// How long a user pauses.
#[derive(Debug, Clone, PartialEq)]
pub enum Think {
    Constant(Duration),
    Exponential {
        mean: Duration,
    },
    LogNormal {
        centre: Centre,
        time: Duration,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Drawn at random from the pauses of this file.
    Observed {
        file: String,
    },
}

/// Which value of a log-normal distribution is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Centre {
    Median,
    Mean,
}

impl Think {
    /// The mean, seconds; `pauses` are the files' contents.
    #[must_use]
    pub fn mean_s(&self, pauses: &BTreeMap<String, Vec<f64>>) -> f64 {
        match self {
            Self::Constant(time) | Self::Exponential { mean: time } => time.as_secs_f64(),
            Self::LogNormal { centre: Centre::Mean, time, .. } => time.as_secs_f64(),
            Self::LogNormal { centre: Centre::Median, time, sigma } => {
                time.as_secs_f64() * (sigma * sigma / 2.0).exp()
            }
            Self::Observed { file } => {
                pauses.get(file).map_or(0.0, |pauses| pauses.iter().sum::<f64>() / pauses.len().max(1) as f64)
            }
        }
    }

    /// The median of a log-normal think time, seconds; its constant or mean otherwise.
    #[must_use]
    pub fn median_s(&self) -> f64 {
        match self {
            Self::Constant(time) | Self::Exponential { mean: time } => time.as_secs_f64(),
            Self::LogNormal { centre, time, sigma } => match centre {
                Centre::Median => time.as_secs_f64(),
                Centre::Mean => time.as_secs_f64() / (sigma * sigma / 2.0).exp(),
            },
            Self::Observed { .. } => 0.0,
        }
    }
}

impl fmt::Display for Think {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(time) => out.write_str(&length(*time)),
            Self::Exponential { mean } => write!(out, "exp({})", length(*mean)),
            Self::LogNormal { centre, time, sigma } => {
                let mean = if *centre == Centre::Mean { "mean " } else { "" };
                write!(out, "lognormal({mean}{}, {sigma})", length(*time))
            }
            Self::Observed { file } => write!(out, "file({file})"),
        }
    }
}

/// A length of time as it can be read again.
pub(super) fn length(time: Duration) -> String {
    let us = time.as_micros();
    match us {
        us if us >= 1_000_000 || us == 0 => format!("{}s", us as f64 / 1e6),
        us if us >= 1000 => format!("{}ms", us as f64 / 1e3),
        us => format!("{us}us"),
    }
}

/// A length of time with its unit.
///
/// # Errors
/// What is wrong with it.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    if text.parse::<f64>().is_ok() && text.trim_start_matches('-') != "0" {
        return Err(format!("\"{text}\" has no unit: write {text}s, or {text}ms"));
    }
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let time = text.parse::<SignedDuration>().map_err(|_| format!("\"{text}\" is not a length of time"))?;
    if time.is_negative() {
        return Err(format!("the think time {text} is below zero"));
    }
    let time = Duration::try_from(time).map_err(|_| format!("\"{text}\" is not a length of time"))?;
    match time <= LONGEST {
        true => Ok(time),
        false => Err(format!("the think time {text} is longer than a day")),
    }
}

/// Observed pauses, one per line, in seconds or with a unit; empty lines and lines with `#` are left out.
///
/// # Errors
/// What is wrong, and in which line.
pub fn read_pauses(text: &str) -> Result<Vec<f64>, String> {
    let mut pauses = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let pause = match line.parse::<f64>() {
            Ok(seconds) if seconds < 0.0 => Err(format!("the think time {line} is below zero")),
            Ok(seconds) if seconds.is_finite() && seconds <= LONGEST.as_secs_f64() => Ok(seconds),
            Ok(_) => Err(format!("the think time {line} is longer than a day")),
            Err(_) => time(line).map(|time| time.as_secs_f64()),
        };
        pauses.push(pause.map_err(|problem| format!("line {}: {problem}", number + 1))?);
        if pauses.len() > MOST_PAUSES {
            return Err(format!(
                "has more than {MOST_PAUSES} pauses; draw some of them at random, such as with shuf -n {MOST_PAUSES}"
            ));
        }
    }
    match pauses.is_empty() {
        true => Err("has no pauses; write one per line, in seconds".to_owned()),
        false => Ok(pauses),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_are_read_with_and_without_units() {
        assert_eq!(read_pauses("# seconds\n1.5\n\n250ms\n0\n2 min\n"), Ok(vec![1.5, 0.25, 0.0, 120.0]));
        for (text, wanted) in [
            ("", "has no pauses; write one per line"),
            ("1\n-2\n", "line 2: the think time -2 is below zero"),
            ("1\n-2s\n", "line 2: the think time -2s is below zero"),
            ("1\nfast\n", "line 2: \"fast\" is not a length of time"),
            ("90000\n", "line 1: the think time 90000 is longer than a day"),
            ("nan\n", "line 1: the think time nan is longer than a day"),
        ] {
            let told = read_pauses(text).unwrap_err();
            assert!(told.starts_with(wanted), "{text:?}: {told}");
        }
        assert!(read_pauses(&"1\n".repeat(MOST_PAUSES)).is_ok());
        assert!(read_pauses(&"1\n".repeat(MOST_PAUSES + 1)).unwrap_err().contains("shuf"));
    }

    #[test]
    fn means_are_those_of_the_distributions() {
        let second = Duration::from_secs(1);
        let none = BTreeMap::new();
        let of = |centre| Think::LogNormal { centre, time: second, sigma: 0.5 };
        assert!((of(Centre::Median).mean_s(&none) - 0.125_f64.exp()).abs() < 1e-12);
        assert!((of(Centre::Mean).mean_s(&none) - 1.0).abs() < 1e-12);
        assert!((of(Centre::Mean).median_s() * 0.125_f64.exp() - 1.0).abs() < 1e-12);
        let files = BTreeMap::from([("a".to_owned(), vec![1.0, 3.0])]);
        assert!((Think::Observed { file: "a".into() }.mean_s(&files) - 2.0).abs() < 1e-12);
    }
}
