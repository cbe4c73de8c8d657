//! Experiment files that compare two arms in one cell, and no more.

use std::fmt::Write;

use clap::ValueEnum;

/// Clients of every comparison.
pub(crate) const CLIENTS: u32 = 4;
/// Of pgbench's tables.
const SCALE: u32 = 10;
/// Load of each arm before anything counts, ms.
const WARM_UP_MS: u32 = 500;

/// What is asked of the servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// pgbench's own, which writes
    Tpcb,
    /// pgbench's own, which changes one row and adds one
    #[value(skip)]
    Updates,
    /// pgbench's own, which looks up one row
    Select,
    /// Vector tiles of the polygons of an extract
    Polygons,
    /// Two lookups; in the other arm every twentieth transaction does them twice
    #[value(skip)]
    Lookups,
}

impl Workload {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tpcb => "tpcb-like",
            Self::Updates => "simple-update",
            Self::Select => "select-only",
            Self::Polygons => "polygons",
            Self::Lookups => "lookups",
        }
    }

    /// Target, preparation and workload.
    fn tables(self) -> String {
        let pgbench = |workload: &str| {
            format!(
                "[target]\nmanaged = {{ name = \"pgbench\" }}\n[prepare]\npgbench = {{ scale = {SCALE} }}\n{workload}"
            )
        };
        match self {
            Self::Tpcb | Self::Updates | Self::Select => pgbench(&format!(
                "[workload.{0}]\npgbench = {{ builtin = \"{0}\", mode = \"prepared\" }}\n",
                self.name()
            )),
            Self::Polygons => "[target]\nmanaged = { name = \"tiles\", extensions = [\"postgis\"] }\n\
                 [prepare]\nosm = { extract = \"$PGDYNO_DATA\" }\n\
                 [workload.polygons]\ntiles = { table = \"planet_osm_polygon\", zooms = [12, 16], picker = \"data\" }\n"
                .to_owned(),
            Self::Lookups => {
                let scripts = Arms::Scripts.names().map(|name| {
                    format!("[workload.{name}]\npgbench = {{ files = \"{name}.sql\", mode = \"prepared\" }}\n")
                });
                pgbench(&scripts.concat())
            }
        }
    }
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arms {
    /// Nothing: servers of their own that do the same.
    Same,
    /// A setting of the server, with its values, on servers of their own.
    Setting { name: &'static str, values: [&'static str; 2] },
    /// The two scripts of [`Workload::Lookups`].
    Scripts,
    /// An index on what updates change, which the base has not.
    Index,
}

impl Arms {
    /// The base first.
    pub(crate) fn names(self) -> [&'static str; 2] {
        match self {
            Self::Same => ["a", "b"],
            Self::Setting { values, .. } => values,
            Self::Scripts => ["plain", "more"],
            Self::Index => ["without", "with"],
        }
    }

    fn tables(self) -> String {
        let [base, new] = self.names();
        // A difference that takes servers of their own, and that nothing here can feel.
        let buffers = ["256MB", "257MB"];
        let own = match self {
            Self::Scripts => return String::new(),
            Self::Index => {
                return format!(
                    "[change.index.{base}]\n[change.index.{new}]\ndo = \"CREATE INDEX ON pgbench_accounts (abalance)\"\n"
                );
            }
            Self::Same => [String::new(), String::new()],
            Self::Setting { name, values } => values.map(|value| format!("{name} = \"{value}\"\n")),
        };
        [base, new].iter().zip(buffers).zip(own).fold(String::new(), |mut text, ((arm, buffers), own)| {
            let _ = write!(text, "[settings.{arm}]\nshared_buffers = \"{buffers}\"\n{own}");
            text
        })
    }

    fn factor(self) -> &'static str {
        match self {
            Self::Scripts => "workload",
            Self::Index => "index",
            Self::Same | Self::Setting { .. } => "settings",
        }
    }
}

/// Whether arms take turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Slices {
    /// As pgdyno decides by itself.
    Usual,
    /// Also where it would rather not.
    Always,
    Length(String),
    Never,
}

