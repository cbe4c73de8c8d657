//! Builds what an order says, step by step, and keeps it in the cache.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use spec::{Class, Error, is_disk_full};

use super::base::{BasePostgres, PROGRAMS};
use super::cache::{self, ARCHIVE, BuildInUse, CachedBuild, HALF, INSTALLED, WORK};
use super::kind::BuildKind;
use super::missing::of_library;
use super::order::BuildOrder;
use super::seal;
use crate::child::{Account, Program, Watchdog};
use crate::home::{Dir, Home, HomeFolder, Readable};
use crate::host::Disk;
use crate::placement::allowed;
use crate::stop::Stop;

/// Time between two looks at a program or a lock.
const SLICE: Duration = Duration::from_millis(50);
/// How long a program may take to stop before it is left to its watchdog.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);
/// Longest build: a program that asks or loops must end.
const LONGEST: Duration = Duration::from_secs(4 * 3600);
/// The end of a log that is looked at for the reason of a failure, bytes.
const READ: u64 = 256 << 10;
/// Lines of a log in an error.
const QUOTED_LINES: usize = 8;
/// Runs a program whose files others may read.
const OPEN: &str = "umask 022; exec \"$@\"";
const UNPACK: &str = "umask 022; mkdir tree out && exec tar -x -f \"$1\" -C tree";
/// Copies an installed PostgreSQL below another root: `$1` that, `$2` programs, `$3` libraries, `$4` shared files.
const COPY: &str = "set -e; umask 022; out=$1; bin=$2; lib=$3; share=$4; shift 4; mkdir -p \"$out$bin\"; \
                    for name; do if [ -f \"$bin/$name\" ]; then cp -Lp \"$bin/$name\" \"$out$bin/$name\"; fi; done; \
                    for folder in \"$lib\" \"$share\"; do if [ ! -e \"$out$folder\" ]; then \
                    mkdir -p \"$(dirname \"$out$folder\")\"; cp -RPp \"$folder\" \"$out$folder\"; fi; done";

/// A step of a build.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BuildStep {
    /// Another pgdyno builds the same.
    Wait,
    Export,
    /// The PostgreSQL of an extension is copied.
    Copy,
    Configure,
    Compile,
    Install,
    Keep,
}

impl BuildStep {
    /// What is done, as words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Wait => "waiting for another pgdyno that builds it",
            Self::Export => "exporting the sources",
            Self::Copy => "copying PostgreSQL",
            Self::Configure => "configuring",
            Self::Compile => "compiling",
            Self::Install => "installing",
            Self::Keep => "storing it",
        }
    }
}

/// How far a build is.
#[derive(Debug, Clone, Copy)]
pub struct BuildProgress {
    pub step: BuildStep,
    /// Since the build began.
    pub elapsed: Duration,
    /// Whether the step begins.
    pub begins: bool,
}

impl BuildOrder {
    /// Builds it, unless the cache has it; it stays there at least as long as what is returned. Calls `told` when a
    /// step begins and about twenty times a second. Several processes may do this at once.
    ///
    /// # Errors
    /// When a step fails, with the last lines of its log and the place of all; when there is no room; when the user
    /// stops. Only the log of an unfinished build stays. All processes of a build end with it.
    pub fn ensure(
        &self,
        home: &Home,
        (watchdog, stop): (&Watchdog, &Stop),
        told: &mut dyn FnMut(BuildProgress),
    ) -> Result<BuildInUse, Error> {
        let account = Account::unprivileged()?;
        let folder = cache::folder_of(home, self.short_key(), account.as_ref())?;
        let failed = |error| Error::io("use", folder.path(), error);
        let mut making = Making {
            order: self,
            home,
            folder: &folder,
            account,
            watchdog,
            stop,
            start: Instant::now(),
            last: None,
            strays: Vec::new(),
            told,
        };
        let mut waits = false;
        loop {
            // A complete build is used together with others.
            if cache::read(&folder)?.is_some()
                && let Some(lock) = cache::lock(&folder, false).map_err(failed)?
                && cache::read(&folder)?.is_some()
            {
                return cache::share(lock, Vec::new()).map_err(failed);
            }
            if let Some(lock) = cache::lock(&folder, true).map_err(failed)? {
                // It may have become complete meanwhile.
                if cache::read(&folder)?.is_none() {
                    making.make()?;
                }
                return cache::share(lock, making.strays).map_err(failed);
            }
            making.tell(BuildStep::Wait, !waits);
            waits = true;
            if stop.at_once() {
                return Err(Error::stopped());
            }
            std::thread::sleep(SLICE);
        }
    }
}

