//! The host and its load. Its name is left out: mails to a list are public.

use results::ReportData;
use spec::figures::{self, Figure};

use crate::numbers;

/// Facts that explain a figure, in the order of a mail.
const FACTS: [&str; 6] = ["os", "kernel", "virtualisation", "container", "cpu_governor", "huge_pages"];
/// Figures of the load while the runs were measured.
const LOAD: [Figure; 4] =
    [figures::LOAD_1M, figures::CPU_BUSY_PCT, figures::CPU_OTHERS_PCT, figures::STEAL_PCT];

/// Below this most, in percent of the CPUs, the hypervisor took nothing worth a word.
const LITTLE_STEAL_PCT: f64 = 1.0;

pub(super) fn lines(data: &ReportData) -> Vec<String> {
    let host = &data.host;
    let cores = (host.cores > 0).then(|| numbers::counted(host.cores as usize, "CPU"));
    let memory = (host.memory_bytes > 0).then(|| numbers::bytes(host.memory_bytes));
    let cpu = Some(host.cpu.clone()).filter(|cpu| !cpu.is_empty());
    let hardware: Vec<String> = [cpu, cores, memory].into_iter().flatten().collect();
    let facts = FACTS.iter().filter_map(|name| {
        let value = host.facts.get(*name)?;
        // Only the first three are known by their values.
        let is_named = FACTS[3..].contains(name);
        Some(if is_named { format!("{} {value}", name.replace('_', " ")) } else { value.clone() })
    });
    let facts: Vec<String> = facts.collect();
    let load: Vec<String> = LOAD.iter().filter_map(|figure| range(data, *figure)).collect();
    let load = match load.is_empty() {
        true => "load while measuring: not available".to_owned(),
        false => format!("load while measuring: {}", load.join(", ")),
    };
    let host: Vec<String> = hardware.into_iter().chain(facts).collect();
    let parts = [host.join(", "), load].into_iter().filter(|part| !part.is_empty());
    vec![parts.collect::<Vec<_>>().join("; ")]
}

/// `CPU busy 60 % to 99 %`: least and most of all measured runs.
fn range(data: &ReportData, figure: Figure) -> Option<String> {
    let values: Vec<f64> = data.measured_runs().filter_map(|run| run.figures.get(figure)).collect();
    let least = values.iter().copied().reduce(f64::min)?;
    let most = values.iter().copied().reduce(f64::max)?;
    let written = |value: f64| match figure.name.ends_with("_pct") {
        true => numbers::percent(value.round() / 100.0),
        false => numbers::fixed(value, 1),
    };
    let shown = [least, most].map(written);
    let range = match &shown {
        [one, other] if one == other => one.clone(),
        // `70 to 100 %`: the unit once.
        [one, other] => format!("{} to {other}", one.strip_suffix(" %").unwrap_or(one)),
    };
    if figure == figures::STEAL_PCT && most < LITTLE_STEAL_PCT {
        return None;
    }
    Some(format!("{} {range}", figure.label))
}