/// A comparison of two arms.
#[derive(Debug, Clone)]
pub(crate) struct Comparison {
    pub(crate) workload: Workload,
    pub(crate) arms: Arms,
    pub(crate) slices: Slices,
    /// `None`: as calibrate advised.
    pub(crate) placement: Option<String>,
    pub(crate) rounds: u32,
    /// What a round measures of each arm, ms.
    pub(crate) each_ms: u32,
    /// What counts as the same, %.
    pub(crate) margin_pct: u32,
}

impl Comparison {
    /// The file that asks for it.
    pub(crate) fn text(&self) -> String {
        let Self { workload, arms, rounds, each_ms, margin_pct, .. } = self;
        let slices = match &self.slices {
            Slices::Usual => String::new(),
            Slices::Always => "slices = true\n".to_owned(),
            Slices::Length(length) => format!("slices = \"{length}\"\n"),
            Slices::Never => "slices = false\n".to_owned(),
        };
        let placement = self.placement.as_ref().map(|name| format!("placement = \"{name}\"\n"));
        let placement = placement.unwrap_or_default();
        let (tables, settings, factor, [base, _]) =
            (workload.tables(), arms.tables(), arms.factor(), arms.names());
        format!(
            "question = \"What can be seen?\"\n{tables}[factors]\nclients = {CLIENTS}\n{placement}\
             [compare]\nfactor = \"{factor}\"\nbase = \"{base}\"\nmargin = \"{margin_pct}%\"\n{settings}\
             [measure]\nwarmup = \"{WARM_UP_MS}ms\"\nduration = \"{each_ms}ms\"\nrounds = {rounds}\n{slices}"
        )
    }
}

/// The scripts of [`Workload::Lookups`] by their files' names. Both draw the same.
pub(crate) fn scripts() -> [(String, String); 2] {
    let lookups = "SELECT abalance FROM pgbench_accounts WHERE aid = :first;\n\
         SELECT abalance FROM pgbench_accounts WHERE aid = :second;\n";
    let plain = format!(
        "\\set first random(1, 100000 * :scale)\n\\set second random(1, 100000 * :scale)\n\\set die random(1, 20)\n{lookups}"
    );
    let more = format!("{plain}\\if :die = 1\n{lookups}\\endif\n");
    let [base, new] = Arms::Scripts.names().map(|name| format!("{name}.sql"));
    [(base, plain), (new, more)]
}

#[cfg(test)]
mod tests {
    use lab::experiment::ExperimentFile;
    use lab::plan::Plan;
    use target::settings::Machine;

    use super::*;

    /// What the plan of a file says of it.
    fn planned(comparison: &Comparison) -> String {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in scripts() {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let text = comparison.text();
        let file = ExperimentFile::of_text(&folder.path().join("comparison.toml"), &text);
        let file = file.unwrap_or_else(|error| panic!("{error}\n{text}"));
        Plan::expand(&file, Machine::here()).unwrap().words().join("\n")
    }

    #[test]
    fn files_ask_for_what_is_meant() {
        const TURNS: &str = "arms take turns in slices of";
        let setting = Arms::Setting { name: "full_page_writes", values: ["on", "off"] };
        let length = Slices::Length("250ms".to_owned());
        for (workload, arms, slices, wanted) in [
            (Workload::Tpcb, Arms::Same, Slices::Usual, ["side by side on 2 copies", TURNS]),
            (Workload::Select, Arms::Same, length, ["side by side on 2 copies", "slices of 250 ms"]),
            (
                Workload::Tpcb,
                Arms::Same,
                Slices::Never,
                ["side by side on 2 copies", "no slices: slices = false"],
            ),
            (Workload::Lookups, Arms::Scripts, Slices::Usual, ["next to each other on one server", TURNS]),
            (Workload::Updates, Arms::Index, Slices::Usual, ["side by side on 2 copies", TURNS]),
            (Workload::Tpcb, setting, Slices::Always, ["side by side on 2 copies", TURNS]),
            (Workload::Tpcb, setting, Slices::Never, ["half-rounds", "no slices: slices = false"]),
        ] {
            let placement = (workload == Workload::Select).then(|| "free".to_owned());
            let comparison =
                Comparison { workload, arms, slices, placement, rounds: 12, each_ms: 2_500, margin_pct: 3 };
            let said = planned(&comparison);
            assert!(wanted.iter().all(|words| said.contains(words)), "{comparison:?}: {said}");
        }
    }
}
