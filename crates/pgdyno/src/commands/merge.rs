//! `pgdyno merge`: several results files as one.

use std::path::{Path, PathBuf};

use ::report::Conclusion;
use results::{CellValue, Merged, MergedExperiment, Table};
use spec::shell::PrintedCommand;

use super::{print, print_conclusion, signals};
use crate::exit::{CommandFailure, ExitResult, INTERRUPTED, MISSING, SAME_OR_BETTER, USAGE};
use crate::options::FormatOption;
use crate::print::{talk, warning};

/// `pgdyno merge`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Results files. Runs that several of them have count once
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// New results file to write
    #[arg(long, short = 'o', value_name = "FILE")]
    output: PathBuf,
    /// Replace an existing results file, which may be one of the merged files
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
    print_conclusion(&conclusion(&merged, args), args.format.format)?;
    print(table(&merged), args.format.format)?;
    for file in &merged.empty {
        warning(&format!("{}: no experiment in it", file.display()));
    }
    if merged.experiments.is_empty() {
        let hint = "a part that ended before its first run has none: measure it again";
        return Err(CommandFailure::with_code(
            MISSING,
            "nothing to merge: no file has an experiment",
            Some(hint.into()),
        ));
    }
    if merged.known > 0 {
        let runs = spec::count(merged.known, "run");
        talk(&format!("{runs} left out, which another of the files has, too"));
    }
    talk(&format!("results: {}", args.output.display()));
    incomplete(&merged.experiments, &args.output)
}

/// `all.sqlite has 48 runs of 2 experiments, from 3 files.`
fn conclusion(merged: &Merged, args: &Args) -> Conclusion {
    let runs = merged.experiments.iter().map(|own| own.runs).sum::<u64>();
    Conclusion::new(format!(
        "{} has {} of {}, from {}.",
        args.output.display(),
        spec::count(runs, "run"),
        spec::count(merged.experiments.len() as u64, "experiment"),
        spec::count(args.files.len() as u64, "file")
    ))
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
    let open = |own: &&MergedExperiment| !own.missing.is_empty() || own.partial > 0;
    for own in experiments.iter().filter(open) {
        if let Some((what, whole)) = missing(own).zip(own.whole_later) {
            talk(&format!("{what}; experiment {} measured the same again, with all parts", whole.0));
        }
    }
    let mut incomplete: Vec<&MergedExperiment> =
        experiments.iter().filter(open).filter(|own| own.whole_later.is_none()).collect();
    let Some(last) = incomplete.pop() else { return Ok(SAME_OR_BETTER) };
    incomplete.into_iter().filter_map(missing).for_each(|what| warning(&what));
    let again_how = match last.shared {
        true => "measure all parts of the load again",
        false => "measure the part again, on any host like the others",
    };
    let output = output.to_string_lossy();
    let again = PrintedCommand::new("merge")
        .path(&output)
        .operand("PART.sqlite")
        .option("-o", &output)
        .flag("--replace");
    let hint = format!("merge the results file of that part, too: {again}; if it is lost, {again_how}");
    Err(CommandFailure::with_code(MISSING, missing(last).unwrap_or_default(), Some(hint)))
}

fn missing(own: &MergedExperiment) -> Option<String> {
    let what = match own.missing.split_last() {
        None if own.partial == 0 => return None,
        None => format!("{} of {} runs lack a share of their load, and are invalid", own.partial, own.runs),
        Some((last, [])) => {
            format!("part {last} of {} is missing; what the other parts have is merged", own.of)
        }
        Some((last, others)) => {
            let others: Vec<String> = others.iter().map(ToString::to_string).collect();
            let others = others.join(", ");
            format!(
                "parts {others} and {last} of {} are missing; what the other parts have is merged",
                own.of
            )
        }
    };
    Some(format!("experiment {} ({}): {what}", own.id.0, own.name))
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
            whole_later: None,
            partial: 0,
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
        let shares = MergedExperiment { partial: 2, shared: true, ..of(&[]) };
        assert_eq!(
            missing(&shares).unwrap(),
            "experiment 2 (demo): 2 of 4 runs lack a share of their load, and are invalid"
        );
        assert!(incomplete(&[shares], Path::new("all.sqlite")).is_err());
        let again = MergedExperiment { whole_later: Some(ExperimentId(3)), ..of(&[3]) };
        assert_eq!(incomplete(&[again], Path::new("all.sqlite")).unwrap(), SAME_OR_BETTER);
    }
}
