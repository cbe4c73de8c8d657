//! When users come. It is written as a text.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use jiff::SignedDuration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::UsersError;
use super::think::length;
use crate::profile::Profile;

/// When users come.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum UserArrivals {
    /// Evenly over the warm-up, at most over one session.
    #[default]
    Spread,
    /// All at the start.
    Together,
    /// One after the other, this far apart.
    Apart(Duration),
    /// More and more over `up`, all for `hold`, fewer and fewer over `down`.
    UpHoldDown { up: Duration, hold: Duration, down: Duration },
    /// A share (0..=1) of the users, over time. A user who is too many ends the session first.
    Share(Profile),
    /// Open: users who come at random, do one session and leave.
    Open {
        /// Users per unit of time.
        users: Profile,
        per: Per,
    },
}

/// The unit of an open arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Per {
    Second,
    Minute,
    Hour,
}

impl Per {
    const ALL: [(Self, &'static str, f64); 3] =
        [(Self::Second, "second", 1.0), (Self::Minute, "minute", 60.0), (Self::Hour, "hour", 3600.0)];

    /// What may be written for it, without `per`.
    fn spellings(self) -> &'static [&'static str] {
        match self {
            Self::Second => &["second", "seconds", "sec", "s"],
            Self::Minute => &["minute", "minutes", "min", "m"],
            Self::Hour => &["hour", "hours", "h"],
        }
    }

    /// The unit at the end of a text such as `12 per min`, and what is before it.
    fn at_end(text: &str) -> Option<(&str, Self)> {
        Self::ALL.into_iter().find_map(|(per, ..)| {
            let before = per.spellings().iter().find_map(|spelling| {
                let before = text.strip_suffix(spelling)?;
                let rate = before.trim_end();
                if let Some(rate) = rate.strip_suffix('/') {
                    return Some(rate);
                }
                // A word is separated from the words next to it.
                let rate = (rate != before).then_some(rate)?;
                let rate = rate.strip_suffix("per").or_else(|| rate.strip_suffix(" a"))?;
                (!rate.ends_with(char::is_alphabetic)).then_some(rate)
            })?;
            Some((before, per))
        })
    }

    fn row(self) -> (Self, &'static str, f64) {
        Self::ALL[self as usize]
    }
}

const ADVICE: &str = "write \"0.5s apart\", \"together\", \"up 60s, hold 300s, down 60s\", a share of the users such as \
    \"ramp 0..1 over 60s\", \"step 0.2, 1, 0.5 every 60s\", \"spike 0.2 to 1 for 10s at 30s\" or \"sine 0.6 +- 0.4 every 1h\", or \
    new users such as \"12 per minute\"";

impl UserArrivals {
    /// Whether it is the default.
    #[must_use]
    pub fn is_spread(&self) -> bool {
        *self == Self::Spread
    }

    /// New users per second over time, if it is open.
    #[must_use]
    pub fn open_per_s(&self) -> Option<Profile> {
        match self {
            Self::Open { users, per } => {
                let (_, _, seconds) = per.row();
                Some(users.scaled(1.0 / seconds))
            }
            _ => None,
        }
    }

    /// Whether all users are there from their first session to the end of the run.
    #[must_use]
    pub fn are_always_there(&self) -> bool {
        matches!(self, Self::Spread | Self::Together | Self::Apart(_))
    }

    /// Whether the load of this many users is asked to change after a warm-up of `warmup_s` seconds.
    #[must_use]
    pub fn changes_load(&self, users: u32, warmup_s: f64) -> bool {
        match self {
            Self::Spread | Self::Together => false,
            Self::Apart(apart) => apart.as_secs_f64() * f64::from(users.saturating_sub(1)) > warmup_s,
            Self::UpHoldDown { .. } => true,
            Self::Share(profile) | Self::Open { users: profile, .. } => !profile.is_constant(),
        }
    }

    /// Whether runs must have a duration: users may not be there for a number of sessions.
    #[must_use]
    pub fn need_duration(&self) -> bool {
        matches!(self, Self::UpHoldDown { .. } | Self::Share(_) | Self::Open { .. })
    }

    /// Time until the shape is complete, seconds: the shortest useful length of a run.
    #[must_use]
    pub fn lasts_s(&self) -> f64 {
        match self {
            Self::Spread | Self::Together | Self::Apart(_) => 0.0,
            Self::UpHoldDown { up, hold, down } => (*up + *hold + *down).as_secs_f64(),
            Self::Share(profile) | Self::Open { users: profile, .. } => profile.lasts_s(),
        }
    }

