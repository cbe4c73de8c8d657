//! Errors of users' changes, with the line of the file.

use server::change::ChangeError;

use crate::error::LabError;
use crate::experiment::ExperimentFile;

pub(super) fn placed(file: &ExperimentFile, mut error: LabError) -> LabError {
    if let LabError::OwnChange(change) = &mut error {
        let part = change.source.cause().and_then(ChangeError::part);
        let line = file.line_of_change(&change.name, &change.level, part);
        change.at = line.map(|line| format!("{}:{line}: ", file.path.display()));
    }
    error
}
