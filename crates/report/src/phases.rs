//! Phases of jobs: single times for programs, and as means over rounds, for people.

use results::comparison::Cell;
use results::{CellValue, Table};
use spec::{Phase, PhaseSource, Run, RunKind, Validity};

use crate::block::Block;
use crate::numbers::{self, real_cell};
use results::ReportData;
use results::data::{cell_text, levels};

/// Cells next to each other, at most; more are listed below each other.
pub(crate) const MOST_ACROSS: usize = 4;

/// Duration of a phase in milliseconds. A program that reports whole seconds does not show phases below
/// one.
fn took(phase: &Phase) -> String {
    match (phase.source, phase.duration_us) {
        (PhaseSource::Reported, 0) => "under 1 s".to_owned(),
        (_, us) => numbers::milliseconds(us),
    }
}

/// Phases of all jobs in milliseconds.
#[must_use]
pub fn phases(data: &ReportData) -> Table {
    phases_of(data.jobs())
}

pub(crate) fn phases_of<'r>(jobs: impl IntoIterator<Item = &'r Run>) -> Table {
    let mut table = Table::new([
        "job",
        "cell",
        "arm",
        "round",
        "phase",
        "item",
        "start_ms",
        "duration_ms",
        "count",
        "source",
        "count_per_s",
    ]);
    table.optional(["cell", "arm", "round"]);
    table.hide(["count_per_s"]);
    for job in jobs {
        for phase in &job.phases {
            let ms = real_cell(Some(phase.duration_us as f64 / 1e3));
            let is_short = phase.source == PhaseSource::Reported && phase.duration_us == 0;
            let seconds = phase.duration_us as f64 / 1e6;
            let rate = phase.count.filter(|_| seconds > 0.0).map(|count| count as f64 / seconds);
            table.push([
                (&job.workload).into(),
                Some(levels(&Cell::of(job))).filter(|levels| !levels.is_empty()).into(),
                job.arm.clone().into(),
                job.is_measured().then_some(u64::from(job.round)).into(),
                (&phase.name).into(),
                (&phase.item).into(),
                real_cell(Some(phase.start_us as f64 / 1e3)),
                if is_short { CellValue::worded(ms, took(phase), "") } else { ms },
                phase.count.into(),
                phase.source.name().into(),
                real_cell(rate),
            ]);
        }
    }
    table
}

struct PhaseGroup<'r> {
    cell: Cell,
    arm: Option<&'r str>,
    runs: Vec<&'r Run>,
}

impl PhaseGroup<'_> {
    fn label(&self) -> String {
        let parts = [self.arm.unwrap_or_default().to_owned(), levels(&self.cell)];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        if parts.is_empty() { cell_text(&self.cell) } else { parts.join(", ") }
    }

    /// Mean over its runs with the 95 % interval, milliseconds.
    fn took(&self, (name, item): (&str, &str)) -> String {
        let is_it = |phase: &&Phase| phase.name == name && phase.item == item;
        let each_run = self.runs.iter().map(|run| run.phases.iter().filter(is_it).collect());
        let found: Vec<Vec<&Phase>> = each_run.filter(|own: &Vec<&Phase>| !own.is_empty()).collect();
        let is_timed = |phase: &&Phase| phase.source != PhaseSource::Reported || phase.duration_us > 0;
        if !found.iter().flatten().any(is_timed) {
            return found.first().map_or(numbers::ABSENT.to_owned(), |own| took(own[0]));
        }
        let ms = |own: &Vec<&Phase>| own.iter().map(|phase| phase.duration_us as f64 / 1e3).sum();
        let each: Vec<f64> = found.iter().map(ms).collect();
        match stats::mean_with_interval(&each) {
            Some((mean, Some((low, high)))) => {
                let ms = numbers::figure_text;
                format!("{} [{}, {}]", ms(mean), ms(low.max(0.0)), ms(high))
            }
            Some((mean, None)) => numbers::figure_text(mean),
            None => numbers::ABSENT.to_owned(),
        }
    }
}

