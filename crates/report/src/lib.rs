//! Terminal, CSV, JSON, Markdown and HTML views of stored results.
//!
//! Everything shown is derived here and now from what `results` stored; nothing is measured or kept. [`ReportData`] is an
//! experiment with the figures of its cells; each section of a report (`sections`) makes a view of it, plain data, and
//! draws that: on a page ([`html`]), as [`tables`] that [`mod@format`] prints, as the lines at the end of a run
//! ([`summary`]). Numbers are written only by [`numbers`]; a chart can also stand
//! alone as a file ([`charts`]), and single tiles as one for maps ([`geopackage()`]); whatever in foreign text would drive a terminal or turn the
//! direction of what stands beside it is shown as an escape by [`visible`].
//! [`pgbench`] is apart: what the drop-in prints of a run that was just measured, in pgbench's own layout.

mod alone;
mod answers;
pub mod arrivals;
mod block;
mod chart;
mod compared;
mod costs;
mod differences;
mod explained;
mod figures;
pub mod format;
mod geopackage;
mod heat;
pub mod html;
mod ladder;
mod next;
pub mod numbers;
pub mod pgbench;
mod phases;
mod places;
pub mod repeat;
mod scaling;
mod sections;
mod spread;
mod stages;
pub mod tables;
pub mod tile;
mod zooms;

pub use alone::{Alone, Picture, PictureError, charts};
pub use block::{Block, Paragraph};
pub use compared::control;
pub use format::Format;
pub use geopackage::{GeoPackage, GeoPackageError, geopackage};
pub use results::ReportData;
pub use sections::answer::{short, summary};
pub use spec::visible;
