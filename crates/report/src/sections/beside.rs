//! Runs beside the grid, e.g. a cache: measured, not compared.

use maud::{Markup, html};
use serde::Serialize;

use super::View;
use super::workloads::Figures;
use crate::data::ReportData;

#[derive(Debug, Serialize)]
pub(super) struct Beside {
    workloads: Vec<Figures>,
}

impl View for Beside {
    fn of(data: &ReportData) -> Option<Self> {
        let mut names: Vec<&str> = data.beside.iter().map(|figures| figures.cell.workload.as_str()).collect();
        names.dedup();
        let figures = |name: &str| Figures::of(name, &data.beside);
        (!names.is_empty()).then(|| Self { workloads: names.into_iter().map(figures).collect() })
    }

    fn draw(&self) -> Markup {
        html! {
            p { "Measured once beside the grid; no arm applies to it, so nothing is compared." }
            @for figures in &self.workloads {
                h3 { (figures.workload) }
                (figures.sheet())
                (figures.by_script())
                (figures.in_time())
            }
        }
    }
}
