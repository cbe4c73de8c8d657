//! Runs the commands of the pages: README.md and those below `docs` for users.
//!
//! The commands of a page run in order in an empty folder, with its files, `$DATABASE_URL` and `region.osm.pbf`. Runs
//! are shortened. A command that needs more says so in a comment before it. `UPDATE=1` runs the commands as they stand
//! and puts what they print into the pages; `PAGES=WORD` takes the pages with this word in their path only.

mod page;
mod shape;
mod short;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{Place, Server, extract, finish_within};
use page::{Block, blocks};

/// What a page may need and the test does not have.
const NEEDS: [&str; 8] = [
    "a clone of PostgreSQL",
    "a clone of the repository",
    "a Kubernetes cluster",
    "a released package",
    "a second server",
    "PostgreSQL 18",
    "the network",
    "your own scripts",
];
/// Folders of pages, below `docs`.
const FOLDERS: [&str; 6] = ["tutorials", "how-to", "explanation", "measured", "reference", "developers"];
/// Pages at a time.
const WORKERS: usize = 4;
/// Longest time of a command, shortened and as it stands.
const PATIENCE: [Duration; 2] = [Duration::from_secs(120), Duration::from_secs(1800)];
/// Commands that end with their verdict, 0 to 3.
const JUDGING: [&str; 9] =
    ["bench", "tiles", "run", "limit", "ladder", "gate", "compare", "probe", "calibrate"];

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

fn pages() -> Vec<PathBuf> {
    let docs = workspace().join("docs");
    let mut found = vec![workspace().join("README.md"), docs.join("README.md")];
    for folder in FOLDERS {
        let Ok(entries) = std::fs::read_dir(docs.join(folder)) else { continue };
        found.extend(entries.flatten().map(|entry| entry.path()));
    }
    let word = std::env::var("PAGES").ok();
    let is_wanted = |path: &PathBuf| {
        let text = path.to_string_lossy();
        let is_named = word.as_ref().is_none_or(|word| text.contains(word));
        path.extension().is_some_and(|ending| ending == "md") && is_named
    };
    let mut found: Vec<_> = found.into_iter().filter(is_wanted).filter(|path| path.exists()).collect();
    found.sort();
    found
}

/// What the pages assume: an extract, and a stopped server with pgbench's tables and that extract.
struct Given {
    server: Arc<Server>,
    extract: PathBuf,
    _place: Place,
}

impl Given {
    fn new(is_short: bool) -> Self {
        let place = Place::new();
        let extract = match is_short {
            true => {
                place.run(["osm", "synth", "--scale", "0.02", "-o", "region.osm.pbf"]).expect(0);
                place.path().join("region.osm.pbf")
            }
            false => extract(),
        };
        let server = Server::made_with_postgis(|server| {
            place.run(["bench", "-i", "-q", "-s", "1", &server.url()]).expect(0);
            let file = extract.display().to_string();
            place.run(["osm", "load", "-d", &server.url(), &file]).expect(0);
        });
        Self { server: Arc::new(server), extract, _place: place }
    }
}

/// Where the commands of a page run.
struct Reader<'a> {
    place: Place,
    server: &'a Server,
    is_short: bool,
}

impl<'a> Reader<'a> {
    fn new(given: &Given, server: &'a Server, is_short: bool) -> Self {
        let place = Place::with_private_postgis("default");
        std::fs::create_dir(place.path().join("work")).expect("own folder");
        std::fs::copy(&given.extract, place.path().join("work/region.osm.pbf")).expect("the extract");
        short::put_program(&place.path().join("bin"), is_short);
        Self { place, server, is_short }
    }

    fn file(&self, name: &str, text: &str) {
        let is_experiment = self.is_short && name.ends_with(".toml");
        let text = if is_experiment { short::experiment(text) } else { text.to_owned() };
        self.place.write(&format!("work/{name}"), text);
    }

    /// What a command prints.
    fn run(&self, line: &str) -> Result<String, String> {
        // Only its environment is wanted.
        let program = self.place.command([""; 0]);
        let mut command = Command::new("sh");
        command.args(["-c", line]).current_dir(self.place.path().join("work")).stdin(Stdio::null());
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .env_remove("PGDYNO_RESULTS")
            .env("DATABASE_URL", self.server.url())
            .env("PATH", format!("{}:{path}", self.place.path().join("bin").display()));
        let done = finish_within(command, PATIENCE[usize::from(!self.is_short)]);
        let mut words = line.split_whitespace();
        let judges =
            words.next() == Some("pgdyno") && words.next().is_some_and(|verb| JUDGING.contains(&verb));
        match done.status.code() {
            Some(0) => Ok(done.stdout),
            Some(1..=3) if judges => Ok(done.stdout),
            code => Err(format!("{line}\n  ends with {code:?}:\n{}{}", done.stdout, done.stderr)),
        }
    }
}

