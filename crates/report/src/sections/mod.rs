//! The sections of a report: each a view, plain data made from stored results, and how that is drawn.
//!
//! A file per section. What it shows is computed in its view and nowhere else; page, terminal and programs draw the view.

pub mod answer;
mod beside;
mod costs;
pub(crate) mod crosstabs;
pub(crate) mod limit;
pub(crate) mod load;
pub(crate) mod plans;
mod repeat;
pub(crate) mod runs;
mod setup;
mod shares;
mod slow;
pub(crate) mod tiles;
pub(crate) mod verdicts;
pub(crate) mod workloads;
mod worth;
mod zooms;

use maud::Markup;
use serde::Serialize;

use crate::chart::Chart;
use crate::data::ReportData;

/// What a section shows. It can be serialised, so that a live page can be fed with it.
pub(crate) trait View: Serialize + Sized {
    /// `None` where there is nothing to show.
    fn of(data: &ReportData) -> Option<Self>;

    /// As it stands on a page, below its heading.
    fn draw(&self) -> Markup;

    /// Its charts, in the order of the page.
    fn charts(self) -> Vec<Box<dyn Chart>> {
        Vec::new()
    }
}

/// A section: its place in the page's address, its heading, and how it is drawn where it has something to show.
pub(crate) struct Section {
    pub(crate) anchor: &'static str,
    pub(crate) heading: &'static str,
    pub(crate) draw: fn(&ReportData) -> Option<Markup>,
    /// Its charts, each to be drawn alone.
    pub(crate) charts: fn(&ReportData) -> Vec<Box<dyn Chart>>,
}

/// All sections below the answer, in the order of the page.
pub(crate) const SECTIONS: [Section; 15] = [
    section::<limit::Limit>("limit", "Limit"),
    section::<worth::Worths>("worth", "What each setting is worth"),
    section::<verdicts::Verdicts>("verdicts", "Verdicts"),
    section::<workloads::Workloads>("workloads", "Workloads"),
    section::<zooms::Zooms>("zooms", "Tiles by layer and zoom"),
    section::<plans::Plans>("plans", "Where the time of statements goes"),
    section::<crosstabs::Crosstabs>("crosstabs", "Crosstabs"),
    section::<beside::Beside>("beside", "Beside the grid"),
    section::<load::Load>("load", "Loading and sizes"),
    section::<costs::Costs>("costs", "What it costs"),
    section::<slow::Slow>("slow", "Where it is slow"),
    section::<tiles::Tiles>("tiles", "Sample tiles"),
    section::<setup::Setup>("setup", "What was run on what"),
    section::<runs::Runs>("runs", "All runs"),
    section::<repeat::Repeat>("repeat", "How to repeat"),
];

const fn section<V: View>(anchor: &'static str, heading: &'static str) -> Section {
    let charts = |data: &_| V::of(data).map(V::charts).unwrap_or_default();
    Section { anchor, heading, draw: |data| Some(V::of(data)?.draw()), charts }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use spec::{Run, RunKey, RunKind, ScriptRecord};

    use super::*;

    fn read<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).expect("all of its fields")
    }

    /// Two arms, of which the second does twice as much, in two rounds.
    fn data() -> ReportData {
        let run = |(arm, round): (&str, u32)| {
            let factors = [("clients".to_owned(), "4".to_owned())].into();
            let key = RunKey { workload: "tpcb".into(), factors, arm: Some(arm.into()), round };
            let ok = if arm == "gis" { 2000 } else { 1000 };
            let scripts = vec![ScriptRecord {
                name: "tpcb.sql".into(),
                text_hash: String::new(),
                weight: 1,
                part: None,
                counts: Default::default(),
                response: Default::default(),
                service: Default::default(),
            }];
            let counts = [("ok".to_owned(), ok)].into();
            Run { measured_s: 1.0, clients: 4, scripts, counts, ..Run::new(RunKind::Client, key) }
        };
        let arms = ["stock", "gis"].map(|name| json!({"name": name, "settings": {}, "unsafe_settings": []}));
        let experiment = json!({
            "hash": "ab", "name": "demo", "question": "", "file_text": "", "seed": 1,
            "order_scheme": "pairs", "rounds": 2, "compare_factor": "settings", "base": "stock",
            "arms": arms,
            "margin": 0.03, "created_at": "",
        });
        let host = json!({"uuid": "", "name": "", "cpu": "", "cores": 2, "memory_bytes": 0, "facts": {}});
        let target = json!({
            "kind": "url", "dsn_redacted": "", "server_version": "18", "postgis_version": null, "versions": {},
        });
        let runs = [("stock", 1), ("gis", 1), ("gis", 2), ("stock", 2)].map(run).into();
        ReportData::new(read(experiment), read(host), read(target), runs)
    }

    fn view<V: View>(data: &ReportData) -> Value {
        serde_json::to_value(V::of(data)).expect("a view is plain data")
    }

    /// A live page would draw the figures, not read sentences.
    #[test]
    fn views_give_figures_as_numbers() {
        let data = data();
        let verdicts = view::<verdicts::Verdicts>(&data);
        let cell = &verdicts["compared"][0]["arms"][0]["cells"][0];
        assert_eq!(
            (&cell["base"], &cell["new"], &cell["verdict"]),
            (&json!(1000.0), &json!(2000.0), &json!("Faster"))
        );
        assert!(
            cell["estimate"]["change_pct"].as_f64().is_some_and(|pct| (pct - 100.0).abs() < 1e-9),
            "{cell}"
        );
        let figures = &view::<workloads::Workloads>(&data)["workloads"][0]["figures"]["cells"][0];
        assert_eq!(
            (&figures["arm"], &figures["tps"]["mean"]),
            (&json!("stock"), &json!(1000.0)),
            "{figures}"
        );
        let tab = &view::<crosstabs::Crosstabs>(&data)["tabs"][0];
        assert_eq!(tab["rows"][0]["mean"], json!([1000.0, 2000.0]), "{tab}");
        assert_eq!(view::<runs::Runs>(&data)["runs"].as_array().map(Vec::len), Some(4));
        assert_eq!(view::<setup::Setup>(&data)["lengths_s"], json!([1.0, 1.0, 1.0, 1.0]));
        assert_eq!(view::<beside::Beside>(&data), Value::Null);
        assert_eq!(serde_json::to_value(answer::Answer::of(&data)).expect("plain data")["runs"], json!(4));
    }
}
