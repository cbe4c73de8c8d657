//! Phases of jobs.

use results::{Table, Value};

use super::real;
use crate::data::ReportData;

/// Phases of all jobs in milliseconds.
#[must_use]
pub fn phases(data: &ReportData) -> Table {
    let mut table = Table::new(&["job", "phase", "item", "start_ms", "duration_ms", "count", "source"]);
    for job in data.jobs() {
        for phase in &job.phases {
            table.push(vec![
                job.workload.clone().into(),
                phase.name.clone().into(),
                phase.item.clone().into(),
                real(Some(phase.start_us as f64 / 1e3)),
                real(Some(phase.duration_us as f64 / 1e3)),
                phase.count.map_or(Value::Null, Value::from),
                phase.source.name().into(),
            ]);
        }
    }
    table
}
