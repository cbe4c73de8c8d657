//! Layout of the help: examples and the main options first, all others below headings.

use std::ffi::OsString;

use clap::Command;

/// Questions with their commands, above the list of commands.
const QUESTIONS: &str = "\
{about-with-newline}
Is my change faster?
  pgdyno bench -S --managed --against 'settings: jit=off'
How much load can my database take?
  pgdyno limit --promise 'p99 < 20ms' -f checkout.sql DBNAME
At how many clients does it get slow?
  pgdyno ladder --clients 1,2,4,8,16 -S --managed
How fast are my map tiles, and at which zoom?
  pgdyno tiles -d DBNAME my_table --zooms 10-16
How long does an OpenStreetMap import take?
  pgdyno osm load region.osm.pbf -d DBNAME

{usage-heading} {usage}

{all-args}{after-help}";

const WITH_EXAMPLES: &str = "{about-with-newline}\n{usage-heading} {usage}{after-help}\n\n{all-args}";

/// Commands with many options, and the ten options that come first.
const FIRST: [(&str, [&str; 10]); 4] = [
    (
        "bench",
        [
            "files",
            "select_only",
            "scale",
            "client",
            "time",
            "rate",
            "latency_limit",
            "managed",
            "against",
            "report",
        ],
    ),
    (
        "ladder",
        [
            "clients",
            "rate",
            "rate_per_client",
            "promise",
            "time",
            "files",
            "select_only",
            "scale",
            "managed",
            "report",
        ],
    ),
    (
        "limit",
        [
            "promise",
            "files",
            "select_only",
            "scale",
            "clients",
            "time",
            "highest",
            "managed",
            "against",
            "report",
        ],
    ),
    (
        "tiles",
        ["zooms", "dbname", "osm", "managed", "clients", "duration", "rate", "via", "against", "report"],
    ),
];

pub(super) fn arranged(program: Command) -> Command {
    let program = with_full_stops(program);
    FIRST.iter().fold(program.help_template(QUESTIONS), |program, (name, first)| {
        program.mut_subcommand(name, |command| with_first(command, first).help_template(WITH_EXAMPLES))
    })
}

/// Ends descriptions with the full stop that clap removes.
fn with_full_stops(command: Command) -> Command {
    let ended = |text: &clap::builder::StyledStr| {
        let text = text.to_string();
        let is_ended = text.ends_with(['.', '?', '!', ':', ')']) || text.is_empty();
        // Suffixes that clap adds in brackets come after the full stop.
        match text.rsplit_once(" [") {
            Some((sentence, rest)) if text.ends_with(']') && !sentence.ends_with(['.', ')']) => {
                format!("{sentence}. [{rest}")
            }
            _ if is_ended || text.ends_with(']') => text,
            _ => text + ".",
        }
    };
    let command = command.mut_args(|arg| match arg.get_help().map(ended) {
        Some(help) => arg.help(help),
        None => arg,
    });
    let about = command.get_about().map(ended);
    let command = if let Some(about) = about { command.about(about) } else { command };
    command.mut_subcommands(with_full_stops)
}

/// Puts these options first, without a heading; others without a heading get one.
fn with_first(command: Command, first: &[&str]) -> Command {
    command.mut_args(|arg| {
        let place = first.iter().position(|id| arg.get_id() == id);
        let is_common = matches!(arg.get_id().as_str(), "help" | "version");
        match place {
            Some(place) => arg.help_heading(None::<&str>).display_order(place),
            None if is_common => arg.display_order(first.len()),
            None if arg.get_help_heading().is_none() && !arg.is_positional() => {
                arg.help_heading("Further options")
            }
            None => arg,
        }
    })
}

/// Handles `-?`, and `-h` as the only argument of a command. Returns the arguments and the program to parse
/// them with.
pub(super) fn asked(program: Command, args: Vec<OsString>) -> (Command, Vec<OsString>) {
    let args = with_question_mark(&program, args);
    let name = args.get(1).and_then(|name| name.to_str()).unwrap_or_default();
    let first = FIRST.iter().find(|(command, _)| *command == name).map(|(_, first)| first);
    match first.filter(|_| args.iter().any(|arg| arg == "-?")) {
        None => (program, args),
        Some(first) => (program.mut_subcommand(name, |command| only(command, first)), args),
    }
}

/// `-h` is the server's host in some commands; without a value it can only mean help.
fn with_question_mark(program: &Command, mut args: Vec<OsString>) -> Vec<OsString> {
    let Some((last, before)) = args.split_last().filter(|(last, _)| *last == "-h") else { return args };
    debug_assert_eq!(last, "-h");
    let mut command = Some(program);
    for name in before.iter().skip(1) {
        command = command.and_then(|command| command.find_subcommand(name));
    }
    let takes_host =
        command.is_some_and(|command| command.get_arguments().any(|arg| arg.get_short() == Some('?')));
    if takes_host {
        args.pop();
        args.push("-?".into());
    }
    args
}