    /// The first time from `from` on, in seconds since the start of the measured part, at which at least this
    /// share of the users is there; `None` if it never is again. Users of a run without such a shape are
    /// always there.
    #[must_use]
    pub fn present_from(&self, share: f64, from: f64) -> Option<f64> {
        let from = from.max(0.0);
        match self {
            Self::UpHoldDown { up, hold, down } => {
                let [up, hold, down] = [up, hold, down].map(|part| part.as_secs_f64());
                let begins = share * up;
                let ends = up + hold + (1.0 - share) * down;
                let at = from.max(begins);
                (at < ends).then_some(at)
            }
            Self::Share(Profile::Sine { mean, swing, every }) => {
                use std::f64::consts::TAU;
                let every = every.as_secs_f64();
                if mean + swing * (TAU * (from / every).fract()).sin() >= share {
                    return Some(from);
                }
                let least = (share - mean) / swing;
                if least.is_nan() || least > 1.0 {
                    return None;
                }
                let within = every * least.max(-1.0).asin() / TAU;
                let turns = ((from - within) / every).ceil();
                Some((within + turns * every).max(from))
            }
            Self::Share(profile) => {
                let mut begins = 0.0;
                for piece in profile.pieces().unwrap_or_default() {
                    let ends = begins + piece.length;
                    if ends > from {
                        let at = from.max(begins);
                        let rate = |at: f64| match piece.from == piece.to {
                            true => piece.from,
                            false => piece.from + (piece.to - piece.from) * (at - begins) / piece.length,
                        };
                        if rate(at) >= share {
                            return Some(at);
                        }
                        if piece.to >= share && piece.to > piece.from {
                            let reached =
                                begins + piece.length * (share - piece.from) / (piece.to - piece.from);
                            return Some(reached.max(at));
                        }
                    }
                    begins = ends;
                }
                None
            }
            Self::Spread | Self::Together | Self::Apart(_) | Self::Open { .. } => Some(from),
        }
    }
}

impl fmt::Display for UserArrivals {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Spread => out.write_str("spread"),
            Self::Together => out.write_str("together"),
            Self::Apart(time) => write!(out, "{} apart", length(*time)),
            Self::UpHoldDown { up, hold, down } => {
                write!(out, "up {}, hold {}, down {}", length(*up), length(*hold), length(*down))
            }
            Self::Share(profile) => write!(out, "{profile}"),
            Self::Open { users, per } => write!(out, "{users} per {}", per.row().1),
        }
    }
}

impl From<UserArrivals> for String {
    fn from(arrivals: UserArrivals) -> Self {
        arrivals.to_string()
    }
}

impl TryFrom<String> for UserArrivals {
    type Error = UsersError;

    fn try_from(text: String) -> Result<Self, UsersError> {
        text.parse()
    }
}

impl FromStr for UserArrivals {
    type Err = UsersError;

    fn from_str(text: &str) -> Result<Self, UsersError> {
        let text = text.trim();
        let wrong = |why: &str| UsersError::new(format!("cannot be \"{text}\": {why}"), ADVICE);
        match text {
            "spread" => return Ok(Self::Spread),
            "together" => return Ok(Self::Together),
            _ => {}
        }
        if let Some(apart) = text.strip_suffix("apart") {
            let apart = time(apart).map_err(|why| wrong(&why))?;
            return Ok(Self::Apart(apart));
        }
        if text.starts_with("up ") {
            return up_hold_down(text).map_err(|why| wrong(&why));
        }
        if let Some((users, per)) = Per::at_end(text) {
            let users = users.trim().trim_end_matches("users").trim();
            let users = users.parse::<Profile>().map_err(|error| wrong(error.what()))?;
            return Ok(Self::Open { users, per });
        }
        match text.parse::<Profile>() {
            Ok(Profile::Constant(_)) => {
                Err(wrong("a number of users needs a unit of time, such as per minute"))
            }
            Ok(profile) if profile.greatest() > 1.0 => Err(wrong(
                "these are shares of the users, at most 1; for new users write per minute after it",
            )),
            Ok(profile) => Ok(Self::Share(profile)),
            Err(error) => Err(wrong(error.what().split_once(": ").map_or("it is not known", |(_, why)| why))),
        }
    }
}

fn up_hold_down(text: &str) -> Result<UserArrivals, String> {
    let (mut up, mut hold, mut down) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for part in text.split(',').map(str::trim) {
        let (word, length) = part.split_once(' ').unwrap_or((part, ""));
        let place = match word {
            "up" => &mut up,
            "hold" => &mut hold,
            "down" => &mut down,
            _ => return Err(format!("the word \"{word}\" is not known; there are up, hold and down")),
        };
        *place = time(length)?;
    }
    Ok(UserArrivals::UpHoldDown { up, hold, down })
}

