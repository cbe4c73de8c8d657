//! Experiment files that compare two arms in one cell.

/// Clients of every comparison.
pub(crate) const CLIENTS: u32 = 4;
/// Scale of pgbench's tables.
const SCALE: u32 = 10;
/// Margin within which arms are the same, %.
const MARGIN_PCT: u32 = 3;
/// Warm-up of each arm, ms.
const WARM_UP_MS: u32 = 500;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SliceWorkload {
    /// pgbench's TPC-B script, which writes
    Tpcb,
    /// pgbench's simple update, which changes one row and adds one
    Updates,
    /// pgbench's select-only script
    Select,
}

impl SliceWorkload {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tpcb => "tpcb-like",
            Self::Updates => "simple-update",
            Self::Select => "select-only",
        }
    }

    fn tables(self) -> String {
        format!(
            "[target]\nmanaged = {{ name = \"pgbench\" }}\n[prepare]\npgbench = {{ scale = {SCALE} }}\n\
             [workload.{0}]\npgbench = {{ builtin = \"{0}\", mode = \"prepared\" }}\n",
            self.name()
        )
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arms {
    /// Nothing: two separate servers that do the same.
    Same,
    /// An index on a column that updates change, missing in the base.
    Index,
}

impl Arms {
    /// The base first.
    pub(crate) fn names(self) -> [&'static str; 2] {
        match self {
            Self::Same => ["a", "b"],
            Self::Index => ["without", "with"],
        }
    }

    fn tables(self) -> String {
        let [base, new] = self.names();
        match self {
            // A setting that needs separate servers, and that has no effect here.
            Self::Same => format!(
                "[settings.{base}]\nshared_buffers = \"256MB\"\n[settings.{new}]\nshared_buffers = \"257MB\"\n"
            ),
            Self::Index => format!(
                "[change.index.{base}]\n[change.index.{new}]\ndo = \"CREATE INDEX ON pgbench_accounts (abalance)\"\n"
            ),
        }
    }

    fn factor(self) -> &'static str {
        match self {
            Self::Index => "index",
            Self::Same => "settings",
        }
    }
}

/// A comparison of two arms in slices.
#[derive(Debug, Clone)]
pub(crate) struct SliceComparison {
    pub(crate) workload: SliceWorkload,
    pub(crate) arms: Arms,
    pub(crate) rounds: u32,
    /// Measured time per round and arm, ms.
    pub(crate) each_ms: u32,
}

impl SliceComparison {
    /// The experiment file.
    pub(crate) fn text(&self) -> String {
        let Self { workload, arms, rounds, each_ms } = self;
        let (tables, settings, factor, [base, _]) =
            (workload.tables(), arms.tables(), arms.factor(), arms.names());
        format!(
            "question = \"What can be seen?\"\n{tables}[factors]\nclients = {CLIENTS}\n\
             [compare]\nfactor = \"{factor}\"\nbase = \"{base}\"\nmargin = \"{MARGIN_PCT}%\"\n{settings}\
             [measure]\nwarmup = \"{WARM_UP_MS}ms\"\nduration = \"{each_ms}ms\"\nrounds = {rounds}\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use lab::experiment::ExperimentFile;

    use super::*;

    /// The plan of its file.
    fn planned(comparison: &SliceComparison) -> String {
        let folder = tempfile::tempdir().unwrap();
        let text = comparison.text();
        let file = ExperimentFile::of_text(&folder.path().join("comparison.toml"), &text);
        let file = file.unwrap_or_else(|error| panic!("{error}\n{text}"));
        lab::plan::words(&lab::plan::resolve(&file, &lab::facts::of_files(&file).unwrap()).unwrap())
            .join("\n")
    }

    #[test]
    fn files_ask_for_what_is_meant() {
        for (workload, arms) in [
            (SliceWorkload::Tpcb, Arms::Same),
            (SliceWorkload::Select, Arms::Same),
            (SliceWorkload::Updates, Arms::Index),
        ] {
            let comparison = SliceComparison { workload, arms, rounds: 12, each_ms: 2_500 };
            let said = planned(&comparison);
            for words in ["side by side on 2 copies", "arms take turns in slices of"] {
                assert!(said.contains(words), "{comparison:?}: {said}");
            }
        }
    }
}
