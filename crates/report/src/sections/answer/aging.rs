//! What changes with the age of sessions, as text.

use results::aging::Aging;
use results::answer::LineScope;
use results::comparison::Metric;
use results::data::cell_text;
use spec::AgingQuantity;

use super::AnswerBlocks;
use crate::block::{Block, Paragraph};
use crate::numbers;

/// The claimed changes of one cell and arm.
struct OfArm<'a> {
    /// Of speed: CPU first, which a busy host disturbs less.
    speed: Vec<&'a Aging>,
    memory: Option<&'a Aging>,
    /// All that was tested of the cell and arm.
    all: Vec<&'a Aging>,
}

impl AnswerBlocks<'_> {
    /// A notice for each cell and arm in which something changes with the age of sessions.
    pub(super) fn aging(&self) -> Vec<Block> {
        let said = sentences(self.data.base().unwrap_or_default(), &self.answer.aging);
        // A host that is mostly disturbed changes figures over time, too.
        let doubt = self.answer.lines.iter().find_map(|line| line.suspect);
        let doubt = doubt.map(|doubt| format!(" Doubtful: {}.", doubt.words())).unwrap_or_default();
        said.into_iter()
            .map(|(head, rest)| Paragraph::new("notice").strong(head).plain(format!("{rest}{doubt}")).into())
            .collect()
    }

    /// That sessions were kept, which limits what the answer is about; `None` otherwise.
    pub(super) fn kept_sessions(&self) -> Option<Block> {
        self.are_sessions_kept().then(|| {
            Block::remark(
                "Sessions were kept over the rounds, on one start of each server: what a start happens to do to an arm, such as \
                 where its memory lies, is in the change and not in its interval (--keep-sessions false starts servers in each \
                 round).",
            )
        })
    }

    /// Whether servers and sessions were kept over the rounds.
    pub(crate) fn are_sessions_kept(&self) -> bool {
        self.answer.aging.iter().any(|own| own.is_kept)
    }

    /// `; the mean depends on the length of a session: -1.2 % at 2.5 s of age, -58 % at 12 s`: for a line whose speed
    /// changes with the age of sessions.
    pub(super) fn depends_on_age(&self, metric: Metric, arm: &str, scope: &LineScope) -> Option<String> {
        let quantity = match metric {
            Metric::Tps => AgingQuantity::Throughput,
            Metric::Cpu => AgingQuantity::Cpu,
            Metric::P50 | Metric::P95 | Metric::P99 => return None,
        };
        let of_line = |own: &&Aging| own.arm == arm && scope.has(&own.cell);
        let mut cells: Vec<&Aging> = self.answer.aging.iter().filter(of_line).collect();
        let changes = |own: &&Aging| own.is_claimed && own.quantity != AgingQuantity::Memory;
        if !cells.iter().any(changes) {
            return None;
        }
        let head = "; the mean depends on the length of a session";
        cells.retain(|own| own.quantity == quantity);
        let [own] = cells[..] else { return Some(format!("{head}, see below")) };
        let (first, last) = own.against_base_pct()?;
        Some(format!(
            "{head}: {} at {} of age, {} at {}",
            numbers::change(first),
            numbers::duration(own.own.first_age_s),
            numbers::change(last),
            numbers::duration(own.own.last_age_s)
        ))
    }
}

/// What changes, by cell and arm: the finding, and its figures.
pub(crate) fn sentences(base: &str, aging: &[Aging]) -> Vec<(String, String)> {
    let several = aging.iter().any(|own| own.cell != aging[0].cell);
    let mut said = Vec::new();
    for of in aging.chunk_by(|one, next| one.cell == next.cell && one.arm == next.arm) {
        let claimed = |own: &&Aging| own.is_claimed;
        let of_speed = |quantity| of.iter().filter(claimed).find(|own| own.quantity == quantity);
        let speed = [AgingQuantity::Cpu, AgingQuantity::Throughput].into_iter().filter_map(of_speed);
        let found = OfArm {
            speed: speed.collect(),
            memory: of_speed(AgingQuantity::Memory),
            all: of.iter().collect(),
        };
        let cell = if several { format!("{}: ", cell_text(&of[0].cell)) } else { String::new() };
        for (head, rest) in found.speed_words(base).into_iter().chain(found.memory_words(base)) {
            said.push((format!("{cell}{head}"), format!("{rest}{}.", found.data_words())));
        }
    }
    said
}

impl OfArm<'_> {
    fn speed_words(&self, base: &str) -> Option<(String, String)> {
        let main = *self.speed.first()?;
        let arm = &main.arm;
        let head = match (main.is_worse(), main.changes_itself()) {
            (true, true) => format!("{arm} slows with the session's age"),
            (false, true) => format!("{arm} becomes faster with the session's age"),
            (true, false) => format!("{arm} falls behind {base} with the session's age"),
            (false, false) => format!("{arm} gains on {base} with the session's age"),
        };
        let other = self.all.iter().find(|own| {
            own.quantity != main.quantity
                && matches!(own.quantity, AgingQuantity::Cpu | AgingQuantity::Throughput)
        });
        let other = other.map(|own| format!(" ({})", short(own, false))).unwrap_or_default();
        let mut rest = format!(": {} in {}{other}", short(main, false), numbers::duration(main.own.span_s()));
        if main.of_base.is_some() {
            rest += &format!("; {base} {}", short(main, true));
        }
        Some((head, rest))
    }

    fn memory_words(&self, base: &str) -> Option<(String, String)> {
        let main = self.memory?;
        let per_s = (main.own.last - main.own.first) / main.own.span_s();
        let head = match (main.is_worse(), main.changes_itself()) {
            (true, true) => format!("{}: its backends grow by {} a second at work", main.arm, bytes(per_s)),
            (false, true) => {
                format!("{}: its backends shrink by {} a second at work", main.arm, bytes(-per_s))
            }
            (true, false) => format!("{}: its backends shrink less than those of {base}", main.arm),
            (false, false) => format!("{}: its backends grow less than those of {base}", main.arm),
        };
        let mut rest = format!(
            ": {} in {} ({})",
            short(main, false),
            numbers::duration(main.own.span_s()),
            numbers::counted(main.clients as usize, "session")
        );
        if main.of_base.is_some() {
            rest += &format!("; {base} {}", short(main, true));
        }
        Some((head, rest))
    }

    fn data_words(&self) -> &'static str {
        let changes = self.all.iter().any(|own| own.changes_data);
        if changes { "; the workload changes its data, so the age of the data may be the reason" } else { "" }
    }
}

