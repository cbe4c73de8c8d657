//! Builds from git that an experiment names: they are looked up before it is planned, and built before it begins.

mod way;

use std::path::Path;

use server::Stop;
use server::child::Watchdog;
use server::home::Home;
use server::managed::{Choice, Installation};
use server::source_build::{BasePostgres, BuildInUse, BuildKind, BuildOrder, BuildProgress, SourceTree};
use spec::plan::TargetSpec;
use spec::{Class, Error, visible};

use crate::experiment::ExperimentFile;
use crate::factors::VERSION;

/// Digits of a commit that are shown.
const SHORT: usize = 10;
/// Files that are named.
const NAMED: usize = 5;

/// The builds from git of an experiment, by the name of their version.
#[derive(Debug, Default)]
pub struct Sources {
    home: Option<Home>,
    orders: Vec<(String, BuildOrder)>,
    /// The base of a comparison of versions.
    base: Option<String>,
    /// The same, unless it is a build from git.
    other_base: Option<String>,
    /// Options of `configure` of the base, if it is an installed PostgreSQL of this machine and has them.
    installed: Option<Vec<String>>,
}

/// Looks up what an experiment builds from git. Then its plan knows the commits and the folders of the builds. git runs, and
/// nothing is built.
///
/// # Errors
/// When there is no such commit, it cannot be built here, or a program that builds need is missing.
pub fn look(file: &mut ExperimentFile, pg_bin: Option<&Path>) -> Result<Sources, Error> {
    let compared =
        file.compare.as_ref().filter(|compare| compare.factor == VERSION).map(|compare| &compare.base);
    let is_git = |name: &&String| file.named.builds.get(*name).is_some_and(|build| build.source.is_some());
    let other_base = compared.filter(|name| !is_git(name)).cloned();
    let mut sources = Sources { base: compared.cloned(), other_base, ..Sources::default() };
    let base = base_of(file, pg_bin);
    // Programs of a folder that the file names are not run.
    if sources.other_base.as_ref().is_some_and(|name| !file.named.builds.contains_key(name)) {
        sources.installed = Installation::find(&base).ok().and_then(|found| found.configure_options());
    }
    for (name, build) in &mut file.named.builds {
        let Some(source) = &mut build.source else { continue };
        let home = match &sources.home {
            Some(home) => home.clone(),
            None => Home::locate()?,
        };
        let of_version = |error: Error| {
            let what = format!("version {name}: {error}");
            error.in_words(what)
        };
        let tree = SourceTree::look(&source.folder, &source.reference).map_err(of_version)?;
        let installed = || BasePostgres::of(&Installation::find(&base)?);
        let order = BuildOrder::new(&home, tree, source.options.clone(), &installed).map_err(of_version)?;
        source.commit = order.source().commit();
        source.way = order.words();
        source.leaves_out_changes = order.source().leaves_out_changes();
        build.bin = order.bin();
        order.key().clone_into(&mut build.hash);
        sources.home = Some(home);
        sources.orders.push((name.clone(), order));
    }
    Ok(sources)
}

/// Whether an experiment names builds from git.
#[must_use]
pub fn has_any(file: &ExperimentFile) -> bool {
    file.named.builds.values().any(|build| build.source.is_some())
}

/// The PostgreSQL that extensions are built for: the base's, or else what the server would run without versions.
fn base_of(file: &ExperimentFile, pg_bin: Option<&Path>) -> Choice {
    let base = file.compare.as_ref().filter(|compare| compare.factor == VERSION).map(|compare| &compare.base);
    let build = base.and_then(|base| file.named.builds.get(base)).filter(|build| build.source.is_none());
    if let Some(build) = build {
        return Choice { pg_bin: Some(build.bin.clone()), version: None };
    }
    let asked = match &file.target {
        TargetSpec::Managed { version, .. } => *version,
        TargetSpec::Url { .. } => None,
    };
    let version = base.and_then(|base| base.parse().ok()).or(asked);
    Choice { pg_bin: pg_bin.map(Path::to_owned), version }
}

