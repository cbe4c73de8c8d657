//! Whether comparisons of arms that take turns in slices are right: the built program compares on private
//! servers, and its answers are counted. The rules: docs/explanation/slices.md.

pub(crate) mod believe;
mod burners;
pub(crate) mod cpu;
mod file;
pub(crate) mod gate;
pub(crate) mod program;
mod stored;
pub(crate) mod table;
