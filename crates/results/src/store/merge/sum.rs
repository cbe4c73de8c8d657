//! The sum of the parts of one load: counters, histograms and seconds are added, and what all parts saw of the server
//! is taken once.

use std::collections::BTreeMap;

use spec::users::SessionTimes;
use spec::{
    Artifact, Doubt, Profile, Reason, Run, RunEvent, RunPart, Sample, ScriptRecord, SeriesPoint, Slice,
    TileFigures, Validity,
};
use stats::Histogram;

use super::figures;
use crate::spool::Spooled;

/// Parts of a load that are in one run of one file.
#[derive(Debug, Clone)]
pub(super) struct Share {
    /// With its single tiles.
    pub(super) run: Run,
    pub(super) seconds: Vec<Spooled>,
    /// Validity of each of its parts in the part's own file, in the order of [`Run::parts`].
    pub(super) validity: Vec<Validity>,
    /// Whether it is a sum already, with the doubts of its parts under their names.
    pub(super) is_sum: bool,
}

/// Events of which one is enough: they say what the load was, not what happened.
const OF_THE_LOAD: [&str; 3] = [RunEvent::RATE, RunEvent::MAP_SOURCE, RunEvent::ANSWER_DIFFERENCE];

/// The profile of the whole rate, from that of a part and its share of the rate.
fn whole_rate(runs: &[&Run], detail: &str) -> Option<String> {
    let profile: Profile = detail.parse().ok()?;
    let rates: Vec<f64> = runs.iter().filter_map(|run| run.offered_rate).collect();
    let first = rates.first().filter(|rate| **rate > 0.0 && rates.len() == runs.len())?;
    Some(profile.scaled(rates.iter().sum::<f64>() / first).to_string())
}

/// Collectors of the generators' hosts; all others watch the server.
const OF_HOSTS: [&str; 1] = ["host"];
/// Samples that are counts of a generator: their sum is that of the load.
const OF_USERS: &str = "users";

/// The whole run of these shares, and the response times of its seconds.
///
/// # Errors
/// Why they are not shares of one run.
pub(super) fn sum(uuid: &str, mut shares: Vec<Share>) -> Result<(Run, Vec<Spooled>), String> {
    shares.sort_by_key(|share| share.run.parts.first().map(|part| part.number));
    refuse_others(&shares)?;
    refuse_impossible(&shares)?;
    let shifts = shifts(&shares);
    let seconds = seconds(&shares, &shifts)?;
    let runs: Vec<&Run> = shares.iter().map(|share| &share.run).collect();
    let first = runs[0];
    let mut parts: Vec<RunPart> = runs.iter().flat_map(|run| run.parts.clone()).collect();
    parts.sort_by_key(|part| part.number);
    let (validity, doubts) = judged(&shares, &parts);
    let with = |has: fn(&Run) -> bool| runs.iter().copied().find(|run| has(run)).unwrap_or(first);
    let greatest = |of: fn(&Run) -> f64| runs.iter().map(|run| of(run)).fold(0.0, f64::max);
    let mut drivers: Vec<&str> = runs.iter().map(|run| run.driver.as_str()).collect();
    drivers.dedup();
    let rates: Vec<f64> = runs.iter().filter_map(|run| run.offered_rate).collect();
    let whole = Run {
        uuid: uuid.to_owned(),
        started_at: runs.iter().map(|run| run.started_at.clone()).min().unwrap_or_default(),
        offered_rate: (!rates.is_empty()).then(|| rates.iter().sum()),
        clients: runs.iter().map(|run| run.clients).sum(),
        threads: runs.iter().map(|run| run.threads).sum(),
        driver: drivers.join(", "),
        warmup_s: greatest(|run| run.warmup_s),
        measured_s: greatest(|run| run.measured_s),
        validity,
        doubts,
        set_aside: runs.iter().find_map(|run| run.set_aside.clone()),
        counts: counters(runs.iter().map(|run| &run.counts)),
        figures: figures::together(&runs),
        settings: with(|run| !run.settings.is_empty()).settings.clone(),
        scripts: scripts(&runs),
        sessions: sessions(&runs),
        series: series(&runs, &shifts),
        slices: slices(&runs),
        phases: first.phases.clone(),
        plans: with(|run| !run.plans.is_empty()).plans.clone(),
        relations: with(|run| !run.relations.is_empty()).relations.clone(),
        tiles: tiles(&runs),
        tile_samples: with(|run| !run.tile_samples.is_empty()).tile_samples.clone(),
        tile_probes: with(|run| !run.tile_probes.is_empty()).tile_probes.clone(),
        artifacts: artifacts(&runs),
        events: events(&shares, &shifts),
        samples: samples(&shares, &shifts),
        parts,
        ..first.clone()
    };
    Ok((whole, seconds))
}

