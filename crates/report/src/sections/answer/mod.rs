//! The answer under the question: verdict with interval, what it costs in safety, and whether it can be believed. Drawn at
//! the head of a page, and as the lines at the end of a run.

mod believed;
mod page;
pub mod short;
pub mod summary;
mod words;

use results::ReportData;
use results::answer::Answer;
use results::limits::Limits;

/// The answer, with the data that it is rendered from.
pub(crate) struct Told<'a> {
    pub(crate) data: &'a ReportData,
    pub(crate) answer: Answer,
    /// The limits, where these are what is looked for.
    limits: Option<Limits<'a>>,
}

impl<'a> Told<'a> {
    pub(crate) fn of(data: &'a ReportData) -> Self {
        Self { data, answer: Answer::of(data), limits: data.limits() }
    }
}
