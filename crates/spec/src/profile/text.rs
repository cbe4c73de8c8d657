//! Parses and prints rates: a number, or a shape in a few words.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Profile;
use crate::words::count;

const LEAST: f64 = Profile::BOUNDS[0];
const MOST: f64 = Profile::BOUNDS[1];
/// Longer than any run.
const LONGEST_S: f64 = 31.0 * 86_400.0;
const MOST_LEVELS: usize = 1000;

const STEP: &str = "step 100, 200, 400 every 10s";
const RAMP: &str = "ramp 100..1000 over 30s";
const SINE: &str = "sine 500 ± 200 every 20s";
const SPIKE: &str = "spike 100 to 1000 for 2s at 10s";

/// Why a text is not a rate, phrased to follow the name of the option; advice is on a separate line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}\n{advice}")]
pub struct ProfileError {
    what: String,
    advice: String,
}

impl ProfileError {
    /// What is wrong, phrased to follow the name of the option.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What to write.
    #[must_use]
    pub fn advice(&self) -> &str {
        &self.advice
    }
}

/// A rate in a plan: a number if constant.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Written {
    Number(f64),
    Text(String),
}

impl From<Profile> for Written {
    fn from(profile: Profile) -> Self {
        match profile {
            Profile::Constant(rate) => Self::Number(rate),
            shape => Self::Text(shape.to_string()),
        }
    }
}

impl TryFrom<Written> for Profile {
    type Error = ProfileError;

    fn try_from(written: Written) -> Result<Self, ProfileError> {
        match written {
            Written::Number(rate) => Ok(Self::Constant(rate)),
            Written::Text(text) => text.parse(),
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(rate) => write!(out, "{rate}"),
            Self::Step { levels, every } => {
                let levels: Vec<String> = levels.iter().map(f64::to_string).collect();
                write!(out, "step {} every {}", levels.join(", "), length(*every))
            }
            Self::Ramp { from, to, over } => write!(out, "ramp {from}..{to} over {}", length(*over)),
            Self::Sine { mean, swing, every } => {
                write!(out, "sine {mean} ± {swing} every {}", length(*every))
            }
            Self::Spike { base, peak, length: lasts, at } => {
                write!(out, "spike {base} to {peak} for {} at {}", length(*lasts), length(*at))
            }
        }
    }
}

/// A duration in a readable unit; below a millisecond as a fraction of one.
fn length(time: Duration) -> String {
    let us = time.as_nanos() as f64 / 1e3;
    match time {
        Duration::ZERO => "0s".to_owned(),
        _ if us < 1e3 => format!("{}ms", us / 1e3),
        _ => format!("{time:?}"),
    }
}

impl FromStr for Profile {
    type Err = ProfileError;

    /// Parses a rate; filler words and marks (`from`, `->`, `+-`, commas) are ignored.
    fn from_str(text: &str) -> Result<Self, ProfileError> {
        let words = Words::of(text);
        let (shape, example) = match words.0.first().map(String::as_str) {
            Some("step" | "steps") => (parse_step as fn(Words) -> Result<Profile, String>, STEP),
            Some("ramp") => (ramp as _, RAMP),
            Some("sine" | "sin") => (sine as _, SINE),
            Some("spike") => (spike as _, SPIKE),
            _ => return constant(text),
        };
        let named = Words(words.0[1..].to_vec());
        shape(named).map_err(|why| ProfileError {
            what: format!("cannot be \"{text}\": {why}"),
            advice: format!("write it like \"{example}\""),
        })
    }
}

fn constant(text: &str) -> Result<Profile, ProfileError> {
    let number = text.trim().trim_end_matches("/s").trim_end();
    let failed = |what: String| ProfileError {
        what,
        advice: format!(
            "write transactions per second, or a rate that changes: \"{STEP}\", \"{RAMP}\", \"{SINE}\" (or +-), \"{SPIKE}\""
        ),
    };
    let Ok(rate) = number.parse::<f64>() else { return Err(failed(format!("cannot be \"{text}\""))) };
    if (LEAST..=MOST).contains(&rate) {
        Ok(Profile::Constant(rate))
    } else {
        Err(failed(format!("must be from {LEAST} to {MOST}")))
    }
}

fn parse_step(words: Words) -> Result<Profile, String> {
    let (levels, mut rest) = words.split("every", "how long a level lasts")?;
    let levels = levels.0.iter().filter(|word| *word != "to");
    let levels = levels.map(|word| rate(word)).collect::<Result<Vec<f64>, String>>()?;
    if levels.len() < 2 || levels.len() > MOST_LEVELS {
        return Err(format!(
            "it has {}, and must have 2 to {MOST_LEVELS}",
            count(levels.len() as u64, "level")
        ));
    }
    let every = rest.time("every")?;
    rest.end()?;
    some(&levels)?;
    Ok(Profile::Step { levels, every })
}

fn ramp(words: Words) -> Result<Profile, String> {
    let (rates, mut rest) = words.split("over", "how long it takes")?;
    let [from, to] = rates.two_rates()?;
    let over = rest.time("over")?;
    rest.end()?;
    Ok(Profile::Ramp { from, to, over })
}