/// A length of time, from 0 to 31 days.
fn time(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let time = text.parse::<SignedDuration>().ok().filter(|time| time.as_secs() <= 31 * 86_400);
    let time = time.ok_or_else(|| format!("\"{text}\" is not a length of time such as 0.5s or 2min"))?;
    Duration::try_from(time).map_err(|_| format!("the time {text} is below zero"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> UserArrivals {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn arrivals_are_read_and_written() {
        for text in [
            "spread",
            "together",
            "500ms apart",
            "up 60s, hold 300s, down 60s",
            "ramp 0..1 over 60s",
            "step 0.2, 1, 0.5 every 60s",
            "spike 0.2 to 1 for 10s at 30s",
            "sine 0.6 ± 0.4 every 3600s",
            "12 per minute",
            "ramp 6..60 over 60s per minute",
        ] {
            assert_eq!(of(text).to_string(), text);
        }
        assert_eq!(of("0.5s apart"), UserArrivals::Apart(Duration::from_millis(500)));
        assert_eq!(
            of("600 users per hour").open_per_s(),
            Some(Profile::Constant(600.0 / 3600.0).scaled(1.0))
        );
        for text in [
            "2/s",
            "2 /sec",
            "2 per sec",
            "2 users per s",
            "2 a second",
            "120 per min",
            "120/m",
            "7200 per h",
        ] {
            assert_eq!(of(text).open_per_s(), Some(Profile::Constant(2.0)), "{text}");
        }
        for (text, wanted) in [
            ("-1s apart", "cannot be \"-1s apart\": the time -1s is below zero"),
            ("soon", "cannot be \"soon\": "),
            ("30", "cannot be \"30\": a number of users needs a unit of time"),
            (
                "ramp 0..30 over 10s",
                "cannot be \"ramp 0..30 over 10s\": these are shares of the users, at most 1",
            ),
            ("up 1m, keep 3m", "cannot be \"up 1m, keep 3m\": the word \"keep\" is not known"),
            ("many per minute", "cannot be \"many per minute\": "),
            ("5 super min", "cannot be \"5 super min\": "),
            ("5 mins", "cannot be \"5 mins\": "),
        ] {
            let told = text.parse::<UserArrivals>().unwrap_err();
            assert!(told.what().starts_with(wanted), "{text}: {told}");
        }
    }

    #[test]
    fn a_load_that_was_asked_to_change_is_known() {
        for (text, users, warmup_s, wanted) in [
            ("together", 9, 0.0, false),
            ("2s apart", 9, 17.0, false),
            ("2s apart", 9, 15.0, true),
            ("up 4s, hold 9s", 9, 60.0, true),
            ("sine 0.5 ± 0.3 every 7s", 9, 60.0, true),
            ("40 per min", 9, 0.0, false),
            ("ramp 3..40 over 20s per min", 9, 60.0, true),
        ] {
            assert_eq!(of(text).changes_load(users, warmup_s), wanted, "{text}");
        }
        assert!(of("2s apart").are_always_there() && !of("40 per min").are_always_there());
        assert!(!of("spike 0.2 to 0.9 for 3s at 4s").are_always_there());
    }

    /// Against a search in small steps.
    #[test]
    fn users_are_there_from_the_first_time_of_their_share() {
        let share_at = |arrivals: &UserArrivals, at: f64| match arrivals {
            UserArrivals::Share(profile) => profile.rate(at),
            UserArrivals::UpHoldDown { up, hold, down } => {
                let [up, hold, down] = [up, hold, down].map(|part| part.as_secs_f64());
                let rising = if up > 0.0 { at / up } else { 1.0 };
                let falling = if down > 0.0 {
                    (up + hold + down - at) / down
                } else {
                    f64::from(u8::from(at < up + hold))
                };
                rising.min(falling).clamp(0.0, 1.0)
            }
            _ => 1.0,
        };
        for text in [
            "up 10s, hold 5s, down 4s",
            "up 0s, hold 5s, down 0s",
            "ramp 0..1 over 10s",
            "ramp 1..0.2 over 10s",
            "step 0.2, 1, 0.5 every 3s",
            "spike 0.2 to 1 for 2s at 5s",
            "sine 0.5 ± 0.4 every 8s",
        ] {
            let arrivals = of(text);
            for share in [0.05, 0.15, 0.35, 0.55, 0.95] {
                for from in [0.0, 1.7, 4.9, 6.1, 9.3, 16.0] {
                    let step = 1e-3;
                    let wanted = (0..30_000)
                        .map(|k| from + f64::from(k) * step)
                        .find(|at| share_at(&arrivals, *at) >= share);
                    let found = arrivals.present_from(share, from);
                    let agree = match (wanted, found) {
                        (Some(wanted), Some(found)) => (wanted - found).abs() <= 2.0 * step,
                        (None, None) => true,
                        // At the very end of a falling part.
                        _ => false,
                    };
                    assert!(agree, "{text}, share {share} from {from}: {found:?}, not {wanted:?}");
                }
            }
        }
    }
}