fn only(command: Command, first: &[&str]) -> Command {
    let all = format!("All options: pgdyno {} --help", command.get_name());
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let shown = |id: &str| first.contains(&id) || matches!(id, "help" | "version");
    command
        .mut_args(
            |arg| if shown(arg.get_id().as_str()) || arg.is_positional() { arg } else { arg.hide(true) },
        )
        .after_help(format!("{examples}\n{all}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn shown(line: &str) -> String {
        let args: Vec<OsString> = line.split(' ').map(Into::into).collect();
        super::super::parse_from(args).unwrap_err().to_string()
    }

    #[test]
    fn the_first_screen_of_bench_has_ten_options_and_three_examples() {
        for line in ["pgdyno bench -h", "pgdyno bench -?"] {
            let help = shown(line);
            let options = help.split("Options:").nth(1).unwrap();
            let count = options
                .lines()
                .filter(|line| ["  -", "      --"].iter().any(|begin| line.starts_with(begin)))
                .count();
            assert_eq!(count, 12, "ten, help and version:\n{help}");
            assert_eq!(help.matches("\n  pgdyno bench ").count(), 3, "{help}");
            assert!(help.contains("All options: pgdyno bench --help"), "{help}");
        }
        let whole = shown("pgdyno bench --help");
        let at = |words: &str| whole.find(words).unwrap_or_else(|| panic!("{words}: {whole}"));
        assert!(
            at("--against") < at("Initialization:") && at("--against") < at("Further options:"),
            "{whole}"
        );
    }

    #[test]
    fn a_lone_h_is_help_in_every_command() {
        fn all(command: &Command, path: &str, found: &mut Vec<String>) {
            for deeper in
                command.get_subcommands().filter(|deeper| !matches!(deeper.get_name(), "pgbench" | "help"))
            {
                let path = format!("{path} {}", deeper.get_name());
                found.push(format!("{path} -h"));
                all(deeper, &path, found);
            }
        }
        let mut lines = vec!["pgdyno -h".to_owned()];
        all(&super::super::Cli::command(), "pgdyno", &mut lines);
        for line in lines {
            assert!(shown(&line).contains("Usage: pgdyno"), "{line}: {}", shown(&line));
        }
        // With other arguments it is the host.
        let args = "pgdyno bench -S -h".split(' ').map(Into::into);
        assert!(super::super::parse_from(args).is_err_and(|error| error.to_string().contains("--host")));
    }

    /// Regression: options after a group stood under its heading, such as --results under "Users".
    #[test]
    fn a_heading_has_only_its_own_options() {
        const GENERAL: [&str; 12] = [
            "verbose",
            "beside",
            "results",
            "format",
            "experiment",
            "pg_bin",
            "connect",
            "driver",
            "level",
            "define",
            "variables",
            "builtins",
        ];
        fn check(command: &Command) {
            let under = |heading: &str| -> Vec<&str> {
                let its = |arg: &&clap::Arg| arg.get_help_heading() == Some(heading);
                command.get_arguments().filter(its).map(|arg| arg.get_id().as_str()).collect()
            };
            let name = command.get_name();
            for arg in command
                .get_arguments()
                .filter(|arg| GENERAL.contains(&arg.get_id().as_str()) || arg.is_positional())
            {
                let heading = arg.get_help_heading();
                assert!(heading.is_none_or(|of| of == "Further options"), "{name}: {arg}: {heading:?}");
            }
            let users = under("Users");
            assert!(
                users.iter().all(|id| ["users", "arrivals", "active_share", "sessions"].contains(id)),
                "{users:?}"
            );
            let compared = under("Comparison");
            let own = [
                "source",
                "configure",
                "undo",
                "change_server",
                "margin",
                "metric",
                "rounds",
                "slices",
                "keep_sessions",
                "check_time",
                "save",
                "dry_run",
                "again",
                "same",
            ];
            assert!(compared.iter().all(|id| own.contains(id)), "{name}: {compared:?}");
            // Without a comparison these are for any result.
            assert!(name == "bench" || !compared.contains(&"save"), "{name}: {compared:?}");
            assert!(!under("osm2pgsql").iter().any(|id| ["replace", "save", "dry_run"].contains(id)));
            command.get_subcommands().filter(|deeper| deeper.get_name() != "pgbench").for_each(check);
        }
        check(&arranged(super::super::Cli::command()));
    }

    #[test]
    fn options_of_the_first_screen_exist() {
        let program = super::super::Cli::command();
        for (name, first) in FIRST {
            let command = program.find_subcommand(name).unwrap();
            for id in first {
                assert!(command.get_arguments().any(|arg| arg.get_id() == id), "{name}: {id}");
            }
        }
    }
}
