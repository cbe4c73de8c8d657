//! Writes a page made from seeded data, to look at: `cargo run -p pgdyno-report --example sample_page FILE`.

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use std::process::ExitCode;

use fixture::{Shape, data, doubt};
use results::{Reason, Validity};

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else { return ExitCode::from(64) };
    let mut sample = data(&Shape::default());
    doubt(&mut sample.runs[7], Validity::Invalid, Reason::EmptyResults, "0 rows in 174 transactions");
    doubt(
        &mut sample.runs[30],
        Validity::Suspect,
        Reason::Steal,
        "4.1 % of CPU time taken by the hypervisor",
    );
    let sample = report::ReportData::new(sample.experiment, sample.host, sample.target, sample.runs);
    match std::fs::write(path, report::html::page(&sample)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}
