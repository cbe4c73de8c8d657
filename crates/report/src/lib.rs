//! Terminal, CSV, JSON, Markdown and HTML views of stored results.
//!
//! Everything is derived from what `results` stored; nothing is measured or kept. [`ReportData`] is an
//! experiment with the figures of its cells. Each section of a report (`sections`) makes a view of it,
//! plain data, and draws that: on a page ([`html`]), as [`tables`] that [`mod@format`] prints, or as the
//! lines at the end of a run ([`summary`]). Only [`numbers`] writes numbers. A chart can also be a separate
//! file ([`charts`]), and single tiles a file for maps ([`geopackage()`]). [`visible`] escapes control and
//! bidirectional characters in foreign text. [`pgbench`] is separate: what the drop-in prints of a run that
//! was just measured, in pgbench's layout.

mod answers;
pub mod arrivals;
mod benchmarks;
mod block;
mod builds;
mod by_levels;
mod chart;
mod chart_file;
mod compared;
mod conclusion;
mod costs;
mod cross;
mod decisions;
mod differences;
mod explained;
mod figures;
pub mod format;
pub mod gate;
mod geopackage;
mod heat;
pub mod html;
mod in_force;
mod ladder;
mod lag;
mod lines;
pub mod mail;
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
mod users;
mod work;
mod zooms;

pub use benchmarks::{bencher, benchstat};
pub use block::{Block, Paragraph};
pub use chart_file::{ChartFile, Picture, PictureError, charts};
pub use compared::control;
pub use conclusion::{Conclusion, Step};
pub use format::{ParquetError, TableFormat, parquet};
pub use geopackage::{GeoPackage, GeoPackageError, geopackage};
pub use lag::lag_words;
pub use results::ReportData;
pub use sections::answer::summary;
pub use spec::visible;
