//! Terminal, CSV, JSON, Markdown and HTML views of stored results.
//!
//! Everything shown is derived here and now from what `results` stored; nothing is measured or kept.
//! [`data::ReportData`] is what all views read; [`tables`] gives plain tables for [`mod@format`], [`html`] the
//! self-contained page, [`summary`] the few lines at the end of a run. Foreign text reaches a page only
//! through [`markup`], which escapes it, and a terminal through [`visible`]; numbers are written only by [`numbers`].
//! [`pgbench`] is apart: what the drop-in prints of a run that was just measured, in pgbench's own layout.

pub mod arrivals;
mod chart;
pub mod data;
pub mod format;
pub mod html;
pub mod markup;
pub mod numbers;
pub mod pgbench;
mod sheet;
pub mod summary;
pub mod tables;
pub mod tile;
pub mod visible;
mod words;

pub use data::ReportData;
pub use format::Format;