/// A build under way; the lock is held.
struct Making<'a> {
    order: &'a BuildOrder,
    home: &'a Home,
    folder: &'a Dir,
    account: Option<Account>,
    watchdog: &'a Watchdog,
    stop: &'a Stop,
    start: Instant,
    /// The step that was begun last.
    last: Option<BuildStep>,
    /// Processes that its programs left running, and that were ended.
    strays: Vec<String>,
    told: &'a mut dyn FnMut(BuildProgress),
}

impl Making<'_> {
    fn tell(&mut self, step: BuildStep, begins: bool) {
        (self.told)(BuildProgress { step, elapsed: self.start.elapsed(), begins });
    }

    fn failed(&self, error: io::Error) -> Error {
        Error::io("build in", self.folder.path(), error)
    }

    fn make(&mut self) -> Result<(), Error> {
        self.start = Instant::now();
        cache::clear_dead(self.home, self.order.short_key())?;
        cache::clear(self.folder).map_err(|error| self.failed(error))?;
        self.check_room()?;
        let logs = self.home.make_part(HomeFolder::Logs, self.account.as_ref())?;
        let name = format!("build-{}.log", self.order.short_key());
        let log = logs
            .remove_file(&name)
            .and_then(|()| logs.append(&name))
            .map_err(|error| Error::io("write", &logs.path().join(&name), error))?;
        let log = Log { file: log, path: logs.path().join(&name) };
        let made = self.steps(&log);
        if made.is_err() {
            // A full disk is freed at once. The first error counts.
            let _ = cache::clear(self.folder);
        }
        made?;
        let _ = logs.remove_file(&name);
        Ok(())
    }

    /// Whether there is room, before minutes are spent.
    fn check_room(&self) -> Result<(), Error> {
        let needed = self.order.kind.room();
        match Disk::of(self.folder.path()) {
            Some(disk) if disk.free_bytes < needed => {
                let what = format!(
                    "a build of {} needs up to {} below {}, and {} are free",
                    self.order.source.name(),
                    spec::bytes(needed),
                    self.folder.path().display(),
                    spec::bytes(disk.free_bytes)
                );
                let hint = "make room there, remove earlier builds (pgdyno target builds --remove), or set PGDYNO_HOME to a folder \
                            on another disk";
                Err(Error::new(Class::Io, what).with_hint(hint))
            }
            _ => Ok(()),
        }
    }

    fn steps(&mut self, log: &Log) -> Result<(), Error> {
        let order = self.order;
        let work = self.folder.make_for(WORK, self.account.as_ref()).map_err(|error| self.failed(error))?;
        self.export(&work, log)?;
        let out = work.path().join("out");
        let tree = work.path().join("tree").join(order.source.inside());
        if let Some(base) = &order.base {
            let program = self.shell(&work, work.path(), COPY);
            let folders = [out.as_path(), &base.bin, &base.libraries, &base.shared];
            self.run(BuildStep::Copy, &program.args(folders).args(PROGRAMS), (log, &log.file))?;
        }
        for (step, folder, words) in self.commands(&tree, &out) {
            let program = self.shell(&work, &folder, OPEN).args(words);
            self.run(step, &program, (log, &log.file))?;
        }
        self.keep(&work)
    }

    /// The sources, in the folder `tree`.
    fn export(&mut self, work: &Dir, log: &Log) -> Result<(), Error> {
        let export = self.order.source.export()?;
        let readable = Readable::By(self.account.as_ref());
        let file = self.folder.create(ARCHIVE, readable).map_err(|error| self.failed(error))?;
        self.run(BuildStep::Export, export.program(), (log, &file))?;
        let unpack = self.shell(work, work.path(), UNPACK).arg(self.folder.path().join(ARCHIVE));
        self.run(BuildStep::Export, &unpack, (log, &log.file))?;
        self.folder.remove_file(ARCHIVE).map_err(|error| self.failed(error))
    }

    /// A script of ours as the account; its arguments follow.
    fn shell(&self, work: &Dir, folder: &Path, script: &str) -> Program {
        Program::server("/bin/sh", folder, self.account.as_ref())
            .args(["-c", script, "pgdyno-build"])
            .env("HOME", work.path())
            .with_descendants()
    }

    fn commands(&self, tree: &Path, out: &Path) -> Vec<(BuildStep, PathBuf, Vec<String>)> {
        let text = |path: &Path| path.display().to_string();
        let (prefix, out) = (text(&self.order.prefix()), text(out));
        let jobs = format!("-j{}", allowed().map_or(1, |cpus| cpus.count()));
        let options = &self.order.options;
        let line = |words: &[&str], options: &[String]| -> Vec<String> {
            words.iter().map(|word| (*word).to_owned()).chain(options.iter().cloned()).collect()
        };
        let at = |step, words| (step, tree.to_owned(), words);
        let destdir = format!("DESTDIR={out}");
        match self.order.kind {
            BuildKind::Configure => {
                let prefix = format!("--prefix={prefix}");
                let mut all = vec![
                    at(BuildStep::Configure, line(&["./configure", &prefix], options)),
                    at(BuildStep::Compile, line(&["make", &jobs], &[])),
                    at(BuildStep::Install, line(&["make", "install", &destdir], &[])),
                ];
                if self.order.source.has_contrib() {
                    all.push(at(BuildStep::Compile, line(&["make", "-C", "contrib", &jobs], &[])));
                    all.push(at(
                        BuildStep::Install,
                        line(&["make", "-C", "contrib", "install", &destdir], &[]),
                    ));
                }
                all
            }
            BuildKind::Meson => {
                let (variables, options): (Vec<String>, Vec<String>) =
                    options.iter().cloned().partition(|option| !option.starts_with('-'));
                let prefix = format!("-Dprefix={prefix}");
                let setup =
                    [line(&["env"], &variables), line(&["meson", "setup", "out-of-tree", &prefix], &options)]
                        .concat();
                vec![
                    at(BuildStep::Configure, setup),
                    at(BuildStep::Compile, line(&["ninja", "-C", "out-of-tree", &jobs], &[])),
                    at(
                        BuildStep::Install,
                        line(
                            &["meson", "install", "-C", "out-of-tree", "--no-rebuild", "--destdir", &out],
                            &[],
                        ),
                    ),
                ]
            }
            BuildKind::Extension => {
                let pg_config =
                    self.order.base.as_ref().map(|base| text(&base.pg_config())).unwrap_or_default();
                let pg_config = format!("PG_CONFIG={pg_config}");
                let common = ["USE_PGXS=1", pg_config.as_str()];
                vec![
                    at(BuildStep::Compile, line(&["make", &jobs, common[0], common[1]], options)),
                    at(
                        BuildStep::Install,
                        line(&["make", "install", common[0], common[1], &destdir], options),
                    ),
                ]
            }
        }
    }

    /// Runs a program to its end; its errors go to the log, its output to the second file.
    fn run(&mut self, step: BuildStep, program: &Program, (log, output): (&Log, &File)) -> Result<(), Error> {
        let begins = self.last.replace(step) != Some(step);
        self.tell(step, begins);
        let mut child = self.watchdog.start_apart(program, output, &log.file)?;
        let mut stopping: Option<Instant> = None;
        let ended = loop {
            if let Some(ended) = child.wait(SLICE)? {
                break ended;
            }
            self.tell(step, false);
            match stopping {
                None if self.stop.at_once() || self.start.elapsed() > LONGEST => {
                    child.ask_stop();
                    stopping = Some(Instant::now());
                }
                // Its watchdog ends it once the child is dropped.
                Some(since) if since.elapsed() >= STOP_TIMEOUT => return Err(Error::stopped()),
                _ => {}
            }
        };
        self.strays.extend_from_slice(child.strays());
        match stopping {
            Some(_) if self.stop.at_once() => Err(Error::stopped()),
            Some(_) => Err(self.explain(step, log, "it did not end within 4 hours")),
            None if ended.success() => Ok(()),
            None => Err(self.explain(step, log, &ended.to_string())),
        }
    }

    /// The reason of a failure by the end of its log.
    fn explain(&self, step: BuildStep, log: &Log, ended: &str) -> Error {
        let text = log.end().unwrap_or_default();
        let source = &self.order.source;
        let mut what = format!(
            "building {} ({}) failed while {}: {ended}",
            source.name(),
            short(&source.commit()),
            step.words()
        );
        for line in telling(&text) {
            what.push('\n');
            what.push_str(line);
        }
        if !self.strays.is_empty() {
            what.push_str(&format!(
                "\nit left processes running, which were ended: {}",
                self.strays.join(", ")
            ));
        }
        let is_full = text.contains("No space left on device") || text.contains("Disk quota exceeded");
        let class = if is_full { Class::Io } else { Class::Child };
        let advice = match is_full {
            true => Some("make room there".to_owned()),
            false => of_library(&text),
        };
        let log = format!("the whole log is {}", log.path.display());
        Error::new(class, what).with_hint(advice.into_iter().chain([log]).collect::<Vec<_>>().join("; "))
    }

    /// Copies what was installed into files of ours, and completes the build.
    fn keep(&mut self, work: &Dir) -> Result<(), Error> {
        self.tell(BuildStep::Keep, true);
        let order = self.order;
        let inside = match &order.base {
            None => order.prefix(),
            Some(_) => PathBuf::from("/"),
        };
        let installed = inside.components().skip(1).try_fold(open(work, "out")?, |folder, part| {
            open(&folder, &part.as_os_str().to_string_lossy())
        })?;
        let failed = |error: io::Error| {
            let full = if is_disk_full(&error) { "make room there" } else { "" };
            Error::io("store the build in", self.folder.path(), error).with_hint(full)
        };
        let half = self.folder.make(HALF, 0o755).map_err(failed)?;
        let bytes = seal::copy(&installed, &half).map_err(failed)?;
        self.folder.rename(HALF, INSTALLED).map_err(failed)?;
        self.folder.remove_all(WORK).map_err(failed)?;
        for program in ["initdb", "postgres"] {
            let path = order.bin().join(program);
            if !path.is_file() {
                let what = format!(
                    "building {} left no {program}: there is no {}",
                    order.source.name(),
                    path.display()
                );
                return Err(Error::new(Class::Child, what)
                    .with_hint("see whether its make install installs a server"));
            }
        }
        let base = order.base.as_ref().map(BasePostgres::version);
        let source = &order.source;
        let build = CachedBuild::new(
            source.name(),
            order.kind,
            source.folder(),
            source.commit(),
            &order.options,
            &order.compiler,
            base,
            bytes,
        );
        cache::complete(self.folder, &build).map_err(failed)
    }
}

