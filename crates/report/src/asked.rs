//! What an experiment was asked for beside its file: the options of `pgdyno run` that make it this experiment, wherever a
//! command is printed that repeats it or goes on with it.

use jiff::SignedDuration;
use serde::Serialize;
use spec::Experiment;
use spec::plan::Slices;
use spec::shell::Command;

/// Options that stand behind the name of its file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Options {
    /// `--full`.
    pub full: bool,
    /// `--slices`, where it is other than the file's own.
    pub slices: Option<String>,
    /// `--rounds`, where there are other than the file says, or it says nothing.
    pub rounds: Option<u32>,
    /// `--same`.
    pub same: bool,
    /// Whether `--data` is to name an extract.
    pub data: bool,
    /// `--allow-commands`: whether its file names commands or programs.
    pub allow_commands: bool,
}

impl Options {
    /// Of an experiment; `command` is what was typed last, where that is known.
    pub(crate) fn of(experiment: &Experiment, command: Option<&Command>) -> Self {
        let file: toml::Table = experiment.file_text.parse().unwrap_or_default();
        let given = |option: &str| command.is_some_and(|command| command.has(option));
        // The long form of an experiment is no taste any more.
        let no_taste = file.contains_key("taste") && experiment.taste.is_none();
        let full = file.contains_key("full") && (given("--full") || no_taste);
        let rounds = said(&file, full, "rounds").and_then(toml::Value::as_integer);
        Self {
            full,
            slices: slices(experiment, said(&file, full, "slices")),
            rounds: Some(experiment.rounds).filter(|_| rounds != Some(experiment.rounds.into())),
            same: given("--same"),
            data: experiment.file_text.contains("PGDYNO_DATA"),
            allow_commands: false,
        }
    }

    pub(crate) fn added_to(&self, command: Command) -> Command {
        let flag =
            |command: Command, name: &str, given: bool| if given { command.flag(name) } else { command };
        let option = |command: Command, name: &str, value: Option<&str>| match value {
            Some(value) => command.option(name, value),
            None => command,
        };
        let command = flag(command, "--allow-commands", self.allow_commands);
        let command = flag(command, "--full", self.full);
        let command = option(command, "--data", self.data.then_some("EXTRACT"));
        let command = option(command, "--slices", self.slices.as_deref());
        let command = flag(command, "--same", self.same);
        option(command, "--rounds", self.rounds.map(|rounds| rounds.to_string()).as_deref())
    }
}

/// What the file says of how a run is measured, its long form first where that was asked for.
fn said<'f>(file: &'f toml::Table, full: bool, key: &str) -> Option<&'f toml::Value> {
    let of = |table: &'f toml::Table| table.get("measure")?.as_table()?.get(key);
    let long = file.get("full").and_then(toml::Value::as_table).filter(|_| full);
    long.and_then(of).or_else(|| of(file))
}

/// What was asked for, where the file says something else.
fn slices(experiment: &Experiment, said: Option<&toml::Value>) -> Option<String> {
    // What no file and no plan of pgdyno's made has nothing of the kind.
    let asked = match experiment.plan.plan()?.content.measure.slices {
        None => "auto".to_owned(),
        Some(Slices::Never) => "false".to_owned(),
        Some(Slices::Always) => "true".to_owned(),
        Some(Slices::Length(seconds)) => format!("{}ms", (seconds * 1e6).round() / 1e3),
    };
    let own = match said {
        None => "auto".to_owned(),
        Some(toml::Value::Boolean(wanted)) => wanted.to_string(),
        Some(length) => {
            let length: SignedDuration = length.as_str()?.trim().parse().ok()?;
            format!("{}ms", (length.as_secs_f64() * 1e6).round() / 1e3)
        }
    };
    (asked != own).then_some(asked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::OrderScheme;
    use spec::plan::Plan;

    fn experiment(file: &str, slices: Option<Slices>, rounds: u32, taste: Option<&str>) -> Experiment {
        let mut plan = Plan::default();
        plan.content.measure.slices = slices;
        Experiment {
            hash: String::new(),
            name: "two".into(),
            question: String::new(),
            file_text: file.into(),
            plan: plan.into(),
            control: None,
            seed: 1,
            order_scheme: OrderScheme::Pairs,
            rounds,
            compare_factor: None,
            base: None,
            arms: Vec::new(),
            margin: 0.03,
            taste: taste.map(str::to_owned),
            created_at: String::new(),
        }
    }

    /// `pgdyno run two.toml --slices 250ms --rounds 6` was told to be repeated by `pgdyno run two.toml`.
    #[test]
    fn options_that_make_an_experiment_are_in_the_command_that_repeats_it() {
        const NONE: Option<Slices> = None;
        const QUARTER: Option<Slices> = Some(Slices::Length(0.25));
        const NEVER: Option<Slices> = Some(Slices::Never);
        const ALWAYS: Option<Slices> = Some(Slices::Always);
        let four = "[measure]\nrounds = 4\n";
        let cut = "[measure]\nslices = \"0.25s\" # a comment\nrounds = 4\n";
        let uncut = "[measure]\nrounds = 4\nslices = false\n";
        let long = "taste = \"short\"\n[measure]\nrounds = 4\n[full.measure]\nrounds = 8\nslices = true\n";
        for (file, plan, rounds, taste, command, wanted) in [
            (four, NONE, 4, None, None, ""),
            (four, QUARTER, 2, None, None, " --slices 250ms --rounds 2"),
            (four, NEVER, 6, None, None, " --slices false --rounds 6"),
            (four, ALWAYS, 4, None, None, " --slices true"),
            (four, NONE, 4, None, Some("pgdyno run two.toml --same"), " --same"),
            (cut, QUARTER, 4, None, None, ""),
            (cut, NONE, 4, None, None, " --slices auto"),
            (uncut, NEVER, 4, None, None, ""),
            ("[measure]\n", NONE, 8, None, None, " --rounds 8"),
            (long, NONE, 4, Some("short"), None, ""),
            (long, ALWAYS, 8, None, None, " --full"),
            (long, ALWAYS, 12, None, None, " --full --rounds 12"),
            ("x = \"$PGDYNO_DATA\"\n[measure]\nrounds = 4", NONE, 4, None, None, " --data EXTRACT"),
        ] {
            let command = command.and_then(Command::read);
            let options = Options::of(&experiment(file, plan, rounds, taste), command.as_ref());
            let words = options.added_to(Command::new("run")).to_string();
            assert_eq!(words, format!("pgdyno run{wanted}"), "{file} {plan:?}");
        }
    }
}
