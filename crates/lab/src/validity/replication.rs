//! Whether the replicas of a run followed their primary.

use spec::{Doubt, Reason, Run, RunEvent, Validity};

use super::worst;
use crate::collectors::{ReplicaSeen, Replication};

/// Adds to a judged run what its replicas did, and why their lag is not known.
pub(crate) fn mark(run: &mut Run, replication: &Replication) {
    for (number, seen) in (1..).zip(&replication.replicas) {
        for (validity, reason, detail) in findings(number, seen) {
            run.validity = worst([run.validity, validity].into_iter());
            run.doubts.push(Doubt { reason, detail });
        }
    }
    let remark =
        |detail: &String| RunEvent { time_us: 0, kind: RunEvent::REMARK.to_owned(), detail: detail.clone() };
    run.events.extend(replication.not_available.iter().map(remark));
}

fn findings(number: u32, seen: &ReplicaSeen) -> Vec<(Validity, Reason, String)> {
    if seen.promoted {
        let detail = format!(
            "replica {number} was promoted: it takes writes, and does not have what was written to the primary since"
        );
        return vec![(Validity::Invalid, Reason::ReplicaPromoted, detail)];
    }
    let why = seen.complaint.as_ref().map(|why| format!("; its log: {why}")).unwrap_or_default();
    if let Some(error) = &seen.silent {
        let detail = format!("replica {number} did not answer when the load had ended: {error}{why}");
        return vec![(Validity::Invalid, Reason::ReplicaLost, detail)];
    }
    if seen.gone {
        let detail =
            format!("the primary did not send WAL to replica {number} any more when the load had ended{why}");
        return vec![(Validity::Invalid, Reason::ReplicaLost, detail)];
    }
    let mut found = Vec::new();
    if seen.missed > 0 {
        let detail = format!(
            "the primary did not send WAL to replica {number} at {} of {} looks{why}",
            seen.missed, seen.looks
        );
        found.push((Validity::Suspect, Reason::ReplicaLost, detail));
    }
    if let Some(bytes) = seen.falls_behind() {
        let detail = format!(
            "replica {number} replays more slowly than the primary writes: it was further behind at each look, {} at the end",
            spec::bytes(bytes as u64)
        );
        found.push((Validity::Suspect, Reason::ReplicaBehind, detail));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happened_to_a_replica_has_a_name() {
        let growing: Vec<f64> = (0..9).map(|step| f64::from(step) * 2e7).collect();
        let complaint = Some("requested WAL segment has already been removed".to_owned());
        let cases = [
            (ReplicaSeen { looks: 9, ..ReplicaSeen::default() }, None),
            (
                ReplicaSeen { promoted: true, gone: true, ..ReplicaSeen::default() },
                Some(Reason::ReplicaPromoted),
            ),
            (ReplicaSeen { gone: true, complaint, ..ReplicaSeen::default() }, Some(Reason::ReplicaLost)),
            (
                ReplicaSeen { silent: Some("refused".into()), ..ReplicaSeen::default() },
                Some(Reason::ReplicaLost),
            ),
            (ReplicaSeen { missed: 2, looks: 9, ..ReplicaSeen::default() }, Some(Reason::ReplicaLost)),
            (ReplicaSeen { behind: growing, ..ReplicaSeen::default() }, Some(Reason::ReplicaBehind)),
        ];
        for (seen, wanted) in cases {
            let found = findings(2, &seen);
            assert_eq!(found.first().map(|(_, reason, _)| *reason), wanted, "{seen:?}");
            assert!(found.iter().all(|(_, _, detail)| detail.contains("replica 2")), "{found:?}");
        }
    }
}