impl Sources {
    /// Whether every build is in the cache.
    ///
    /// # Errors
    /// When the home cannot be read.
    pub fn are_built(&self) -> Result<bool, Error> {
        for (_, order) in &self.orders {
            if !self.is_built(order)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn is_built(&self, order: &BuildOrder) -> Result<bool, Error> {
        self.home.as_ref().map_or(Ok(false), |home| order.is_built(home))
    }

    /// Names of the versions, in the order of [`Self::ensure`].
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.orders.iter().map(|(name, _)| name.as_str())
    }

    /// A line for each build: what it is made from and how, and whether that is done.
    ///
    /// # Errors
    /// When the home cannot be read.
    pub fn words(&self) -> Result<Vec<String>, Error> {
        let mut lines = Vec::new();
        for (name, order) in &self.orders {
            let commit = short(&order.source().commit());
            let folder = order.source().folder();
            let when = if self.is_built(order)? { "is built" } else { "will be built first" };
            lines.push(format!("{name}: commit {commit} of {} {when}: {}", folder.display(), order.words()));
        }
        Ok(lines)
    }

    /// What a person may not expect: one sentence for each doubt.
    #[must_use]
    pub fn doubts(&self) -> Vec<String> {
        let doubt = |(name, order): &(String, BuildOrder)| {
            let source = order.source();
            let folder = source.folder();
            let changes = source.leaves_out_changes().then(|| {
                format!(
                    "{name} is the commit {}: {} has changes that are not in it; to build them: 'build: git .'",
                    short(&source.commit()),
                    folder.display()
                )
            });
            let submodules = source.has_submodules().then(|| {
                format!("{name}: {} has submodules, and they are not a part of the build", folder.display())
            });
            let left_out = (!source.left_out().is_empty()).then(|| {
                let who = source.reader().map_or_else(String::new, |user| format!("user {user} "));
                format!(
                    "{name}: {who}cannot read new files in {}, so they are not in the build: {}; if it does not need them, \
                     ignore them (.gitignore)",
                    folder.display(),
                    few(source.left_out())
                )
            });
            let is_extension = order.kind() == BuildKind::Extension;
            let base = self.other_base.as_ref().filter(|_| is_extension).map(|base| {
                format!(
                    "{name} is a build of an extension, and the base {base} has the extension only if it is installed there; to \
                     compare two builds: 'build: git REF, git {}'",
                    source.reference()
                )
            });
            changes.into_iter().chain(left_out).chain(submodules).chain(base)
        };
        self.orders.iter().flat_map(doubt).chain(self.differences()).collect()
    }

    /// How the way of a build differs from the base's: one sentence for each build.
    fn differences(&self) -> Vec<String> {
        if let (Some(base), Some(options)) = (&self.other_base, &self.installed) {
            let of_postgres = self.orders.iter().filter(|(_, order)| order.kind() != BuildKind::Extension);
            let told = of_postgres.filter_map(|(name, order)| {
                let differs = way::from_installed((base, options), (name, &order.way()))?;
                Some(format!("{base} and {name} are not built alike: {differs}"))
            });
            return told.collect();
        }
        let base = self.base.as_ref().and_then(|base| self.orders.iter().find(|(name, _)| name == base));
        let Some((base, of_base)) = base.or(self.orders.first().filter(|_| self.other_base.is_none())) else {
            return Vec::new();
        };
        let others = self.orders.iter().filter(|(name, _)| name != base);
        let told = others.filter_map(|(name, order)| {
            let differs = way::differences((base, &of_base.way()), (name, &order.way()))?;
            Some(format!("{base} and {name} are not built alike: {differs}"))
        });
        told.collect()
    }

    /// Builds what the cache lacks. A build stays in the cache until its returned value is dropped. `told` gets the version's
    /// name, how it is built, and how far it is.
    ///
    /// # Errors
    /// As for [`BuildOrder::ensure`].
    pub fn ensure(
        &self,
        stop: &Stop,
        told: &mut dyn FnMut(&str, &str, BuildProgress),
    ) -> Result<Vec<BuildInUse>, Error> {
        let Some(home) = &self.home else { return Ok(Vec::new()) };
        let watchdog = Watchdog::current().map_err(|source| {
            Error::new(Class::Internal, format!("cannot find pgdyno's own program: {source}"))
        })?;
        let build = |(name, order): &(String, BuildOrder)| {
            let what = format!("{name} ({})", short(&order.source().commit()));
            order.ensure(home, (&watchdog, stop), &mut |progress| told(&what, &order.words(), progress))
        };
        self.orders.iter().map(build).collect()
    }
}

/// The first names, and how many more there are.
fn few(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", visible::line(&names[..names.len().min(NAMED)].join(", ")))
}

/// The first digits of a commit; `-dirty` stays.
fn short(commit: &str) -> String {
    let hash = commit.split('-').next().unwrap_or_default();
    let dirty = commit.strip_prefix(hash).unwrap_or_default();
    format!("{}{dirty}", &hash[..hash.len().min(SHORT)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tables: &str) -> Result<ExperimentFile, String> {
        let text = format!(
            "question = \"?\"\n[target]\nmanaged = {{}}\n[workload.w]\npgbench = {{ builtin = \"select-only\" }}\n{tables}"
        );
        ExperimentFile::parse(Path::new("lab/e.toml"), &text, false, &|_| None)
            .map_err(|problems| problems.to_string())
    }

    #[test]
    fn a_version_is_a_folder_or_is_made_from_git() {
        let factors = "[factors]\nversion = [15, \"v\"]\n";
        let file = of(&format!(
            "[version.v]\ngit = \"v3\"\nsource = \"pg\"\nconfigure = [\"--with-icu\"]\ninitdb = \"-k\"\n\
             settings = {{ work_mem = \"8MB\" }}\n{factors}"
        ));
        let file = file.unwrap();
        let build = &file.named.builds["v"];
        let source = build.source.as_ref().unwrap();
        assert_eq!((source.reference.as_str(), source.folder.as_path()), ("v3", Path::new("lab/pg")));
        assert_eq!(
            (source.options.join(" "), build.initdb.join(" ")),
            ("--with-icu".to_owned(), "-k".to_owned())
        );
        assert!(has_any(&file) && build.settings["work_mem"] == "8MB" && source.commit.is_empty());
        for (table, wanted) in [
            ("bin = \"/x\"\ngit = \"v3\"", "cannot be combined"),
            ("bin = \"/x\"\nsource = \"pg\"", "is for a build from git"),
            ("initdb = \"-k\"", "bin"),
            ("git = \"v3\"\ninitdb = \"--pgdata=/x\"", "pgdyno decides that"),
            ("git = \"v3\"\nsettings = { port = 1 }", "cannot be a factor"),
        ] {
            let problems = of(&format!("[version.v]\n{table}\n{factors}")).unwrap_err();
            assert!(problems.contains(wanted), "{table}: {problems}");
        }
    }

    #[test]
    fn an_extension_is_built_for_the_postgres_of_the_base() {
        let compared = |base: &str, versions: &str| {
            let tables = format!(
                "[version.v]\ngit = \"v3\"\n[version.f]\nbin = \"/f\"\n[factors]\nversion = {versions}\n[compare]\nfactor = \
                 \"version\"\nbase = {base}\n"
            );
            base_of(&of(&tables).unwrap(), None)
        };
        assert_eq!(compared("15", "[15, \"v\", \"f\"]").version, Some(15));
        let of_folder = compared("\"f\"", "[\"f\", \"v\"]");
        assert_eq!((of_folder.version, of_folder.pg_bin), (None, Some("/f".into())));
        assert_eq!(compared("\"v\"", "[\"v\", \"f\"]"), Choice { pg_bin: None, version: None });
    }

    /// Settings of a build go to its servers, unless the arm sets them, too. Two builds of one commit differ by them.
    #[test]
    fn settings_and_initdb_are_a_part_of_the_arm() {
        let tables = |more: &str| {
            format!(
                "[version.a]\ngit = \"v3\"\nsettings = {{ fsync = \"off\", work_mem = \"1MB\" }}\n[version.b]\ngit = \"v3\"\n{more}\
                 [factors]\nversion = [\"b\", \"a\"]\n[compare]\nfactor = \"version\"\nbase = \"b\"\n[settings.s]\nwork_mem = \"2MB\"\n"
            )
        };
        let planned = |more: &str| {
            let file = of(&tables(more)).unwrap();
            crate::plan::resolve(&file, &crate::facts::of_files(&file).unwrap()).unwrap()
        };
        let plan = planned("");
        let run = plan.runs.iter().find(|run| run.arm.as_deref() == Some("a")).unwrap();
        let arm = crate::plan::setups::setup(&plan, run).arm.unwrap();
        let settings: Vec<_> = arm.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(settings, ["fsync=off", "work_mem=2MB"]);
        assert!(!arm.weakens.is_empty(), "{arm:?}");
        assert_eq!(crate::plan::equal_arms(&plan), None);
        let same = planned("settings = { fsync = \"off\" }\n");
        assert!(crate::plan::equal_arms(&same).is_some());
        assert_eq!(
            crate::plan::equal_arms(&planned("settings = { fsync = \"off\" }\ninitdb = \"-k\"\n")),
            None
        );
    }
}
