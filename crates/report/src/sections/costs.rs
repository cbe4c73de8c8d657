//! What it costs, where the experiment has a price list.

use maud::Markup;
use serde::Serialize;

use super::View;
use crate::data::ReportData;

#[derive(Debug, Serialize)]
pub(super) struct Costs(crate::costs::Costs);

impl View for Costs {
    fn of(data: &ReportData) -> Option<Self> {
        crate::costs::Costs::of(data).map(Self)
    }

    fn draw(&self) -> Markup {
        maud::Render::render(&self.0.sheet())
    }
}