/// Runs a page's commands; returns what is wrong, and the outputs with the lines of their blocks.
fn read(
    text: &str,
    given: &Given,
    server: &Server,
    is_short: bool,
) -> (Vec<String>, Vec<(usize, usize, String)>) {
    let lines: Vec<&str> = text.lines().collect();
    let (mut wrong, mut outputs) = (Vec::new(), Vec::new());
    let mut reader = None;
    // Of the commands of the last block, if they ran.
    let mut printed: Option<String> = None;
    for block in blocks(text) {
        let reader = reader.get_or_insert_with(|| Reader::new(given, server, is_short));
        match block {
            Block::File { name, text } => reader.file(&name, &text),
            Block::Commands { needs: Some(need), .. } => {
                if !NEEDS.contains(&need.as_str()) {
                    wrong.push(format!("needs: {need}: not one of {}", NEEDS.join(", ")));
                }
                printed = None;
            }
            Block::Commands { commands, needs: None } => {
                let mut output = Some(String::new());
                for command in commands {
                    match (reader.run(&command), &mut output) {
                        (Ok(text), Some(output)) => *output += &text,
                        (Ok(_), None) => {}
                        (Err(why), _) => {
                            wrong.push(why);
                            output = None;
                        }
                    }
                }
                printed = output;
            }
            Block::Output { from, to } => {
                let Some(output) = printed.take() else { continue };
                if let Some(lacking) = shape::differs(&lines[from..to].join("\n"), &output) {
                    let lacking = lacking.join("\", \"");
                    wrong.push(format!("line {}: the output has no \"{lacking}\":\n{output}", from + 1));
                }
                outputs.push((from, to, output));
            }
        }
    }
    (wrong, outputs)
}

/// A page with its outputs replaced; an excerpt, which has a line `…`, stays.
fn updated(text: &str, outputs: &[(usize, usize, String)]) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (from, to, output) in outputs.iter().rev() {
        if lines[*from..*to].iter().all(|line| line.trim() != "…") {
            let new = output.trim_matches('\n').lines().map(|line| line.trim_end().to_owned());
            lines.splice(from..to, new);
        }
    }
    lines.join("\n") + "\n"
}

#[test]
fn commands_of_pages_run() {
    let is_short = std::env::var_os("UPDATE").is_none();
    let all: VecDeque<PathBuf> = pages().into();
    let has_commands = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("a page");
        blocks(&text).iter().any(|block| matches!(block, Block::Commands { needs: None, .. }))
    };
    let given = all.iter().any(has_commands).then(|| Given::new(is_short));
    let (left, wrong) = (Mutex::new(all), Mutex::new(Vec::new()));
    // Outputs for a page come from one command at a time.
    let workers = if is_short { WORKERS } else { 1 };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let Some(given) = &given else { return };
                let mut server = None;
                loop {
                    let Some(path) = left.lock().expect("a list").pop_front() else { break };
                    let text = std::fs::read_to_string(&path).expect("a page");
                    let server = server.get_or_insert_with(|| Server::start_copy(given.server.clone(), &[]));
                    let (found, outputs) = read(&text, given, server, is_short);
                    let found = found.into_iter().map(|why| format!("{}: {why}", path.display()));
                    wrong.lock().expect("a list").extend(found);
                    if !is_short {
                        std::fs::write(&path, updated(&text, &outputs)).expect("a page");
                    }
                }
            });
        }
    });
    let wrong = wrong.into_inner().expect("a list");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn outputs_are_put_into_their_blocks() {
    let page = "```sh\na\n```\n```text\nold\n```\nthen\n```sh\nb\n```\n```text\npart\n…\n```\n";
    let outputs = [(4, 5, "new\nmore\n".to_owned()), (11, 13, "all\n".to_owned())];
    let wanted = page.replace("old", "new\nmore");
    assert_eq!(updated(page, &outputs), wanted);
}
