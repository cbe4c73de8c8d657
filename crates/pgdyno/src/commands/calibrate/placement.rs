//! The results of a calibration about placement.

use lab::calibrate::{Advised, Calibrated, Placed};
use results::{CellValue, Table};
use spec::figures;

/// Columns that only rows about placement fill.
pub(super) const COLUMNS: [&str; 5] =
    ["placement", "p50_us", figures::SAME_CPU_PCT.row().name, "moves_per_s", "fastest_to_slowest"];

/// A row for each measured placement, each unavailable one, and the advice.
pub(super) fn rows(done: &Calibrated, columns: &[&str]) -> Vec<Vec<CellValue>> {
    let row = |cells: &[(&str, CellValue)]| {
        let cell =
            |column: &str| cells.iter().find(|(name, _)| *name == column).map(|(_, value)| value.clone());
        columns.iter().map(|column| cell(column).unwrap_or(CellValue::Null)).collect()
    };
    let measured = done.placements.iter().map(|placed| {
        row(&[
            ("what", "placement".into()),
            ("placement", placed.level.clone().into()),
            ("clients", placed.clients.into()),
            ("per_s", placed.tps.into()),
            ("p50_us", placed.p50_us.into()),
            (figures::SAME_CPU_PCT.row().name, placed.same_cpu_pct.into()),
            ("moves_per_s", placed.moves_per_s.into()),
            ("fastest_to_slowest", placed.spread.into()),
        ])
    });
    let said = |what: &str, level: &str, words: String| {
        row(&[("what", what.into()), ("placement", level.into()), ("verdict", words.into())])
    };
    let not =
        done.not_placed.iter().map(|(level, why)| said("placement", level, format!("not available: {why}")));
    let advised =
        done.advised.iter().map(|Advised { level, why }| said("advised placement", level, why.clone()));
    measured.chain(not).chain(advised).collect()
}

pub(super) fn table(placed: &[Placed]) -> Table {
    let mut columns = vec![COLUMNS[0], "clients", "per_s"];
    columns.extend(&COLUMNS[1..]);
    let mut table = Table::new(&columns);
    for placed in placed {
        table.push(vec![
            placed.level.clone().into(),
            placed.clients.into(),
            placed.tps.into(),
            placed.p50_us.into(),
            placed.same_cpu_pct.into(),
            placed.moves_per_s.into(),
            placed.spread.into(),
        ]);
    }
    table
}

/// A sentence each.
pub(super) fn words(done: &Calibrated) -> Vec<String> {
    told(&done.not_placed, done.advised.as_ref())
}

fn told(not_placed: &[(String, String)], advised: Option<&Advised>) -> Vec<String> {
    match (advised, not_placed) {
        (Some(Advised { level, why }), _) => {
            let advice = format!(
                "placement {level} is advised, and private servers get it unless a file says otherwise \
                 (docs/how-to/placement.md): {why}"
            );
            let not =
                not_placed.iter().map(|(level, why)| format!("placement {level} is not available: {why}"));
            [advice].into_iter().chain(not).collect()
        }
        (None, [(_, why), ..]) => vec![format!("placement was not measured: {why}")],
        (None, []) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_and_what_there_is_not_are_told() {
        let advised = Advised { level: "apart".to_owned(), why: "so and so".to_owned() };
        let awake = [("awake".to_owned(), "no idle class".to_owned())];
        let [advice, not] = &told(&awake, Some(&advised))[..] else { panic!("two sentences") };
        assert!(
            advice.starts_with("placement apart is advised") && advice.ends_with(": so and so"),
            "{advice}"
        );
        assert_eq!(not, "placement awake is not available: no idle class");
        let one = ["free", "same"].map(|level| (level.to_owned(), "one CPU".to_owned()));
        assert_eq!(told(&one, None), ["placement was not measured: one CPU"]);
    }
}
