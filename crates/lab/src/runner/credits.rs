//! CPU credits of a server's host, as far as they can be inferred. Neither a guest nor SQL shows the balance.
//! But once throughput fell to a fraction and stayed there, the two speeds predict how long a rest is needed
//! for a second at full speed, and when credits end again. The texts name the condition: that credits had
//! ended.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use spec::{Reason, Run, RunEvent};
use stats::credits::Inferred;

use super::event;
use crate::setup::At;
use crate::validity::machine::Steps;

/// A fall to more than this share of the speed before is not an end of credits.
const HIGHEST_BASELINE: f64 = 0.5;
/// Work at full speed for this multiple of the longest possible time disproves credits.
const DISPROVED: f64 = 3.0;

#[derive(Debug, Default)]
pub(super) struct Credits(BTreeMap<At, ServerCredits>);

#[derive(Debug)]
struct ServerCredits {
    inferred: Inferred,
    until: Instant,
}

impl Credits {
    /// At the start of a run: when credits end during it, if they do.
    pub(super) fn before(&mut self, at: &At, now: Instant) -> Option<RunEvent> {
        let known = self.0.get_mut(at)?;
        known.inferred.rested(now.saturating_duration_since(known.until).as_secs_f64());
        known.until = now;
        let left = words(known.inferred.left_s());
        Some(event(
            RunEvent::CREDITS,
            format!("if CPU credits ended under an earlier run, they end in about {left} at its load"),
        ))
    }

    /// After a judged run: whether credits may have ended during it.
    pub(super) fn after(&mut self, at: &At, run: &Run, now: Instant) -> Option<RunEvent> {
        let throttled = run.doubts.iter().any(|doubt| doubt.reason == Reason::Throttled);
        let profile = run.changing_rate();
        let drop = Steps::of(&run.series, profile.as_ref()).lasting_drop().filter(|_| throttled);
        if let Some(inferred) = drop.and_then(|drop| Inferred::at_the_end(1.0 - drop))
            && drop >= Some(1.0 - HIGHEST_BASELINE)
        {
            self.0.insert(at.clone(), ServerCredits { inferred, until: now });
            let rest = inferred.rest_per_second();
            let detail = format!(
                "if CPU credits ended: {rest:.1} s without load earn a second of this load at full speed, and {} a minute",
                words(60.0 * rest)
            );
            return Some(event(RunEvent::CREDITS, detail));
        }
        let known = self.0.get_mut(at)?;
        let worked_s = now.saturating_duration_since(known.until).as_secs_f64();
        let could_s = known.inferred.left_s();
        known.until = now;
        if throttled {
            // It may have been so from the start.
            known.inferred.worked(could_s);
        } else if worked_s > DISPROVED * could_s.max(1.0) {
            self.0.remove(at);
        } else {
            known.inferred.worked(worked_s);
        }
        None
    }
}

fn words(seconds: f64) -> String {
    let seconds = Duration::from_secs_f64(seconds.clamp(0.0, 1e9)).as_secs_f64();
    if seconds < 120.0 { format!("{seconds:.0} s") } else { format!("{:.0} min", seconds / 60.0) }
}

#[cfg(test)]
mod tests {
    use spec::{Doubt, RunKey, RunKind, SeriesPoint};
    use stats::credits::Bucket;

    use super::*;

    /// A run of so many seconds on a host with these credits, after its rest, judged as usual.
    fn run(bucket: &mut Bucket, seconds: usize) -> Run {
        let key = RunKey { workload: "w".into(), factors: BTreeMap::new(), arm: None, round: 1 };
        let mut run = Run::new(RunKind::Client, key);
        let mut least = 1.0_f64;
        for second in 0..seconds {
            let had = bucket.pass(1.0, 1.0);
            least = least.min(had);
            run.series.push(SeriesPoint {
                script: 0,
                start_us: second as i64 * 1_000_000,
                length_us: 1_000_000,
                ok: (1000.0 * had) as u64,
                late: 0,
                failed: 0,
                skipped: 0,
            });
        }
        if least < 0.9 {
            run.doubts.push(Doubt { reason: Reason::Throttled, detail: String::new() });
        }
        run
    }

    /// Minutes and seconds until credits end, as in an event.
    fn said(event: Option<RunEvent>) -> String {
        let detail = event.expect("an event").detail;
        let (_, rest) = detail.rsplit_once("in about ").expect("a time");
        rest.trim_end_matches(" at its load").to_owned()
    }

    #[test]
    fn when_credits_end_again_is_told_from_the_speeds_they_ended_with() {
        let (mut credits, at, start) = (Credits::default(), At::default(), Instant::now());
        let mut bucket = Bucket::t2_micro(0.45);
        assert_eq!(credits.before(&at, start), None, "nothing is known before they ended once");
        let first = run(&mut bucket, 60);
        let now = start + Duration::from_secs(60);
        let told = credits.after(&at, &first, now).expect("they ended").detail;
        assert!(told.starts_with("if CPU credits ended: 9.0 s without load earn a second"), "{told}");
        // An hour's rest earns 6 credits: 6 minutes and 40 seconds at full speed, while they are earned.
        bucket.pass(3600.0, 0.0);
        let now = now + Duration::from_secs(3600);
        assert_eq!(said(credits.before(&at, now)), "7 min");
        let second = run(&mut bucket, 300);
        assert!(second.doubts.is_empty());
        let now = now + Duration::from_secs(300);
        assert_eq!(credits.after(&at, &second, now), None);
        assert_eq!(said(credits.before(&at, now)), "100 s");
        let third = run(&mut bucket, 200);
        let steps = Steps::of(&third.series, None);
        assert!((0.85..0.95).contains(&steps.lasting_drop().unwrap()), "{steps:?}");
        let full = third.series.iter().filter(|point| point.ok > 990).count();
        assert!((95..=105).contains(&full), "they ended after {full} s");
    }

    #[test]
    fn what_is_no_end_of_credits_is_forgotten() {
        let (mut credits, at, start) = (Credits::default(), At::default(), Instant::now());
        let ended = run(&mut Bucket::t2_micro(0.45), 60);
        assert!(credits.after(&at, &ended, start).is_some());
        let steady = run(&mut Bucket::t2_micro(100.0), 60);
        assert_eq!(credits.after(&at, &steady, start + Duration::from_secs(60)), None);
        assert_eq!(
            credits.before(&at, start + Duration::from_secs(61)),
            None,
            "a minute at full speed without rest"
        );
        // A step without other evidence is not an end of credits.
        let alone = Run { doubts: Vec::new(), ..ended };
        assert_eq!(credits.after(&at, &alone, start), None);
    }
}
