//! The answer below the question: verdict with interval, effects on safety, and validity. Drawn at the head
//! of a page, and as the lines at the end of a run.

mod believed;
mod page;
pub mod short;
pub mod summary;
mod words;

use results::ReportData;
use results::answer::Answer;
use results::limits::Limits;

pub(crate) struct Told<'a> {
    pub(crate) data: &'a ReportData,
    pub(crate) answer: Answer,
    limits: Option<Limits<'a>>,
}

impl<'a> Told<'a> {
    pub(crate) fn of(data: &'a ReportData) -> Self {
        Self { data, answer: Answer::of(data), limits: data.limits() }
    }
}