/// Phases of each job as means over its rounds, for people.
#[must_use]
pub fn phases_in_words(data: &ReportData) -> Vec<Block> {
    let mut workloads: Vec<(&str, Vec<PhaseGroup<'_>>)> = Vec::new();
    let prepared = data.jobs().filter(|job| !job.is_measured());
    let counted = prepared.chain(data.grid_runs().filter(|run| run.kind == RunKind::Job));
    for job in counted.filter(|job| !job.phases.is_empty() && job.validity != Validity::Invalid) {
        let at = workloads.iter().position(|(name, _)| *name == job.workload).unwrap_or_else(|| {
            workloads.push((&job.workload, Vec::new()));
            workloads.len() - 1
        });
        let (groups, cell) = (&mut workloads[at].1, Cell::of(job));
        match groups.iter_mut().find(|group| group.cell == cell && group.arm == job.arm.as_deref()) {
            Some(group) => group.runs.push(job),
            None => groups.push(PhaseGroup { cell, arm: job.arm.as_deref(), runs: vec![job] }),
        }
    }
    let words = |(workload, groups): (&str, Vec<PhaseGroup<'_>>)| {
        let rounds = groups.iter().map(|group| group.runs.len()).max().unwrap_or(0);
        let what = match rounds {
            1 => "phases in milliseconds",
            _ => "phases in milliseconds: means over rounds [95 %], invalid runs left out",
        };
        laid_out(&format!("{workload}: {what}"), &groups).into()
    };
    workloads.into_iter().map(words).collect()
}

/// A row for each phase, a column for each group; more groups than fit are listed below each other.
fn laid_out(caption: &str, groups: &[PhaseGroup<'_>]) -> Table {
    let mut known: Vec<(&str, &str)> = Vec::new();
    for phase in groups.iter().flat_map(|group| &group.runs).flat_map(|run| &run.phases) {
        if !known.contains(&(&phase.name, &phase.item)) {
            known.push((&phase.name, &phase.item));
        }
    }
    let labels: Vec<String> = groups.iter().map(PhaseGroup::label).collect();
    let across = groups.len() <= MOST_ACROSS;
    let table = Table::captioned(caption).named(["phase", "item"]);
    let mut table = if across { table.named(labels.iter()) } else { table.named(["cell", "took"]) };
    for phase in known {
        let named: [CellValue; 2] = [phase.0.into(), phase.1.into()];
        let each = || groups.iter().map(|group| group.took(phase));
        if across {
            table.push(named.into_iter().chain(each().map(CellValue::from)));
            continue;
        }
        for (label, took) in labels.iter().zip(each()) {
            let own = [label.clone().into(), took.into()];
            table.push(named.iter().cloned().chain(own));
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use spec::RunKey;

    use super::*;

    fn job(arm: &str, round: u32, phases: &[(&str, &str, u64, PhaseSource)]) -> Run {
        let key = RunKey { workload: "import".into(), factors: [].into(), arm: Some(arm.into()), round };
        let phase = |(name, item, duration_us, source): &(&str, &str, u64, PhaseSource)| Phase {
            name: (*name).to_owned(),
            item: (*item).to_owned(),
            start_us: 0,
            duration_us: *duration_us,
            count: None,
            source: *source,
        };
        Run { phases: phases.iter().map(phase).collect(), ..Run::new(RunKind::Job, key) }
    }

    #[test]
    fn phases_are_means_over_rounds_and_whole_seconds_hide_the_short_ones() {
        use PhaseSource::{Reported, Stamped};
        let runs = [
            job("a", 1, &[("node", "", 1_000_000, Stamped), ("index", "point", 0, Reported)]),
            job("a", 2, &[("node", "", 3_000_000, Stamped), ("index", "point", 0, Reported)]),
            job("b", 1, &[("node", "", 500_000, Stamped)]),
        ];
        let group = |arm: &'static str| PhaseGroup {
            cell: Cell::of(&runs[0]),
            arm: Some(arm),
            runs: runs.iter().filter(|run| run.arm.as_deref() == Some(arm)).collect(),
        };
        let groups = [group("a"), group("b")];
        assert!(groups[0].took(("node", "")).starts_with("2,000 ["), "{}", groups[0].took(("node", "")));
        assert_eq!(groups[1].took(("node", "")), "500");
        assert_eq!(groups[0].took(("index", "point")), "under 1 s");
        assert_eq!(groups[1].took(("index", "point")), numbers::ABSENT);
        let table = laid_out("", &groups);
        assert_eq!((table.columns.len(), table.rows.len()), (4, 2));
    }
}
