//! The time of a load that no line of its log explains, as phases of that name, so that a load's phases cover
//! all of its time.

use std::collections::BTreeMap;

use spec::Phase;

use super::stamped;

const UNEXPLAINED: &str = "unexplained";

/// Adds the gaps up to the load's end, and sorts by time; what is within another phase comes after it.
pub(super) fn filled(mut phases: Vec<Phase>, length_us: u64) -> Vec<Phase> {
    sort(&mut phases);
    let mut gaps = Vec::new();
    let (mut until_us, mut last) = (0, "the start".to_owned());
    for phase in &phases {
        if phase.start_us > until_us {
            gaps.push(gap(&last, until_us, phase.start_us.min(length_us)));
        }
        let end_us = phase.start_us.saturating_add(phase.duration_us);
        if end_us >= until_us {
            last = format!("{} {}", phase.name, phase.item);
            until_us = end_us;
        }
    }
    gaps.push(gap(&last, until_us, length_us));
    phases.extend(gaps.into_iter().filter(|gap| gap.duration_us > 0));
    sort(&mut phases);
    number_repeats(&mut phases);
    phases
}

fn gap(behind: &str, start_us: u64, end_us: u64) -> Phase {
    stamped(UNEXPLAINED, &format!("after {}", behind.trim_end()), start_us, end_us, None)
}

fn sort(phases: &mut [Phase]) {
    phases.sort_by_key(|phase| phase.start_us);
}

/// The same step a second time is another phase, such as an index that both stages make.
fn number_repeats(phases: &mut [Phase]) {
    let mut seen: BTreeMap<(String, String), u32> = BTreeMap::new();
    for phase in phases {
        let times = seen.entry((phase.name.clone(), phase.item.clone())).or_default();
        *times += 1;
        if *times > 1 {
            let again = match *times {
                2 => "2nd time".to_owned(),
                3 => "3rd time".to_owned(),
                times => format!("{times}th time"),
            };
            phase.item = format!("{} ({again})", phase.item).trim_start().to_owned();
        }
    }
}
