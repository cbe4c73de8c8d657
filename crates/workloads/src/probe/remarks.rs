//! Remarks for the reader of the figures.

use super::check::ServerState;
use super::facts::{HostFacts, Ticks};
use super::figures::{COMMIT, COMMIT_ASYNC, CPU_ALL, CPU_ONE};
use super::record::{ProbeFact, ProbedFigure};

/// A disk that stores a record faster than this has kept it in a cache.
const TOO_FAST_US: f64 = 40.0;
/// On an otherwise idle host, most shots of one backend's fixed work lie within this factor.
const APART: f64 = 1.5;
/// Steal, percent, from which on figures suffer.
const STEAL_PCT: f64 = 2.0;

/// Other sessions and load before the probe.
pub(super) fn busy(server: &ServerState, host: &HostFacts) -> Vec<String> {
    let mut remarks = Vec::new();
    if server.active > 0 {
        remarks.push(format!(
            "{} at work on the server when the probe began: its figures are what they left",
            match server.active {
                1 => "another backend was".to_owned(),
                more => format!("{more} other backends were"),
            }
        ));
    }
    if let (Some(load), Some(cpus)) = (host.load, host.cpus)
        && load > f64::from(cpus) / 2.0
    {
        remarks.push(format!(
            "the host had a load of {load} on {} when the probe began: an idle one may be worth more",
            spec::count(cpus.into(), "CPU")
        ));
    }
    remarks
}

/// The steal during the probe, with a remark.
pub(super) fn steal(
    before: Result<Ticks, String>,
    after: Result<Ticks, String>,
) -> (ProbeFact, Option<String>) {
    const NAME: &str = "steal";
    match (before, after) {
        (Ok(before), Ok(after)) => match after.steal_pct_since(before) {
            Some(pct) => {
                let remark = format!(
                    "the hypervisor took {pct:.1} % of the CPUs meanwhile: the same machine can be worth more, or less"
                );
                (
                    ProbeFact::known(NAME, format!("{pct:.1} % during the probe")),
                    (pct >= STEAL_PCT).then_some(remark),
                )
            }
            None => (ProbeFact::unknown(NAME, "no time passed"), None),
        },
        (Err(why), _) | (_, Err(why)) => (ProbeFact::unknown(NAME, why), None),
    }
}

/// The part of a commit spent waiting for the disk.
pub(super) fn flush(found: &mut [ProbedFigure]) {
    let median = |name: &str| Some(found.iter().find(|found| found.name == name)?.spread()?.median);
    let Some((waited, not)) = median(COMMIT).zip(median(COMMIT_ASYNC)) else { return };
    let detail = match waited - not {
        us if us <= 0.0 => "none of it is waiting for the disk".to_owned(),
        us if us < 1000.0 => format!("{us:.0} µs of it waiting for the disk"),
        us => format!("{:.2} ms of it waiting for the disk", us / 1000.0),
    };
    found.iter_mut().filter(|found| found.name == COMMIT).for_each(|found| found.detail.clone_from(&detail));
}

