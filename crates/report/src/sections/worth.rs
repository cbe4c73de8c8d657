//! What each setting is worth, where an arm is taken apart.

use maud::{Markup, html};
use serde::Serialize;

use super::View;
use crate::data::ReportData;
use crate::format;
use crate::worth::{Worth, worth};

#[derive(Debug, Serialize)]
pub(super) struct Worths(Vec<Worth>);

impl View for Worths {
    fn of(data: &ReportData) -> Option<Self> {
        Some(worth(data)).filter(|found| !found.is_empty()).map(Self)
    }

    fn draw(&self) -> Markup {
        html! {
            @for worth in &self.0 { (format::sheet(worth.caption(), &worth.table())) }
            p.remark {
                "Alone: the base with this one setting, against the base. Without it: all settings of the arm but this one, against the \
                 arm; a loss is what the setting is worth beside the others."
            }
        }
    }
}
