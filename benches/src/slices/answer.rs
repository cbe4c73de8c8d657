//! How narrow is the interval of a minute's comparison? A against A on two servers, in slices and run by run in turn.

use super::estimators::Way;
use super::file::{Arms, CLIENTS, Comparison, Slices, Workload};
use super::program::{Compared, Program, Tries};
use super::table::{met, percent, spread, spread_pct, title};
use crate::{Args, What, or_told};

/// Rounds of a comparison in slices, and what each measures, ms: a minute in all.
const ROUNDS: u32 = 12;
const MEASURED_MS: u32 = 5_000;
/// A run where arms do not take turns, ms.
const RUN_MS: u32 = 2_000;
/// More of the CPU stolen than this, %, and an hour says nothing of narrow intervals: then only the one run by run counts.
const QUIET_PCT: f64 = 5.0;

/// What is aimed at: the half-width, %, and whether it is to be half of that run by run as well.
fn aim(workload: Workload) -> (f64, bool) {
    match workload {
        Workload::Tpcb => (2.0, true),
        Workload::Select | Workload::Lookups => (2.5, false),
        Workload::Polygons | Workload::Updates => (4.0, false),
    }
}

/// A way to measure that is tried.
struct Variant {
    name: String,
    comparison: Comparison,
}

/// What the repetitions of a variant gave.
#[derive(Default)]
struct Found(Vec<Compared>);

impl Found {
    fn half_width(&self) -> Option<(f64, f64, f64)> {
        spread(self.0.iter().map(|compared| compared.answer.half_width_pct()))
    }

    fn stolen(&self) -> Option<f64> {
        spread(self.0.iter().filter_map(|compared| compared.stolen_pct)).map(|(median, ..)| median)
    }

    fn by(&self, way: Way) -> Option<(f64, f64, f64)> {
        spread(self.0.iter().filter_map(|compared| way.half_width_pct(&compared.quads)))
    }
}

/// A row for each repetition, one for each variant, and what other estimators would have made of the same slices.
///
/// # Errors
/// A comparison fails; [`crate::Missing`] tiles are told.
pub(crate) fn of_a_minute(options: &Args) -> anyhow::Result<()> {
    println!("{}", title("A against A: half-width of the 95 % interval"));
    let program = Program::start(options)?;
    let asked = &options.slices.workloads;
    let usual = [Workload::Tpcb, Workload::Select, Workload::Polygons];
    for workload in if asked.is_empty() { &usual[..] } else { &asked[..] } {
        or_told(of_workload(options, &program, *workload))?;
    }
    Ok(())
}

fn of_workload(options: &Args, program: &Program<'_>, workload: Workload) -> anyhow::Result<()> {
    println!("\n### {}, {CLIENTS} clients\n", workload.name());
    let variants = variants(options, workload);
    program.prepare(&variants[0].comparison)?;
    println!(
        "| repetition | how | change [95 %] | half-width | wall time | stolen: in runs, around | quads (void) | correlated |\n\
         | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |"
    );
    let mut tries = Tries::default();
    let mut found: Vec<Found> = variants.iter().map(|_| Found::default()).collect();
    for repetition in 1..=options.pairs(What::Answer) {
        for turn in 0..variants.len() {
            let own = if repetition % 2 == 1 { turn } else { variants.len() - 1 - turn };
            let name = &variants[own].name;
            // What one variant cannot (slices too short for long transactions), others can.
            match tries.compare(program, &variants[own].comparison)? {
                Ok(compared) => {
                    println!("| {repetition} | {name} | {}", cells(&compared));
                    found[own].0.push(compared);
                }
                Err(why) => println!("| {repetition} | {name} | not measured: {why} |"),
            }
        }
    }
    println!("\n{}", medians(workload, &variants, &found));
    println!("\n{}", estimators(&variants, &found));
    Ok(())
}

