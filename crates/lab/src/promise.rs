//! A promise as written: `p99 < 250ms`, `late(1s) < 0.1%`, several joined by `and`, each for one script with
//! its name before: `report.sql: p95 < 2s`.

use std::time::Duration;

use jiff::SignedDuration;
use spec::Term;

/// Longest time in a promise: the range of histograms.
const LONGEST: Duration = Duration::from_secs(3600);
/// Smallest share that may be late: below it, no trial is long enough.
const LEAST_SHARE: f64 = 1e-6;

/// The terms of a promise, at least one.
///
/// # Errors
/// As text: an invalid term, or a contradiction.
pub fn parse(text: &str) -> Result<Vec<Term>, String> {
    let written = text.split(" and ").flat_map(|part| part.split(',')).map(str::trim);
    let terms: Vec<Term> = written.map(term).collect::<Result<_, _>>()?;
    for (place, term) in terms.iter().enumerate() {
        for other in terms[..place].iter().filter(|other| other.script == term.script) {
            together(other, term)?;
        }
    }
    Ok(terms)
}

/// Checks that two terms of the same script do not duplicate or contradict each other.
fn together(one: &Term, other: &Term) -> Result<(), String> {
    if one.share.total_cmp(&other.share).is_eq() {
        return Err(format!(
            "cannot be both \"{}\" and \"{}\", which bound the same share: keep one of them",
            one.written, other.written
        ));
    }
    let (strict, loose) = if one.share < other.share { (one, other) } else { (other, one) };
    if strict.within_us <= loose.within_us {
        return Err(format!(
            "contains \"{}\", which follows from \"{}\": leave it out",
            loose.written, strict.written
        ));
    }
    Ok(())
}

fn term(written: &str) -> Result<Term, String> {
    let (script, rest) = match written.rsplit_once(": ") {
        Some((script, rest)) => (Some(script.trim().to_owned()), rest.trim()),
        None => (None, written),
    };
    let wrong =
        |what: &str| format!("cannot be \"{written}\": {what}\nwrite p99 < 250ms, or late(250ms) < 1%");
    if rest.contains('>') {
        return Err(wrong("a promise needs an upper bound: write <"));
    }
    let (figure, bound) = rest.split_once('<').ok_or_else(|| wrong("there is no <"))?;
    let (figure, bound) = (figure.trim(), bound.trim_start_matches('=').trim());
    let within = |text: &str| time(text).map_err(|problem| wrong(&problem));
    let (within, share) =
        if let Some(limit) = figure.strip_prefix("late(").and_then(|rest| rest.strip_suffix(')')) {
            let percent = bound.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
            let percent =
                percent.ok_or_else(|| wrong(&format!("invalid share {bound:?}: write a percentage")))?;
            (within(limit)?, percent / 100.0)
        } else {
            let percent = figure.strip_prefix('p').and_then(|quantile| quantile.parse::<f64>().ok());
            let percent = percent.ok_or_else(|| {
                wrong(&format!("unknown figure \"{figure}\"; known are p50, p99, p99.9 and late(TIME)"))
            })?;
            (within(bound)?, 1.0 - percent / 100.0)
        };
    // A share of 0 is broken by the first failure, and a share of 1 never.
    if !(LEAST_SHARE..1.0).contains(&share) {
        return Err(wrong("the share that may be late must be from 0.0001 % to less than 100 %"));
    }
    let share = (share * 1e9).round() / 1e9;
    Ok(Term { script, within_us: within.as_micros() as u64, share, written: written.to_owned() })
}

/// `250ms`, `1.5s`, `800us`.
fn time(text: &str) -> Result<Duration, String> {
    let time = text.trim().parse::<SignedDuration>().ok().and_then(|time| Duration::try_from(time).ok());
    let time = time.ok_or_else(|| format!("invalid time \"{text}\": write 250ms or 1.5s"))?;
    match time {
        _ if (Duration::from_micros(1)..=LONGEST).contains(&time) => Ok(time),
        _ => Err(format!("\"{text}\" must be from 1us to 1h")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_read() {
        for (text, script, within_us, share) in [
            ("p99 < 250ms", None, 250_000, 0.01),
            ("p99.9<1.5s", None, 1_500_000, 0.001),
            ("p50 <= 800us", None, 800, 0.5),
            ("late(250ms) < 1%", None, 250_000, 0.01),
            ("late( 2 s ) < 0.1 %", None, 2_000_000, 0.001),
            ("lookup.sql: p95 < 20ms", Some("lookup.sql"), 20_000, 0.05),
        ] {
            let terms = parse(text).unwrap_or_else(|problem| panic!("{text}: {problem}"));
            let term = &terms[0];
            assert_eq!((term.script.as_deref(), term.within_us), (script, within_us), "{text}");
            assert!((term.share - share).abs() < 1e-9, "{text}: {}", term.share);
            assert_eq!(term.written, text);
        }
        assert_eq!(parse("p99 < 250ms and p99.9 < 1s, a.sql: p50 < 5ms").unwrap().len(), 3);
    }

    #[test]
    fn what_is_no_promise_is_said() {
        for (text, words) in [
            ("", "there is no <"),
            ("p99 > 250ms", "write <"),
            ("p99 = 250ms", "there is no <"),
            ("mean < 5ms", "unknown figure \"mean\""),
            ("pp < 5ms", "unknown figure \"pp\""),
            ("p99 < fast", "invalid time"),
            ("p99 < 250", "invalid time"),
            ("p99 < 0ms", "from 1us"),
            ("p99 < -5ms", "invalid time"),
            ("p99 < 2000min", "from 1us"),
            ("p100 < 1s", "share that may be late"),
            ("p0 < 1s", "share that may be late"),
            ("late(1s) < 0%", "share that may be late"),
            ("late(1s) < 5ms", "invalid share"),
            ("p99 < 1s and late(2s) < 1%", "which bound the same share"),
            ("p99 < 1s and p50 < 2s", "contains \"p50 < 2s\", which follows from"),
            ("p50 < 2s, p99 < 1s", "\"p50 < 2s\", which follows from \"p99 < 1s\""),
        ] {
            let problem = parse(text).unwrap_err();
            assert!(problem.contains(words), "{text}: {problem}");
        }
    }
}