fn sine(words: Words) -> Result<Profile, String> {
    let (rates, mut rest) = words.split("every", "how long a wave is")?;
    let (mean, swing) = rates.split("±", "how far it swings")?;
    let (mean, swing) = (mean.one_rate()?, swing.one_rate()?);
    if swing <= 0.0 || swing > mean {
        return Err(format!(
            "it swings by {swing} around {mean}, and must swing by more than 0, at most {mean}"
        ));
    }
    let every = rest.time("every")?;
    rest.end()?;
    Ok(Profile::Sine { mean, swing, every })
}

fn spike(words: Words) -> Result<Profile, String> {
    let (rates, mut rest) = words.split("for", "how long it lasts")?;
    let [base, peak] = rates.two_rates()?;
    let length = rest.time("for")?;
    rest.word("at", "when it comes")?;
    let at = rest.time_from("at", 0.0)?;
    rest.end()?;
    Ok(Profile::Spike { base, peak, length, at })
}

/// The remaining words of a text.
struct Words(Vec<String>);

impl Words {
    fn of(text: &str) -> Self {
        let text = text.to_lowercase();
        let signs =
            [("..", " .. "), ("->", " to "), ("→", " to "), ("+/-", " ± "), ("+-", " ± "), ("±", " ± ")];
        let spaced = signs.iter().fold(text, |text, (sign, word)| text.replace(sign, word));
        let words = spaced.split(|c: char| c.is_whitespace() || c == ',').filter(|word| !word.is_empty());
        // Synonyms.
        let usual = |word: &str| match word {
            "each" | "per" => "every".to_owned(),
            "in" | "within" => "over".to_owned(),
            "after" => "at".to_owned(),
            word => word.trim_end_matches("/s").to_owned(),
        };
        let mut list: Vec<String> = Vec::new();
        for word in words.map(usual).filter(|word| !word.is_empty() && word != "from") {
            match list.last_mut() {
                // "30 s" becomes one word.
                Some(number) if unit(&word).is_some() && number.parse::<f64>().is_ok() => *number += &word,
                _ => list.push(word),
            }
        }
        Self(list)
    }

    /// Splits into the words before and after a word.
    fn split(self, word: &str, what: &str) -> Result<(Self, Self), String> {
        let at = self.0.iter().position(|found| found == word);
        let at = at.ok_or_else(|| format!("it does not say {what} (\"{word} …\")"))?;
        Ok((Self(self.0[..at].to_vec()), Self(self.0[at + 1..].to_vec())))
    }

    fn word(&mut self, word: &str, what: &str) -> Result<(), String> {
        if self.0.first().is_some_and(|found| found == word) {
            self.0.remove(0);
            return Ok(());
        }
        Err(format!("it does not say {what} (\"{word} …\")"))
    }

    fn one_rate(self) -> Result<f64, String> {
        match &self.0[..] {
            [one] => rate(one),
            other => Err(format!("\"{}\" is not one rate", other.join(" "))),
        }
    }

    /// `A to B`: two different rates.
    fn two_rates(self) -> Result<[f64; 2], String> {
        let words: Vec<&String> = self.0.iter().filter(|word| *word != "to" && *word != "..").collect();
        let [from, to] = words[..] else {
            return Err(format!("\"{}\" are not two rates", self.0.join(" ")));
        };
        let rates = [rate(from)?, rate(to)?];
        if rates[0] == rates[1] {
            return Err(format!("from {from} to {to} does not change; write a constant rate as a number"));
        }
        some(&rates)?;
        Ok(rates)
    }

    /// A duration after the word `after`.
    fn time(&mut self, after: &str) -> Result<Duration, String> {
        self.time_from(after, 0.001)
    }

    fn time_from(&mut self, after: &str, least: f64) -> Result<Duration, String> {
        if self.0.is_empty() {
            return Err(format!("a time is missing behind \"{after}\""));
        }
        let word = self.0.remove(0);
        let digits = word.trim_end_matches(|c: char| c.is_alphabetic());
        let found = digits.parse::<f64>().ok().zip(unit(&word[digits.len()..]));
        let (number, unit) = found.ok_or_else(|| {
            format!("invalid time \"{word}\": write a unit, such as 500ms, 10s, 2min or 1h")
        })?;
        let seconds = number * unit;
        if !(least..=LONGEST_S).contains(&seconds) {
            return Err(format!("a time of {word} cannot be"));
        }
        Ok(Duration::from_secs_f64(seconds))
    }

    fn end(&self) -> Result<(), String> {
        match self.0.is_empty() {
            true => Ok(()),
            false => Err(format!("\"{}\" is too much", self.0.join(" "))),
        }
    }
}

/// Seconds per unit of time.
fn unit(name: &str) -> Option<f64> {
    Some(match name {
        "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        "h" => 3600.0,
        _ => return None,
    })
}

fn rate(word: &str) -> Result<f64, String> {
    let rate =
        word.parse::<f64>().map_err(|_| format!("invalid rate \"{word}\", transactions per second"))?;
    if rate == 0.0 || (LEAST..=MOST).contains(&rate) {
        return Ok(rate.abs());
    }
    Err(format!("a rate of {word} cannot be: it must be 0, or from {LEAST} to {MOST}"))
}

