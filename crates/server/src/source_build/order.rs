//! What is to be built: sources, the way, options and compiler; and the key by which it is found again.

use std::path::{Path, PathBuf};
use std::process::Command;

use sha2::{Digest, Sha256};
use spec::{Class, Error};

use super::base::BasePostgres;
use super::cache::{self, DIGITS, INSTALLED};
use super::kind::BuildKind;
use super::missing::{in_path, missing};
use super::tree::SourceTree;
use crate::child::{Account, ask_command};
use crate::home::{Home, HomeFolder};

/// Raised when the same sources give another build.
const RECIPE: u32 = 2;

/// What decides how a build is made, besides its sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuildWay<'a> {
    pub kind: BuildKind,
    pub options: &'a [String],
    /// First line of `CC --version`.
    pub compiler: &'a str,
}

/// A build that is wanted, from sources that were looked up.
#[derive(Debug, Clone)]
pub struct BuildOrder {
    pub(super) source: SourceTree,
    pub(super) kind: BuildKind,
    pub(super) options: Vec<String>,
    /// First line of `CC --version`.
    pub(super) compiler: String,
    /// Only of an extension.
    pub(super) base: Option<BasePostgres>,
    key: String,
    folder: PathBuf,
}

impl BuildOrder {
    /// The build of these sources; `base` is asked for the PostgreSQL of an extension. Nothing is built.
    ///
    /// # Errors
    /// When the sources are of nothing that pgdyno can build, an option is wrong, or a program that builds need is
    /// missing.
    pub fn new(
        home: &Home,
        source: SourceTree,
        options: Vec<String>,
        base: &dyn Fn() -> Result<BasePostgres, Error>,
    ) -> Result<Self, Error> {
        let kind = BuildKind::of(source.files(), &options).map_err(|why| {
            let (why, hint) = why.split_once('\n').unwrap_or((&why, ""));
            let what = format!("{} in {}: {why}", source.reference(), source.folder().display());
            Error::new(Class::BadInput, what).with_hint(hint)
        })?;
        for program in kind.programs() {
            in_path(program).ok_or_else(|| missing(program))?;
        }
        let base = (kind == BuildKind::Extension).then(base).transpose()?;
        let compiler = compiler(&options, base.as_ref())?;
        let mut order = Self {
            source,
            kind,
            options,
            compiler,
            base,
            key: String::new(),
            folder: home.path(HomeFolder::Builds),
        };
        order.key = order.hash();
        order.folder.push(&order.key[..DIGITS]);
        check_prefix(&order.prefix())?;
        if let Some(base) = &order.base {
            check_base(base)?;
        }
        Ok(order)
    }

    /// Everything that the content of the build follows from.
    fn hash(&self) -> String {
        let mut hash = Sha256::new();
        let owner = self.source.owner().map(|uid| uid.to_string()).unwrap_or_default();
        let base = self.base.as_ref().map(|base| base.sha256.clone()).unwrap_or_default();
        let (recipe, folder) = (RECIPE.to_string(), self.folder.to_string_lossy());
        let parts = [
            &recipe,
            self.kind.words(),
            self.source.tree(),
            self.source.inside(),
            &self.compiler,
            &owner,
            &base,
            &folder,
        ];
        for part in parts.into_iter().chain(self.options.iter().map(String::as_str)) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        spec::hex(&hash.finalize())
    }

    /// The sources.
    #[must_use]
    pub fn source(&self) -> &SourceTree {
        &self.source
    }

    /// How it is built, with options and compiler.
    #[must_use]
    pub fn way(&self) -> BuildWay<'_> {
        BuildWay { kind: self.kind, options: &self.options, compiler: &self.compiler }
    }

    /// How it is built.
    #[must_use]
    pub fn kind(&self) -> BuildKind {
        self.kind
    }

    /// Identifies the build: SHA-256, hex.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Its name in the cache.
    pub(super) fn short_key(&self) -> &str {
        &self.key[..DIGITS]
    }

    /// Where it is installed.
    pub(super) fn prefix(&self) -> PathBuf {
        self.folder.join(INSTALLED)
    }

    /// The folder of its programs, once it is built.
    #[must_use]
    pub fn bin(&self) -> PathBuf {
        match &self.base {
            None => self.prefix().join("bin"),
            Some(base) => BasePostgres::below(&self.prefix(), &base.bin),
        }
    }

    /// Whether the cache has it.
    ///
    /// # Errors
    /// When the home cannot be read.
    pub fn is_built(&self, home: &Home) -> Result<bool, Error> {
        let Some(builds) = home.part(HomeFolder::Builds)? else { return Ok(false) };
        let folder = builds.open(self.short_key()).map_err(|error| Error::io("read", &self.folder, error))?;
        Ok(folder.map_or(Ok(None), |folder| cache::read(&folder))?.is_some())
    }

    /// How it is built, in words: `configure and make, --with-icu, gcc (Debian 12.2.0-14) 12.2.0`.
    #[must_use]
    pub fn words(&self) -> String {
        let base = self.base.as_ref().map(|base| format!("for PostgreSQL {}", base.version()));
        let options = (!self.options.is_empty()).then(|| {
            self.options.iter().map(|option| spec::shell::word(option)).collect::<Vec<_>>().join(" ")
        });
        let parts = [Some(self.kind.words().to_owned()), base, options, Some(self.compiler.clone())];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// The compiler that will be used, as it reports itself: by CC of the options, of the PostgreSQL that an extension is
/// for, or the first that configure tries.
fn compiler(options: &[String], base: Option<&BasePostgres>) -> Result<String, Error> {
    let asked = options.iter().rev().find_map(|option| option.strip_prefix("CC="));
    let found = || ["gcc", "cc"].into_iter().find(|name| in_path(name).is_some()).unwrap_or("gcc");
    let line = asked.or(base.map(|base| base.compiler.as_str())).unwrap_or_else(found);
    let words = spec::build_options::words(line);
    let Some((program, arguments)) = words.split_first() else { return Err(missing("gcc")) };
    in_path(program).ok_or_else(|| missing(program))?;
    let account = Account::unprivileged()?;
    let mut command = Command::new(program);
    command.args(arguments).arg("--version");
    let answer = ask_command(command, account.as_ref(), false);
    let answer = answer.ok().filter(|answer| answer.succeeded).map(|answer| answer.text).unwrap_or_default();
    match answer.lines().next() {
        Some(version) => Ok(version.to_owned()),
        None => {
            let what = format!("the compiler {line:?} does not report its version ({program} --version)");
            Err(Error::new(Class::Missing, what).with_hint("name another one in the options: CC=gcc"))
        }
    }
}

/// Whether makefiles take a path as one word: they split it at its blanks.
fn is_plain(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || "/-_.+@,:~".contains(c))
}

fn check_base(base: &BasePostgres) -> Result<(), Error> {
    let bin = base.bin.to_string_lossy();
    if is_plain(&bin) {
        return Ok(());
    }
    let what = format!(
        "an extension cannot be built for the PostgreSQL in {bin}: its path has a blank or another special character"
    );
    Err(Error::new(Class::BadInput, what).with_hint("install it in a folder without them"))
}

fn check_prefix(prefix: &Path) -> Result<(), Error> {
    let text = prefix.to_string_lossy();
    if is_plain(&text) {
        return Ok(());
    }
    let what = format!(
        "PostgreSQL cannot be built for the folder {text}: its path has a blank or another special character"
    );
    Err(Error::new(Class::Io, what).with_hint("set PGDYNO_HOME to a folder without them"))
}