/// In slices of all lengths and placements that are asked for, and run by run as the last.
fn variants(options: &Args, workload: Workload) -> Vec<Variant> {
    let wanted = &options.slices;
    let rounds = wanted.rounds.unwrap_or(ROUNDS).next_multiple_of(2);
    let measured_ms = wanted.measured.unwrap_or(MEASURED_MS);
    let plain = Comparison {
        workload,
        arms: Arms::Same,
        slices: Slices::Usual,
        placement: None,
        rounds,
        each_ms: measured_ms / 2,
        margin_pct: 3,
    };
    let lengths: Vec<(String, Slices)> = match wanted.slices.as_slice() {
        [] => vec![("slices".to_owned(), Slices::Usual)],
        all => {
            all.iter().map(|length| (format!("slices of {length}"), Slices::Length(length.clone()))).collect()
        }
    };
    let placements: Vec<Option<String>> = match wanted.placements.as_slice() {
        [] => vec![None],
        all => all.iter().cloned().map(Some).collect(),
    };
    let sliced = placements.iter().flat_map(|placement| {
        let plain = &plain;
        lengths.iter().map(move |(name, slices)| {
            let at = placement.as_ref().map(|placement| format!(", {placement}")).unwrap_or_default();
            let (placement, slices) = (placement.clone(), slices.clone());
            Variant {
                name: format!("{name}{at}"),
                comparison: Comparison { placement, slices, ..plain.clone() },
            }
        })
    });
    // As much is measured; rounds must be even, and what is left over is given to it.
    let pairs = (rounds * measured_ms).div_ceil(2 * RUN_MS).next_multiple_of(2);
    let uncut = Comparison { slices: Slices::Never, rounds: pairs, each_ms: RUN_MS, ..plain.clone() };
    sliced.chain([Variant { name: "run by run".to_owned(), comparison: uncut }]).collect()
}

fn cells(compared: &Compared) -> String {
    let void = compared.quads.iter().filter(|quad| quad.is_void).count();
    let quads = match compared.quads.len() {
        0 => "-".to_owned(),
        quads => format!("{quads} ({void})"),
    };
    let correlated = compared.answer.quad_correlation.map_or("-".to_owned(), |r| format!("{r:.2}"));
    format!(
        "{} | {:.1} % | {:.0} s | {}, {} | {quads} | {correlated} |",
        compared.answer.words(),
        compared.answer.half_width_pct(),
        compared.wall_s,
        percent(compared.stolen_pct),
        percent(compared.stolen_around_pct)
    )
}

/// A line for each variant, with what is aimed at.
fn medians(workload: Workload, variants: &[Variant], found: &[Found]) -> String {
    let (most, half_too) = aim(workload);
    let uncut = found.last().and_then(Found::half_width).map(|(median, ..)| median);
    let mut text =
        "| how | half-width | of run by run's | stolen | aim | |\n| --- | --- | ---: | ---: | --- | --- |"
            .to_owned();
    for (variant, found) in variants.iter().zip(found) {
        let (half, stolen) = (found.half_width(), found.stolen());
        let share = half.zip(uncut).map(|((half, ..), uncut)| half / uncut);
        let share_words = share.map_or("-".to_owned(), |share| format!("{share:.2}"));
        let sliced = variant.comparison.slices != Slices::Never;
        let judged = half.zip(share).filter(|_| sliced).map(|((half, ..), share)| {
            let (aim, is_met) = judge((most, half_too), half, share, stolen);
            format!("{aim} | {}", met(is_met))
        });
        let judged = judged.unwrap_or_else(|| " | ".to_owned());
        text += &format!(
            "\n| {} | {} | {share_words} | {} | {judged} |",
            variant.name,
            spread_pct(half),
            percent(stolen)
        );
    }
    text
}

/// What is aimed at in such an hour, and whether it was met.
fn judge((most, half_too): (f64, bool), half: f64, share: f64, stolen: Option<f64>) -> (String, bool) {
    let halved = share <= 0.5;
    match stolen {
        Some(stolen) if stolen >= QUIET_PCT => {
            (format!("half of run by run's, since {stolen:.0} % were stolen"), halved)
        }
        _ if half_too => (format!("{most} %, and half of run by run's"), half <= most && halved),
        _ => (format!("{most} %"), half <= most),
    }
}

/// The half-widths that other estimators make of the same slices.
fn estimators(variants: &[Variant], found: &[Found]) -> String {
    let sliced: Vec<_> =
        variants.iter().zip(found).filter(|(of, _)| of.comparison.slices != Slices::Never).collect();
    let names: Vec<&str> = sliced.iter().map(|(variant, _)| variant.name.as_str()).collect();
    let mut text =
        format!("| the same slices by | {} |\n| --- |{}", names.join(" | "), " --- |".repeat(names.len()));
    for way in Way::ALL {
        let widths: Vec<String> = sliced.iter().map(|(_, found)| spread_pct(found.by(way))).collect();
        text += &format!("\n| {} | {} |", way.words(), widths.join(" | "));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loud_hour_is_judged_by_what_is_measured_in_turn() {
        let tpcb = aim(Workload::Tpcb);
        for (half, share, stolen, wanted) in [
            (1.9, 0.4, Some(1.0), true),
            (1.9, 0.6, Some(1.0), false),
            (2.1, 0.4, None, false),
            (7.0, 0.4, Some(20.0), true),
            (1.0, 0.6, Some(20.0), false),
        ] {
            assert_eq!(judge(tpcb, half, share, stolen).1, wanted, "{half} {share} {stolen:?}");
        }
        assert!(judge(aim(Workload::Select), 2.4, 0.9, Some(4.9)).1);
    }
}
