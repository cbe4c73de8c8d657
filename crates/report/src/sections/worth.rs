//! The value of each of several settings: alone, and as one of all, if an experiment takes an arm apart.

use results::comparison::{ArmComparison, Comparison, MeasuredSetting, TakenApart};
use results::{CellValue, Table};
use spec::ExperimentRecord;
use stats::{Estimate, Verdict};

use crate::block::Block;
use crate::compared::{self, ComparedPart};
use crate::numbers::real_cell;
use results::ReportData;

/// Of a workload, or of the whole grid if there are several.
#[derive(Debug)]
pub(crate) struct SettingsWorth {
    pub(crate) of: String,
    pub(crate) whole: String,
    base: String,
    noun: &'static str,
    margin: f64,
    /// All of them against the base.
    all: ArmChange,
    pub(crate) settings: Vec<SettingWorth>,
}

#[derive(Debug)]
pub(crate) struct SettingWorth {
    setting: MeasuredSetting,
    alone: ArmChange,
    /// All but it, against all: the loss without it.
    without: ArmChange,
}

/// A figure of one arm against another; empty if no pair is valid.
#[derive(Debug, Clone, Copy)]
struct ArmChange {
    estimate: Option<Estimate>,
    verdict: Verdict,
}

impl ArmChange {
    fn of(comparison: &Comparison, arm: &str, workload: Option<&str>) -> Self {
        let found = comparison.arms.iter().find(|own| own.arm == arm);
        let part = |arm: &ArmComparison| match workload {
            Some(name) => arm.workloads.get(name).copied(),
            None => arm.grid,
        };
        let figure = found.and_then(part);
        Self {
            estimate: figure.map(|figure| figure.grid.estimate),
            verdict: figure.map_or(Verdict::Invalid, |figure| figure.verdict),
        }
    }

    /// `+12 % [+9, +15], faster`.
    fn words(&self, margin: f64) -> String {
        match &self.estimate {
            Some(estimate) => {
                format!("{}, {}", compared::change(estimate), compared::verdict(self.verdict, margin))
            }
            None => compared::verdict(self.verdict, margin),
        }
    }

    fn values(&self, margin: f64) -> [CellValue; 4] {
        let interval = self.estimate.and_then(|estimate| estimate.interval_pct());
        [
            real_cell(self.estimate.map(|estimate| estimate.change_pct())),
            real_cell(interval.map(|(low, _)| low)),
            real_cell(interval.map(|(_, high)| high)),
            compared::verdict(self.verdict, margin).into(),
        ]
    }
}

/// Of each workload, then of the whole grid if there are several; empty if nothing is taken apart.
pub(crate) fn worth(data: &ReportData) -> Vec<SettingsWorth> {
    let (Some(answer), Some(mut apart)) = (data.compared(), TakenApart::of(&data.experiment)) else {
        return Vec::new();
    };
    let server: Vec<_> = data
        .grid_runs()
        .filter(|run| run.arm == data.experiment.base)
        .flat_map(|run| run.settings.iter())
        .collect();
    for setting in apart.settings.iter_mut().filter(|setting| setting.base.is_none()) {
        setting.base =
            server.iter().find(|known| known.name == setting.name).map(|known| known.value.clone());
    }
    let from_whole = ExperimentRecord { base: Some(apart.whole.clone()), ..data.experiment.clone() };
    let Some(lacking) = Comparison::of(&from_whole, &data.runs, answer.metric) else { return Vec::new() };
    let whole = answer.arms.iter().find(|arm| arm.arm == apart.whole);
    // An offered rate sets the throughput of the others, independent of settings.
    let parts: Vec<Option<&str>> = whole
        .iter()
        .flat_map(|arm| ComparedPart::workloads(arm))
        .filter(|part| part.averaged > 0)
        .map(|part| part.workload)
        .collect();
    let grid = (parts.len() > 1).then_some(None);
    let of = |workload: Option<&str>| SettingsWorth {
        of: workload.unwrap_or("whole grid").to_owned(),
        whole: apart.whole.clone(),
        base: answer.base.clone(),
        noun: answer.noun(),
        margin: answer.margin,
        all: ArmChange::of(answer, &apart.whole, workload),
        settings: apart
            .settings
            .iter()
            .map(|setting| SettingWorth {
                alone: ArmChange::of(answer, &setting.only, workload),
                without: ArmChange::of(&lacking, &setting.without, workload),
                setting: setting.clone(),
            })
            .collect(),
    };
    parts.into_iter().chain(grid).map(of).collect()
}

impl SettingsWorth {
    fn caption(&self) -> String {
        format!(
            "What each setting of {} is worth in {}: change of {} with it alone against {}, and of all but it against all",
            self.whole, self.of, self.noun, self.base
        )
    }

    fn table(&self) -> Table {
        let mut table =
            Table::captioned(self.caption()).named(["setting", "value", "alone", "without it", "risk"]);
        let all = format!("all {}", self.settings.len());
        table.push(vec![all.into(), "".into(), self.all.words(self.margin).into(), "".into(), "".into()]);
        for SettingWorth { setting, alone, without } in &self.settings {
            let [alone, without] = [alone, without].map(|change| change.words(self.margin));
            let risk = setting.risk.clone().unwrap_or_default();
            let name = setting.name.clone();
            table.push(vec![
                name.into(),
                setting.value.clone().into(),
                alone.into(),
                without.into(),
                risk.into(),
            ]);
        }
        table
    }
}

