//! `pgdyno table`: stored results as rows and columns.

use report::tables;
use results::Store;

use super::{load, print, results_path};
use crate::cli::{self, TableKind};
use crate::exit::{Outcome, SAME_OR_BETTER};

pub(crate) fn run(args: &cli::Table) -> Outcome {
    let format = args.format.format;
    if args.kind == TableKind::Experiments {
        let store = Store::open_read_only(&results_path(&args.selection.results))?;
        let list =
            "SELECT experiment_id AS id, name, question, runs, base, substr(created_at, 1, 16) AS created_utc
                    FROM v_experiment ORDER BY experiment_id";
        print(&store.query(list)?, format)?;
        return Ok(SAME_OR_BETTER);
    }
    let data = load(&args.selection)?;
    let table = match args.kind {
        TableKind::Runs => tables::runs(&data),
        TableKind::Cells | TableKind::Experiments => tables::cells(&data),
        TableKind::Crosstab => tables::crosstab(&data),
        TableKind::Phases => tables::phases(&data),
        TableKind::Sizes => tables::sizes(&data),
    };
    print(&table, format)?;
    Ok(SAME_OR_BETTER)
}