fn open(folder: &Dir, name: &str) -> Result<Dir, Error> {
    let path = folder.path().join(name);
    match folder.open(name) {
        Ok(Some(found)) => Ok(found),
        Ok(None) => {
            let what = format!("the build installed nothing: there is no {}", path.display());
            Err(Error::new(Class::Child, what).with_hint("its make install must use DESTDIR and the prefix"))
        }
        Err(error) => Err(Error::io("read", &path, error)),
    }
}

/// The first digits of a commit; `-dirty` stays.
fn short(commit: &str) -> String {
    let (hash, dirty) = commit.split_once('-').map_or((commit, ""), |(hash, _)| (hash, "-dirty"));
    format!("{}{dirty}", &hash[..hash.len().min(10)])
}

/// The log of a build, which all its programs append to.
struct Log {
    file: File,
    path: PathBuf,
}

impl Log {
    fn end(&self) -> io::Result<String> {
        let mut file = File::open(&self.path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(READ)))?;
        let mut bytes = Vec::new();
        file.take(READ).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The lines that tell why a build failed: the first errors of compilers, which others follow where several ran at
/// once, and the last lines.
fn telling(log: &str) -> Vec<&str> {
    let lines: Vec<&str> = log.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let last = lines.len().saturating_sub(QUOTED_LINES / 2);
    let is_early_error = |at: &usize| *at < last && lines[*at].contains("error:");
    let errors: Vec<usize> = (0..lines.len()).filter(is_early_error).take(QUOTED_LINES / 2).collect();
    let first = lines.len().saturating_sub(QUOTED_LINES - errors.len());
    let errors = errors.into_iter().filter(|at| *at < first);
    errors.chain(first..lines.len()).map(|at| lines[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_errors_of_a_log_and_its_end_are_told() {
        let many = "a.c:1:2: error: expected ';'\n".to_owned()
            + &"gcc -c b.c\n".repeat(50)
            + "make: *** [all] Error 2\n";
        let told = telling(&many);
        assert_eq!(
            (told.len(), told[0], told[7]),
            (8, "a.c:1:2: error: expected ';'", "make: *** [all] Error 2")
        );
        assert_eq!(telling("one\n\ntwo\n"), ["one", "two"]);
        let near = "a.c: error: x\n".to_owned() + &"gcc -c b.c\n".repeat(5);
        assert_eq!(telling(&near).iter().filter(|line| line.contains("error")).count(), 1);
        assert_eq!(telling("configure: error: no\n"), ["configure: error: no"]);
        assert!(telling("").is_empty());
        assert_eq!(short("0123456789abcdef-dirty"), "0123456789-dirty");
    }
}