/// The first part of a run, as in `part 3 of 4`.
fn words(run: &Run) -> String {
    run.parts.first().map(RunPart::words).unwrap_or_default()
}

fn refuse_others(shares: &[Share]) -> Result<(), String> {
    let first = &shares[0].run;
    let texts = |run: &Run| -> Vec<(String, String)> {
        run.scripts.iter().map(|script| (script.name.clone(), script.text_hash.clone())).collect()
    };
    let quads = |run: &Run| -> Vec<u32> { run.slices.iter().map(|slice| slice.quad).collect() };
    for Share { run, .. } in &shares[1..] {
        let differs = [
            ("cell, arm or round", run.key() != first.key()),
            ("kind of load", (run.kind, run.load) != (first.kind, first.load)),
            ("scripts", texts(run) != texts(first)),
            ("slices", quads(run) != quads(first)),
            (
                "number of parts",
                run.parts.first().map(|part| part.of) != first.parts.first().map(|part| part.of),
            ),
        ];
        if let Some((what, _)) = differs.into_iter().find(|(_, differs)| *differs) {
            return Err(format!("{} and {} of one load have not the same {what}", words(first), words(run)));
        }
    }
    Ok(())
}

/// Figures that only a damaged file has, and that would spoil the sum.
fn refuse_impossible(shares: &[Share]) -> Result<(), String> {
    // No run has so many: the sum of all parts is below what a file can store.
    const MOST: u64 = i64::MAX as u64 / spec::MOST_PARTS as u64;
    for run in shares.iter().map(|share| &share.run) {
        if let Some((name, count)) = run.counts.iter().find(|(_, count)| *count > MOST) {
            return Err(format!("{}: {count} {name} cannot be", words(run)));
        }
        let times = [("warm-up", run.warmup_s), ("measured part", run.measured_s)];
        if let Some((what, seconds)) =
            times.into_iter().find(|(_, seconds)| !seconds.is_finite() || *seconds < 0.0)
        {
            return Err(format!("{}: a {what} of {seconds} s cannot be", words(run)));
        }
    }
    Ok(())
}

/// How much later the seconds of each share began than those of the earliest, in whole seconds, µs.
fn shifts(shares: &[Share]) -> Vec<i64> {
    let late = |share: &Share| {
        let parts = share.run.parts.iter().map(|part| part.late_us);
        parts.fold(f64::INFINITY, f64::min)
    };
    let earliest = shares.iter().map(late).fold(f64::INFINITY, f64::min);
    let whole = |late: f64| ((late - earliest) / 1e6).round() as i64 * 1_000_000;
    shares.iter().map(|share| if late(share).is_finite() { whole(late(share)) } else { 0 }).collect()
}

/// The worst of the parts; invalid if one is missing.
fn judged(shares: &[Share], parts: &[RunPart]) -> (Validity, Vec<Doubt>) {
    let of = parts.first().map_or(0, |part| part.of);
    let missing: Vec<u32> =
        (1..=of).filter(|number| parts.iter().all(|part| part.number != *number)).collect();
    let own = shares.iter().flat_map(|share| share.validity.iter().copied());
    let validity = match own.max_by_key(|validity| worse(*validity)) {
        _ if !missing.is_empty() => Validity::Invalid,
        worst => worst.unwrap_or(Validity::Invalid),
    };
    let missing = missing.into_iter().map(|number| Doubt {
        reason: Reason::PartMissing,
        detail: format!("part {number} of {of} is missing"),
    });
    let own = shares.iter().flat_map(|share| {
        let own = share.run.doubts.iter().filter(|doubt| doubt.reason != Reason::PartMissing);
        own.map(|doubt| match share.is_sum {
            true => doubt.clone(),
            false => Doubt { detail: format!("{}: {}", words(&share.run), doubt.detail), ..doubt.clone() },
        })
    });
    // A run has one doubt of a kind: they are counted.
    let mut doubts: Vec<Doubt> = Vec::new();
    for doubt in missing.chain(own) {
        match doubts.iter_mut().find(|known| known.reason == doubt.reason) {
            Some(known) => known.detail += &format!("; {}", doubt.detail),
            None => doubts.push(doubt),
        }
    }
    (validity, doubts)
}