/// One line per workload and setting, and before them one for all settings together, without a name;
/// percent, with their 95 % intervals. Intervals and verdicts are adjusted for multiple comparisons.
#[must_use]
pub fn settings(data: &ReportData) -> Table {
    let mut table = Table::new([
        "workload",
        "arm",
        "setting",
        "value",
        "base_value",
        "alone_pct",
        "alone_low_pct",
        "alone_high_pct",
        "alone_verdict",
        "without_pct",
        "without_low_pct",
        "without_high_pct",
        "without_verdict",
        "risk",
    ]);
    for worth in worth(data) {
        let all: [CellValue; 5] = [
            worth.of.clone().into(),
            worth.whole.clone().into(),
            CellValue::Null,
            CellValue::Null,
            CellValue::Null,
        ];
        let nothing = std::iter::repeat_n(CellValue::Null, 5);
        table.push(all.into_iter().chain(worth.all.values(worth.margin)).chain(nothing));
        for SettingWorth { setting, alone, without } in &worth.settings {
            let start: [CellValue; 5] = [
                worth.of.clone().into(),
                worth.whole.clone().into(),
                setting.name.clone().into(),
                setting.value.clone().into(),
                setting.base.clone().into(),
            ];
            let changes = [alone, without].into_iter().flat_map(|change| change.values(worth.margin));
            table.push(start.into_iter().chain(changes).chain([setting.risk.clone().into()]));
        }
    }
    table
}

/// For people: a table for each workload.
#[must_use]
pub fn settings_in_words(data: &ReportData) -> Vec<Block> {
    worth(data).iter().map(|worth| worth.table().into()).collect()
}

const HOW: &str = "Alone: the base with this one setting, against the base. Without it: all settings of the arm but this one, against the \
    arm; a loss is what the setting is worth with the others.";

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    let mut blocks = settings_in_words(data);
    blocks.extend((!blocks.is_empty()).then(|| Block::remark(HOW)));
    blocks
}

pub(crate) fn summary(worth: &SettingsWorth) -> Vec<String> {
    let head = format!(
        "{}: what each setting of {} is worth: alone, against {}, and {} without it:",
        worth.of, worth.whole, worth.base, worth.whole
    );
    let each = worth.settings.iter().map(|SettingWorth { setting, alone, without }| {
        let [alone, without] = [alone, without].map(|change| change.words(worth.margin));
        let risk = setting.risk.as_ref().map(|risk| format!(" ({risk})")).unwrap_or_default();
        format!("  {}: alone {alone}; without it {without}{risk}", setting.name)
    });
    std::iter::once(head).chain(each).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use spec::{Run, RunKey, RunKind, ScriptRecord, figures};

    use super::*;

    /// Transactions of a run of an arm: `a` doubles, `b` alone has no effect, and both together quadruple.
    const DONE: [(&str, u64); 4] = [("stock", 1000), ("both", 4000), ("only a", 2000), ("only b", 1000)];

    fn data() -> ReportData {
        let run = |(arm, ok): (&str, u64), round: u32| {
            let key = RunKey { workload: "w".into(), factors: [].into(), arm: Some(arm.into()), round };
            let scripts = vec![ScriptRecord {
                name: "w.sql".into(),
                text_hash: String::new(),
                weight: 1,
                part: None,
                counts: Default::default(),
                response: Default::default(),
                service: Default::default(),
            }];
            Run {
                measured_s: 1.0,
                clients: 1,
                scripts,
                counts: [(figures::OK, ok)].into(),
                ..Run::new(RunKind::Client, key)
            }
        };
        let arm = |name: &str, settings: serde_json::Value, weakens: &[&str]| json!({"name": name, "settings": settings, "unsafe_settings": weakens});
        let risk = "b = off (a crash loses the last commits)";
        let arms = [
            arm("stock", json!({}), &[]),
            arm("both", json!({"a": "on", "b": "off"}), &[risk]),
            arm("only a", json!({"a": "on"}), &[]),
            arm("only b", json!({"b": "off"}), &[risk]),
        ];
        let experiment = json!({
            "hash": "", "name": "", "question": "", "file_text": "", "seed": 1, "order_scheme": "pairs",
            "rounds": 2, "compare_factor": "settings", "base": "stock", "arms": arms, "margin": 0.03, "created_at": "",
        });
        let host = json!({"uuid": "", "name": "", "cpu": "", "cores": 2, "memory_bytes": 0, "facts": {}});
        let target = json!({"kind": "url", "dsn_redacted": "", "server_version": "18", "postgis_version": null, "versions": {}});
        let runs = (1..=2).flat_map(|round| DONE.map(|done| run(done, round))).collect();
        ReportData::new(
            serde_json::from_value(experiment).expect("an experiment"),
            serde_json::from_value(host).expect("a host"),
            serde_json::from_value(target).expect("a target"),
            runs,
        )
    }

    #[test]
    fn alone_is_against_the_base_and_without_against_all() {
        let table = settings(&data());
        let of = |setting: usize, column: &str| {
            let place = table.at(column).expect("a column");
            table.rows[setting][place].clone()
        };
        let pct = |setting, column| match of(setting, column) {
            CellValue::Real(pct) => (pct * 1e6).round() / 1e6,
            other => panic!("{other:?}"),
        };
        assert_eq!(pct(0, "alone_pct"), 300.0, "all of them");
        assert_eq!((pct(1, "alone_pct"), pct(1, "without_pct")), (100.0, -75.0), "a");
        assert_eq!(
            (pct(2, "alone_pct"), pct(2, "without_pct")),
            (0.0, -50.0),
            "b is worth something beside a only"
        );
        assert_eq!(of(1, "risk"), CellValue::Null);
        assert!(matches!(of(2, "risk"), CellValue::Text(risk) if risk.contains("last commits")));
    }

    #[test]
    fn parts_have_no_answer_of_their_own() {
        let told = crate::summary::text(&data());
        assert!(told.contains("both: faster") && told.contains("a: alone +100"), "{told}");
        assert!(!told.contains("only a: "), "{told}");
    }
}