/// `25.1 → 98.4 µs of CPU per transaction`; of the base without the noun.
fn short(own: &Aging, of_base: bool) -> String {
    let Some(ends) = (if of_base { own.of_base } else { Some(own.own) }) else { return String::new() };
    let figures = match own.quantity {
        AgingQuantity::Throughput => format!("{} → {}", numbers::tps(ends.first), numbers::tps(ends.last)),
        AgingQuantity::Cpu => {
            format!("{} → {}", numbers::latency_us(ends.first), numbers::latency_us(ends.last))
        }
        AgingQuantity::Memory => format!("{} → {}", bytes(ends.first), bytes(ends.last)),
    };
    match own.quantity {
        _ if of_base => figures,
        AgingQuantity::Throughput => format!("{figures} transactions per second"),
        AgingQuantity::Cpu => format!("{figures} of CPU per transaction"),
        AgingQuantity::Memory => format!("{figures} of private memory"),
    }
}

fn bytes(bytes: f64) -> String {
    spec::bytes(bytes.max(0.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use results::aging::LifeEnds;
    use results::comparison::Cell;
    use stats::Estimate;

    use super::*;

    fn aging(
        arm: &str,
        quantity: AgingQuantity,
        own: [f64; 2],
        base: Option<[f64; 2]>,
        change: f64,
    ) -> Aging {
        let ends = |[first, last]: [f64; 2]| LifeEnds { first, last, first_age_s: 1.0, last_age_s: 11.0 };
        Aging {
            cell: Cell { workload: "reads".into(), factors: [].into() },
            arm: arm.into(),
            quantity,
            own: ends(own),
            of_base: base.map(ends),
            change: Estimate { log_ratio: change, standard_error: Some(0.01), df: 3.0, n: 4, lines: 4 },
            is_claimed: true,
            lives: 4,
            rounds: 4,
            is_kept: false,
            changes_data: false,
            clients: 4,
        }
    }

    fn said(aging: &[Aging]) -> Vec<String> {
        sentences("master", aging).into_iter().map(|(head, rest)| head + &rest).collect()
    }

    #[test]
    fn an_arm_that_slows_is_told_with_its_cpu_first() {
        let tps = aging("v4-age", AgingQuantity::Throughput, [9800.0, 4100.0], Some([9800.0, 9750.0]), -0.87);
        let cpu = aging("v4-age", AgingQuantity::Cpu, [25.0, 100.0], Some([25.0, 25.1]), 1.38);
        let wanted = "v4-age slows with the session's age: 25.0 µs → 100 µs of CPU per transaction in 10 s \
                      (9,800 → 4,100 transactions per second); master 25.0 µs → 25.1 µs.";
        assert_eq!(said(&[tps.clone(), cpu.clone()]), [wanted]);
        let unclaimed = Aging { is_claimed: false, ..cpu.clone() };
        let wanted = "v4-age slows with the session's age: 9,800 → 4,100 transactions per second in 10 s \
                      (25.0 µs → 100 µs of CPU per transaction); master 9,800 → 9,750.";
        assert_eq!(said(&[tps.clone(), unclaimed]), [wanted]);
        let data = Aging { changes_data: true, ..cpu };
        assert!(
            said(&[data])[0]
                .ends_with("; the workload changes its data, so the age of the data may be the reason.")
        );
        let none = Aging { is_claimed: false, ..tps };
        assert!(said(&[none]).is_empty());
    }

    #[test]
    fn whose_figures_move_is_told() {
        let head = |own, base, change| {
            let cpu = aging("new", AgingQuantity::Cpu, own, Some(base), change);
            said(&[cpu])[0].split(':').next().unwrap_or_default().to_owned()
        };
        assert_eq!(head([50.0, 25.0], [50.0, 50.0], -0.69), "new becomes faster with the session's age");
        assert_eq!(head([50.0, 50.0], [50.0, 25.0], 0.69), "new falls behind master with the session's age");
        assert_eq!(head([50.0, 51.0], [50.0, 99.0], -0.66), "new gains on master with the session's age");
        let base = aging("master", AgingQuantity::Cpu, [50.0, 99.0], None, 0.68);
        let wanted = "master slows with the session's age: 50.0 µs → 99.0 µs of CPU per transaction in 10 s.";
        assert_eq!(said(&[base]), [wanted]);
    }

    #[test]
    fn a_leak_is_told_by_the_second() {
        let leak = aging("v5-leak", AgingQuantity::Memory, [8e6, 20e6], Some([8e6, 8e6]), 1.5);
        let wanted = "v5-leak: its backends grow by 1.14 MB a second at work: 7.63 MB → 19.1 MB of private memory in 10 s \
                      (4 sessions); master 7.63 MB → 7.63 MB.";
        assert_eq!(said(&[leak]), [wanted]);
    }
}