fn worse(validity: Validity) -> u8 {
    match validity {
        Validity::Valid => 0,
        Validity::Suspect => 1,
        Validity::Invalid => 2,
    }
}

fn counters<'c>(of: impl Iterator<Item = &'c spec::figures::Counters>) -> spec::figures::Counters {
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (name, count) in of.flat_map(|counts| counts.iter()) {
        let sum = sums.entry(name.to_owned()).or_default();
        *sum = sum.saturating_add(count);
    }
    sums.into_iter().collect()
}

fn scripts(runs: &[&Run]) -> Vec<ScriptRecord> {
    let of = |at: usize| {
        let own = || runs.iter().filter_map(move |run| run.scripts.get(at));
        let first = &runs[0].scripts[at];
        ScriptRecord {
            counts: counters(own().map(|script| &script.counts)),
            response: Histogram::sum(own().map(|script| &script.response)),
            service: Histogram::sum(own().map(|script| &script.service)),
            ..first.clone()
        }
    };
    (0..runs[0].scripts.len()).map(of).collect()
}

fn sessions(runs: &[&Run]) -> Option<SessionTimes> {
    let own = || runs.iter().filter_map(|run| run.sessions.as_ref());
    own().next()?;
    Some(SessionTimes {
        duration: Histogram::sum(own().map(|times| &times.duration)),
        response: Histogram::sum(own().map(|times| &times.response)),
    })
}

fn series(runs: &[&Run], shifts: &[i64]) -> Vec<SeriesPoint> {
    let mut points: BTreeMap<(i64, u32), SeriesPoint> = BTreeMap::new();
    for (run, shift) in runs.iter().zip(shifts) {
        for point in &run.series {
            let start_us = point.start_us + shift;
            let empty =
                SeriesPoint { start_us, length_us: 0, ok: 0, late: 0, failed: 0, skipped: 0, ..*point };
            let sum = points.entry((start_us, point.script)).or_insert(empty);
            sum.length_us = sum.length_us.max(point.length_us);
            sum.ok += point.ok;
            sum.late += point.late;
            sum.failed += point.failed;
            sum.skipped += point.skipped;
        }
    }
    points.into_values().collect()
}

fn seconds(shares: &[Share], shifts: &[i64]) -> Result<Vec<Spooled>, String> {
    let mut steps: BTreeMap<(i64, u32), Vec<&Spooled>> = BTreeMap::new();
    for (share, shift) in shares.iter().zip(shifts) {
        for second in &share.seconds {
            steps.entry((second.start_us + shift, second.script)).or_default().push(second);
        }
    }
    let sum = |((start_us, script), own): ((i64, u32), Vec<&Spooled>)| {
        let response = match own[..] {
            [only] => only.response.clone(),
            _ => {
                let decoded: Result<Vec<Histogram>, _> =
                    own.iter().map(|second| second.response.decode()).collect();
                Histogram::sum(&decoded.map_err(|error| error.to_string())?).encoded()
            }
        };
        let length_us = own.iter().map(|second| second.length_us).max().unwrap_or_default();
        Ok(Spooled { script, start_us, length_us, response })
    };
    steps.into_iter().map(sum).collect()
}