/// At least one rate must be above 0.
fn some(rates: &[f64]) -> Result<(), String> {
    let any = rates.iter().any(|rate| *rate > 0.0);
    any.then_some(()).ok_or_else(|| "all its rates are 0".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_write_is_read_and_written_one_way() {
        let cases = [
            ("100", "100"),
            (" 1e3/s ", "1000"),
            ("200.5", "200.5"),
            ("step 100, 200, 400 every 10s", STEP),
            ("Step 100 200 400 every 10 s", STEP),
            ("steps 100/s,200/s,400/s each 10000ms", STEP),
            ("step 100 -> 200 every 90s", "step 100, 200 every 90s"),
            ("step 100, 200 every 1.5min", "step 100, 200 every 90s"),
            ("ramp 100..1000 over 30s", RAMP),
            ("ramp from 100 to 1000 over 30s", RAMP),
            ("ramp 100 → 1000 in 0.5 min", RAMP),
            ("ramp 0..0.5 over 500ms", "ramp 0..0.5 over 500ms"),
            ("sine 500 ± 200 every 20s", SINE),
            ("sine 500+-200 every 20s", SINE),
            ("sin 500 +/- 200 per 20s", SINE),
            ("spike 100 to 1000 for 2s at 10s", SPIKE),
            ("spike from 100..1000 for 2s after 10s", SPIKE),
            ("spike 100 to 0 for 2s at 0s", "spike 100 to 0 for 2s at 0s"),
            ("spike 100 to 200 for 2s at 0.5ms", "spike 100 to 200 for 2s at 0.5ms"),
        ];
        for (written, wanted) in cases {
            let read: Profile = written.parse().unwrap_or_else(|error| panic!("{written}: {error}"));
            assert_eq!(read.to_string(), wanted, "{written}");
            assert_eq!(read.to_string().parse::<Profile>().as_ref(), Ok(&read), "{written}");
        }
    }

    #[test]
    fn what_is_no_rate_is_told_with_what_to_write() {
        let cases = [
            ("", "cannot be \"\"\n"),
            ("fast", "cannot be \"fast\"\n"),
            ("0", "must be from 0.001 to 10000000\n"),
            ("-5", "must be from 0.001 to 10000000\n"),
            ("nan", "must be from 0.001 to 10000000\n"),
            ("sawtooth 1..2 over 3s", "cannot be \"sawtooth 1..2 over 3s\"\n"),
            ("step 100 every 10s", "it has 1 level, and must have 2 to 1000\n"),
            ("step 100, 200", "it does not say how long a level lasts (\"every …\")\n"),
            ("step 100, fast every 10s", "invalid rate \"fast\", transactions per second\n"),
            ("step 0, 0 every 10s", "all its rates are 0\n"),
            ("step 100, 200 every", "a time is missing behind \"every\"\n"),
            ("step 100, 200 every 10", "invalid time \"10\": write a unit, such as 500ms, 10s, 2min or 1h\n"),
            ("step 100, 200 every 0s", "a time of 0s cannot be\n"),
            ("step 100..400 every 10s", "invalid rate \"..\", transactions per second\n"),
            ("step 100, 200 every 10s twice", "\"twice\" is too much\n"),
            ("ramp 100..1000", "it does not say how long it takes (\"over …\")\n"),
            ("ramp 100 over 30s", "\"100\" are not two rates\n"),
            (
                "ramp 100..100 over 30s",
                "from 100 to 100 does not change; write a constant rate as a number\n",
            ),
            ("ramp -1..100 over 30s", "a rate of -1 cannot be: it must be 0, or from 0.001 to 10000000\n"),
            ("ramp 1..1e9 over 30s", "a rate of 1e9 cannot be: it must be 0, or from 0.001 to 10000000\n"),
            ("sine 500 every 20s", "it does not say how far it swings (\"± …\")\n"),
            (
                "sine 500 ± 600 every 20s",
                "it swings by 600 around 500, and must swing by more than 0, at most 500\n",
            ),
            ("spike 100 to 1000 for 2s", "it does not say when it comes (\"at …\")\n"),
            ("spike 100 to 1000 at 2s", "it does not say how long it lasts (\"for …\")\n"),
        ];
        for (written, wanted) in cases {
            let error = written.parse::<Profile>().expect_err(written).to_string();
            assert!(error.contains(wanted), "{written}: {error}");
            assert!(error.contains("\nwrite "), "{written}: {error}");
        }
    }

    #[test]
    fn a_constant_rate_is_a_number_wherever_it_is_kept() {
        let kept = |profile: &Profile| Written::from(profile.clone());
        assert_eq!(kept(&Profile::Constant(70.0)), Written::Number(70.0));
        assert_eq!(kept(&RAMP.parse().unwrap()), Written::Text(RAMP.to_owned()));
        assert_eq!(Profile::try_from(Written::Text(SINE.to_owned())), SINE.parse());
    }
}