/// Doubts from the figures themselves, or from settings.
pub(super) fn doubtful(found: &[ProbedFigure], facts: &[ProbeFact]) -> Vec<String> {
    let set = |name: &str| facts.iter().find(|fact| fact.name == name)?.value.as_deref().ok();
    let median = |name: &str| found.iter().find(|found| found.name == name)?.spread();
    let mut remarks = Vec::new();
    let commits = median(COMMIT).zip(median(COMMIT_ASYNC));
    if set("fsync") == Some("off") {
        remarks.push(
            "fsync is off: commits reach no disk, and a crash of the host may lose the whole database"
                .to_owned(),
        );
    } else if let Some((waited, not)) = commits
        && waited.median - not.median < TOO_FAST_US
    {
        remarks.push(format!(
            "a commit waits {:.0} µs for the disk, less than writing to one takes: a cache that keeps its power, or a \
             (virtual) disk that says it has written when it has not; only pulling the plug tells which",
            (waited.median - not.median).max(0.0)
        ));
    }
    let (one, all) = (median(CPU_ONE), median(CPU_ALL));
    if let Some(one) = one.filter(|one| one.shots >= 5 && one.high > one.low * APART) {
        remarks.push(format!(
            "the same work took a backend {:.1} times as long in one moment as in another: others, or a throttle, took CPU \
             time meanwhile; probe again, at several hours",
            one.high / one.low
        ));
    } else if let Some((one, all)) = one.zip(all)
        && all.median < one.median * 0.9
    {
        remarks.push(
            "all backends together computed less than one alone: others took CPU time meanwhile".to_owned(),
        );
    }
    if let (Some(standbys), Some(_)) = (set("synchronous_standby_names"), commits) {
        remarks.push(format!(
            "commits wait for standbys as well as for the disk: synchronous_standby_names = {standbys}"
        ));
    }
    if set("server").is_some_and(|version| version.contains("Alpine") || version.contains("musl")) {
        remarks.push(
            "the server is built with musl, whose memcmp is slow: its memory figures cannot be compared with others"
                .to_owned(),
        );
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::super::check::Writes;
    use super::super::figures::figure;
    use super::super::shots::Shot;
    use super::*;

    #[test]
    fn others_at_work_are_named() {
        let server = |active| ServerState {
            writes: Writes::All,
            block_bytes: 8192,
            shared_buffers_bytes: 1,
            free_connections: 1,
            active,
        };
        let host = |load| HostFacts { cpus: Some(2), load: Some(load), ..HostFacts::default() };
        assert_eq!(busy(&server(0), &host(1.0)), [""; 0]);
        let remarks = busy(&server(1), &host(1.5));
        assert!(remarks[0].starts_with("another backend was at work"), "{remarks:?}");
        assert!(remarks[1].starts_with("the host had a load of 1.5 on 2 CPUs"), "{remarks:?}");
    }

    #[test]
    fn work_that_takes_longer_now_and_then_is_doubted() {
        let shots = |all: &[f64]| all.iter().map(|us| Shot { at_us: 0, us: *us }).collect::<Vec<_>>();
        let of = |name, all: &[f64]| ProbedFigure::new(figure(name), (0, &shots(all)), |us| 1.0 / us, "");
        let steady = [10.0, 10.5, 11.0, 10.0, 12.0];
        let cases: [([f64; 5], [f64; 5], Option<&str>); 3] = [
            (steady, [5.0, 5.0, 5.5, 5.0, 6.0], None),
            (steady, [20.0; 5], Some("all backends together computed less")),
            (
                [10.0, 10.0, 10.0, 10.0, 40.0],
                [5.0; 5],
                Some("the same work took a backend 4.0 times as long"),
            ),
        ];
        for (one, all, wanted) in cases {
            let remarks = doubtful(&[of(CPU_ONE, &one), of(CPU_ALL, &all)], &[]);
            let remarks = remarks.first().map(String::as_str);
            assert!(
                remarks.is_some() == wanted.is_some()
                    && remarks.unwrap_or("").starts_with(wanted.unwrap_or("")),
                "{remarks:?}"
            );
        }
    }

    #[test]
    fn a_commit_says_what_of_it_is_waiting() {
        let of = |name, us| ProbedFigure::new(figure(name), (0, &[Shot { at_us: 0, us }; 5]), |us| us, "");
        for (waited, wanted) in [
            (900.0, "880 µs of it waiting for the disk"),
            (3020.0, "3.00 ms of it waiting for the disk"),
            (10.0, "none of it is waiting for the disk"),
        ] {
            let mut found = [of(COMMIT, waited), of(COMMIT_ASYNC, 20.0)];
            flush(&mut found);
            assert_eq!((found[0].detail.as_str(), found[1].detail.as_str()), (wanted, ""));
        }
    }

    #[test]
    fn disks_that_do_not_wait_are_doubted() {
        let of = |name, us| ProbedFigure::new(figure(name), (0, &[Shot { at_us: 0, us }; 5]), |us| us, "");
        let found = |sync| [of(COMMIT, sync), of(COMMIT_ASYNC, 20.0)];
        let fact = |name, value| ProbeFact::known(name, value);
        let cases: [(f64, Vec<ProbeFact>, &[&str]); 4] = [
            (900.0, vec![], &[]),
            (50.0, vec![], &["a commit waits 30 µs for the disk, less than"]),
            (20.0, vec![fact("fsync", "off")], &["fsync is off"]),
            (
                900.0,
                vec![fact("synchronous_standby_names", "b"), fact("server", "PostgreSQL 17 (Alpine 13)")],
                &["commits wait for standbys", "the server is built with musl"],
            ),
        ];
        for (sync, facts, wanted) in cases {
            let remarks = doubtful(&found(sync), &facts);
            assert_eq!(remarks.len(), wanted.len(), "{remarks:?}");
            assert!(
                remarks.iter().zip(wanted).all(|(remark, wanted)| remark.starts_with(wanted)),
                "{remarks:?}"
            );
        }
    }
}