/// Slices of the same position: their clients work at the same time.
fn slices(runs: &[&Run]) -> Vec<Slice> {
    let of = |(at, first): (usize, &Slice)| {
        let own = || runs.iter().filter_map(move |run| run.slices.get(at));
        Slice {
            start_us: own().map(|slice| slice.start_us).min().unwrap_or(first.start_us),
            drain_us: own().map(|slice| slice.drain_us).max().unwrap_or(first.drain_us),
            succeeded: own().map(|slice| slice.succeeded).sum(),
            at_work_us: own().map(|slice| slice.at_work_us).sum(),
            steal_pct: own().filter_map(|slice| slice.steal_pct).reduce(f64::max),
            server_cpu_us: own().find_map(|slice| slice.server_cpu_us),
            is_void: own().any(|slice| slice.is_void),
            ..*first
        }
    };
    runs[0].slices.iter().enumerate().map(of).collect()
}

fn tiles(runs: &[&Run]) -> Vec<TileFigures> {
    let mut sums: BTreeMap<(u32, u8, u32, u32), TileFigures> = BTreeMap::new();
    for tile in runs.iter().flat_map(|run| &run.tiles) {
        let place = (tile.script, tile.z, tile.x, tile.y);
        let Some(sum) = sums.get_mut(&place) else {
            sums.insert(place, tile.clone());
            continue;
        };
        let requests = (sum.requests + tile.requests).max(1) as f64;
        let mean =
            |sum: f64, own: f64, before: u64| (sum * before as f64 + own * tile.requests as f64) / requests;
        sum.mean_us = mean(sum.mean_us, tile.mean_us, sum.requests);
        sum.bytes = mean(sum.bytes, tile.bytes, sum.requests);
        sum.max_us = sum.max_us.max(tile.max_us);
        sum.requests += tile.requests;
    }
    sums.into_values().collect()
}

/// Files that differ between the parts have the part in their names.
fn artifacts(runs: &[&Run]) -> Vec<Artifact> {
    let mut all: Vec<Artifact> = Vec::new();
    for run in runs {
        for artifact in &run.artifacts {
            match all.iter().find(|known| known.name == artifact.name) {
                None => all.push(artifact.clone()),
                Some(known) if known.bytes == artifact.bytes => {}
                Some(_) => {
                    let name = format!("{} ({})", artifact.name, words(run));
                    all.push(Artifact { name, ..artifact.clone() });
                }
            }
        }
    }
    all
}

/// What all parts have is stored once, and what only some have under their names.
fn events(shares: &[Share], shifts: &[i64]) -> Vec<RunEvent> {
    let is_in = |share: &Share, event: &RunEvent| {
        share.run.events.iter().any(|other| (&other.kind, &other.detail) == (&event.kind, &event.detail))
    };
    let runs: Vec<&Run> = shares.iter().map(|share| &share.run).collect();
    let mut all: Vec<RunEvent> = Vec::new();
    for (at, (share, shift)) in shares.iter().zip(shifts).enumerate() {
        for event in &share.run.events {
            let is_of_load = OF_THE_LOAD.contains(&event.kind.as_str());
            let is_common = shares.len() > 1 && shares.iter().all(|share| is_in(share, event));
            if at > 0 && (is_common || is_of_load) {
                continue;
            }
            let detail = match share.is_sum || is_of_load || is_common {
                true if event.kind == RunEvent::RATE => {
                    whole_rate(&runs, &event.detail).unwrap_or_else(|| event.detail.clone())
                }
                true => event.detail.clone(),
                false => format!("{}: {}", words(&share.run), event.detail),
            };
            all.push(RunEvent { time_us: event.time_us + shift, kind: event.kind.clone(), detail });
        }
    }
    all.sort_by_key(|event| event.time_us);
    all
}

/// What was watched of the server is that of the first part that watched it. Samples of the hosts of the generators
/// have the part behind the name of their source, and users are added.
fn samples(shares: &[Share], shifts: &[i64]) -> Vec<Sample> {
    let mut all: Vec<Sample> = Vec::new();
    let mut users: BTreeMap<(i64, String), Sample> = BTreeMap::new();
    let mut first: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, (share, shift)) in shares.iter().zip(shifts).enumerate() {
        for sample in &share.run.samples {
            let source = sample.source.as_str();
            let sample = Sample { time_us: sample.time_us + shift, ..sample.clone() };
            if source == OF_USERS {
                let value = sample.value;
                let place = (sample.time_us / 1_000_000, sample.name.clone());
                users.entry(place).and_modify(|sum| sum.value += value).or_insert(sample);
            } else if OF_HOSTS.contains(&source) {
                let source = format!("{source}, {}", words(&share.run));
                all.push(Sample { source, ..sample });
            } else if *first.entry(source).or_insert(at) == at {
                all.push(sample);
            }
        }
    }
    all.extend(users.into_values());
    all.sort_by_key(|sample| sample.time_us);
    all
}

