//! Where phases may have been in a log without times: osm2pgsql tells only how long they took.

use spec::{Phase, PhaseSource};

use super::event::OBJECTS;

/// Places the phases with a length. Nodes, ways and relations are read in this order, then pending ones
/// follow. Then threads work on tables at once, and the last of them to end ends the load.
pub(super) fn placed(phases: Vec<Phase>, length_us: Option<u64>) -> Vec<Phase> {
    let (mut tables, mut others): (Vec<Phase>, Vec<Phase>) =
        phases.into_iter().filter(|phase| phase.source == PhaseSource::Reported).partition(is_table);
    let mut end_us = 0;
    let mut read_us = 0;
    for phase in &mut others {
        if phase.name == "read" {
            (phase.start_us, read_us) = (0, phase.duration_us);
            continue;
        }
        if !OBJECTS.contains(&phase.name.as_str()) {
            end_us = end_us.max(read_us);
        }
        phase.start_us = end_us;
        end_us = phase.start_us.saturating_add(phase.duration_us);
    }
    let begin_us = end_us.max(read_us);
    let all_us = tables.iter().fold(0u64, |sum, table| sum.saturating_add(table.duration_us));
    let longest_us = tables.iter().map(|table| table.duration_us).max().unwrap_or(0);
    let left_us = length_us.map_or(longest_us, |length| length.saturating_sub(begin_us));
    let mut until_us = begin_us.saturating_add(left_us.clamp(longest_us, all_us.max(longest_us)));
    for table in tables.iter_mut().rev() {
        table.start_us = until_us.saturating_sub(table.duration_us).max(begin_us);
        until_us = table.start_us;
    }
    others.append(&mut tables);
    others
}

fn is_table(phase: &Phase) -> bool {
    phase.name == "table"
}
