//! `pgdyno merge`: several results files as one.

use std::path::{Path, PathBuf};

use results::{CellValue, Merged, MergedExperiment, Table};
use spec::shell::PrintedCommand;

use super::{print, signals};
use crate::exit::{CommandFailure, ExitResult, INTERRUPTED, MISSING, SAME_OR_BETTER, USAGE};
use crate::options::FormatOption;
use crate::print::{talk, warning};

/// `pgdyno merge`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Results files: of several hosts, of the parts of an experiment (run --part K/N), or of several months. Nothing counts
    /// twice
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Results file to write, a new one
    #[arg(long, short = 'o', value_name = "FILE")]
    output: PathBuf,
    /// Replace the results file that is there; it may be one of the merged files
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    format: FormatOption,
}

pub(crate) fn run(args: &Args) -> ExitResult {
    if args.output.as_os_str() == "-" {
        let what = "-o -: a results file cannot be written to standard output";
        return Err(CommandFailure::with_code(USAGE, what, Some("name a file".to_owned())));
    }
    let stop = signals::listen_silently(INTERRUPTED)?;
    let merged = results::merge(&args.files, &args.output, args.replace, &|| stop.soon())?;
    print(table(&merged), args.format.format)?;
    if merged.known > 0 {
        let runs = spec::count(merged.known, "run");
        talk(&format!("{runs} left out, which another of the files has, too"));
    }
    talk(&format!("results: {}", args.output.display()));
    incomplete(&merged.experiments, &args.output)
}

fn table(merged: &Merged) -> Table {
    let mut table = Table::new(["experiment", "name", "runs", "parts", "hosts", "files"]);
    for own in &merged.experiments {
        let files = own.files.iter().map(|file| file.display().to_string()).collect();
        let parts = (own.of > 0).then(|| format!("{} of {}", own.of - own.missing.len() as u32, own.of));
        table.push(vec![
            own.id.0.into(),
            own.name.clone().into(),
            own.runs.into(),
            parts.into(),
            list(own.hosts.clone()),
            list(files),
        ]);
    }
    table
}

/// A list for programs, a text for people.
fn list(words: Vec<String>) -> CellValue {
    let text = words.join(", ");
    CellValue::worded(CellValue::Data(words.into()), text, "")
}

/// Names the parts that are missing. The last one is the error: otherwise the file is complete.
fn incomplete(experiments: &[MergedExperiment], output: &Path) -> ExitResult {
    let again_how = match experiments.iter().rfind(|own| !own.missing.is_empty()) {
        Some(own) if own.shared => "measure all parts of the load again",
        _ => "measure the part again, on any host like the others",
    };
    let mut incomplete: Vec<String> = experiments.iter().filter_map(missing).collect();
    let Some(last) = incomplete.pop() else { return Ok(SAME_OR_BETTER) };
    incomplete.iter().for_each(|what| warning(what));
    let output = output.to_string_lossy();
    let again = PrintedCommand::new("merge")
        .path(&output)
        .operand("PART.sqlite")
        .option("-o", &output)
        .flag("--replace");
    let hint = format!("merge the results file of that part, too: {again}; if it is lost, {again_how}");
    Err(CommandFailure::with_code(MISSING, last, Some(hint)))
}

fn missing(own: &MergedExperiment) -> Option<String> {
    let (last, others) = own.missing.split_last()?;
    let what = match others {
        [] => format!("part {last} of {} is missing", own.of),
        _ => {
            let others: Vec<String> = others.iter().map(ToString::to_string).collect();
            format!("parts {} and {last} of {} are missing", others.join(", "), own.of)
        }
    };
    Some(format!("experiment {} ({}): {what}; what the other parts have is merged", own.id.0, own.name))
}

#[cfg(test)]
mod tests {
    use results::ExperimentId;

    use super::*;

    #[test]
    fn all_missing_parts_are_named() {
        let of = |missing: &[u32]| MergedExperiment {
            id: ExperimentId(2),
            name: "demo".into(),
            runs: 4,
            files: Vec::new(),
            hosts: Vec::new(),
            of: 4,
            shared: false,
            missing: missing.to_vec(),
        };
        assert_eq!(missing(&of(&[])), None);
        let [one, several] = [&[3][..], &[1, 2, 4]].map(|numbers| missing(&of(numbers)).unwrap());
        assert_eq!(one, "experiment 2 (demo): part 3 of 4 is missing; what the other parts have is merged");
        assert!(several.contains("parts 1, 2 and 4 of 4 are missing"), "{several}");
        let error = incomplete(&[of(&[3])], Path::new("all.sqlite")).unwrap_err();
        let failure = error.downcast_ref::<CommandFailure>().unwrap();
        let hint = failure.hint.as_deref().unwrap();
        assert_eq!(failure.code, MISSING);
        assert!(hint.contains("pgdyno merge all.sqlite PART.sqlite -o all.sqlite --replace;"), "{hint}");
    }
}