#[cfg(test)]
mod tests {
    use spec::{Scope, figures};

    use super::*;
    use crate::fixture::{finished, run};

    fn share(number: u32, of: u32, tps: f64) -> Share {
        let part = RunPart {
            load: "ab".repeat(16),
            number,
            of,
            clock_offset_us: 0.0,
            clock_error_us: 1.0,
            late_us: f64::from(number) * 10.0,
        };
        let run = Run { parts: vec![part], ..run("reads", number, Some("A"), 1, tps) };
        let mut seconds = Vec::new();
        let response = finished(run.clone()).run.scripts[0].response.encoded();
        seconds.push(Spooled { script: 0, start_us: 0, length_us: 1_000_000, response });
        Share {
            seconds,
            validity: vec![run.validity],
            is_sum: false,
            run: Run { factors: Default::default(), ..run },
        }
    }

    #[test]
    fn counts_histograms_and_seconds_are_added() {
        let (whole, seconds) = sum("u", vec![share(2, 2, 500.0), share(1, 2, 1000.0)]).unwrap();
        assert_eq!(
            (whole.uuid.as_str(), whole.clients, whole.threads, whole.validity),
            ("u", 3, 2, Validity::Valid)
        );
        assert_eq!(
            (whole.count(figures::OK), whole.count(figures::ROWS), whole.tps()),
            (1500, 1500, Some(1500.0))
        );
        let script = &whole.scripts[0];
        assert_eq!((script.counts.count(figures::DUE), script.response.count()), (1500, 1500));
        let parts = [share(1, 2, 1000.0), share(2, 2, 500.0)].map(|share| share.run.response());
        assert_eq!(script.response.sum_ns(), parts.iter().map(Histogram::sum_ns).sum::<u128>());
        assert_eq!(script.response.encode(), Histogram::sum(&parts).encode(), "exactly");
        let [second] = &seconds[..] else { panic!("one second") };
        assert_eq!((second.response.count, second.response.decode().unwrap().count()), (1500, 1500));
        assert_eq!(
            whole.series.iter().map(|point| (point.start_us, point.ok)).collect::<Vec<_>>(),
            [(0, 1500)]
        );
        assert_eq!(whole.parts.iter().map(|part| part.number).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn seconds_of_a_late_part_are_aligned() {
        let mut late = share(2, 2, 500.0);
        late.run.parts[0].late_us = 2_100_000.0;
        let (whole, seconds) = sum("u", vec![share(1, 2, 1000.0), late]).unwrap();
        let points: Vec<_> = whole.series.iter().map(|point| (point.start_us, point.ok)).collect();
        assert_eq!(points, [(0, 1000), (2_000_000, 500)]);
        assert_eq!(seconds.iter().map(|second| second.start_us).collect::<Vec<_>>(), [0, 2_000_000]);
    }

    #[test]
    fn impossible_figures_of_a_damaged_file_are_refused() {
        let refused = |change: fn(&mut Run)| {
            let mut damaged = share(2, 2, 500.0);
            change(&mut damaged.run);
            sum("u", vec![share(1, 2, 1000.0), damaged]).unwrap_err()
        };
        let endless = refused(|run| run.measured_s = f64::INFINITY);
        assert_eq!(endless, "part 2 of 2: a measured part of inf s cannot be");
        let many =
            refused(|run| run.counts = [(figures::OK.name.to_owned(), u64::MAX)].into_iter().collect());
        assert!(many.ends_with(" ok cannot be"), "{many}");
    }

    #[test]
    fn a_missing_part_makes_the_run_invalid_until_it_is_there() {
        let mut suspect = share(1, 3, 1000.0);
        suspect.validity = vec![Validity::Suspect];
        suspect.run.doubts = vec![Doubt { reason: Reason::Steal, detail: "3 %".into() }];
        let (whole, seconds) = sum("u", vec![suspect, share(2, 3, 500.0)]).unwrap();
        let details = |run: &Run| run.doubts.iter().map(|doubt| doubt.detail.clone()).collect::<Vec<_>>();
        assert_eq!(whole.validity, Validity::Invalid);
        assert_eq!(details(&whole), ["part 3 of 3 is missing", "part 1 of 3: 3 %"]);
        let validity = vec![Validity::Suspect, Validity::Valid];
        let some = Share { run: whole, seconds, validity, is_sum: true };
        let (whole, _) = sum("u", vec![share(3, 3, 200.0), some]).unwrap();
        assert_eq!((whole.validity, whole.count(figures::OK)), (Validity::Suspect, 1700));
        assert_eq!(details(&whole), ["part 1 of 3: 3 %"]);
    }

    #[test]
    fn an_invalid_part_makes_the_run_invalid_under_its_name() {
        let mut failed = share(2, 2, 500.0);
        failed.validity = vec![Validity::Invalid];
        failed.run.doubts = vec![Doubt { reason: Reason::Errors, detail: "a client gave up".into() }];
        let (whole, _) = sum("u", vec![share(1, 2, 1000.0), failed]).unwrap();
        assert_eq!(
            (whole.validity, whole.doubts[0].detail.as_str()),
            (Validity::Invalid, "part 2 of 2: a client gave up")
        );
    }

    #[test]
    fn samples_of_the_server_are_taken_once_and_those_of_hosts_kept_apart() {
        let sample = |source: &str, value| Sample {
            scope: Scope::Run,
            source: source.into(),
            name: "x".into(),
            time_us: 1_000_000,
            value,
        };
        let with = |number, value: f64| {
            let mut share = share(number, 2, 100.0);
            share.run.samples = ["host", "postgres", "users"].map(|source| sample(source, value)).into();
            share
        };
        let (whole, _) = sum("u", vec![with(1, 5.0), with(2, 7.0)]).unwrap();
        let seen: Vec<_> =
            whole.samples.iter().map(|sample| (sample.source.as_str(), sample.value)).collect();
        let wanted =
            [("host, part 1 of 2", 5.0), ("postgres", 5.0), ("host, part 2 of 2", 7.0), ("users", 12.0)];
        assert_eq!(seen, wanted);
    }

    #[test]
    fn what_all_parts_say_is_said_once() {
        let event =
            |kind: &str, detail: &str| RunEvent { time_us: 0, kind: kind.into(), detail: detail.into() };
        let with = |number, own: &str| {
            let mut share = share(number, 2, 100.0);
            share.run.events =
                vec![event("notice", "both"), event(RunEvent::ABORT, own), event(RunEvent::RATE, "20")];
            share.run.offered_rate = Some(20.0 * f64::from(number));
            share
        };
        let (whole, _) = sum("u", vec![with(1, "a"), with(2, "b")]).unwrap();
        let details: Vec<&str> = whole.events.iter().map(|event| event.detail.as_str()).collect();
        assert_eq!(details, ["both", "part 1 of 2: a", "60", "part 2 of 2: b"]);
        assert_eq!(whole.offered_rate, Some(60.0));
    }

    #[test]
    fn tiles_are_added_by_place() {
        let with = |number, requests, mean_us| {
            let mut share = share(number, 2, 100.0);
            let place =
                TileFigures { script: 0, z: 1, x: 0, y: 1, requests, mean_us, max_us: mean_us, bytes: 10.0 };
            share.run.tiles = vec![place];
            share
        };
        let (whole, _) = sum("u", vec![with(1, 1, 10.0), with(2, 3, 30.0)]).unwrap();
        let tile = &whole.tiles[0];
        assert_eq!((tile.requests, tile.mean_us, tile.max_us, tile.bytes), (4, 25.0, 30.0, 10.0));
    }

    #[test]
    fn runs_of_other_cells_are_refused() {
        let mut other = share(2, 2, 500.0);
        other.run.round = 9;
        let refused = sum("u", vec![share(1, 2, 1000.0), other]).unwrap_err();
        assert_eq!(refused, "part 1 of 2 and part 2 of 2 of one load have not the same cell, arm or round");
    }
}
