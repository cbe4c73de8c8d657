//! How a source tree is built, by the files at its top.

use serde::{Deserialize, Serialize};

use super::reserved::Reserved;

/// How a source tree is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum BuildKind {
    /// PostgreSQL by `configure` and `make`.
    Configure,
    /// PostgreSQL by meson and ninja.
    Meson,
    /// An extension by PGXS.
    Extension,
}

/// What a tree has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TreeFiles {
    pub(super) has_configure: bool,
    pub(super) has_meson: bool,
    /// `src/backend`, which only PostgreSQL has.
    pub(super) has_backend: bool,
    /// A Makefile that uses PGXS.
    pub(super) uses_pgxs: bool,
}

impl BuildKind {
    /// As words: `configure and make`.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Configure => "configure and make",
            Self::Meson => "meson and ninja",
            Self::Extension => "make with PGXS",
        }
    }

    /// The way for a tree, with options in its form. `configure` goes first, unless the options are meson's.
    ///
    /// # Errors
    /// As text, advice on a separate line, when pgdyno cannot build such a tree, or an option is for another way.
    pub(super) fn of(files: TreeFiles, options: &[String]) -> Result<Self, String> {
        let is_for_meson = options.iter().any(|option| option.starts_with("-D"));
        let kind = match files {
            TreeFiles { has_backend: true, has_configure, has_meson, .. } => {
                match (has_configure, has_meson, is_for_meson) {
                    (_, true, true) | (false, true, false) => Self::Meson,
                    (true, false, true) => {
                        return Err("options in meson's form (-D…), and there is no meson.build\n\
                                    give options of configure, such as --with-icu"
                            .to_owned());
                    }
                    (true, ..) => Self::Configure,
                    (false, false, _) => {
                        return Err(
                            "there is neither configure nor meson.build\nname a commit of PostgreSQL's source tree".to_owned()
                        );
                    }
                }
            }
            TreeFiles { uses_pgxs: true, .. } => Self::Extension,
            _ => {
                return Err("this is neither PostgreSQL's source tree nor an extension with a Makefile for PGXS\n\
                            name its folder with --source, or install it yourself and name that folder: 'build: FOLDER'"
                    .to_owned());
            }
        };
        options.iter().try_for_each(|option| kind.check(option))?;
        Ok(kind)
    }

    fn check(self, option: &str) -> Result<(), String> {
        let name = option.split('=').next().unwrap_or_default();
        let is_variable = option.contains('=')
            && !name.is_empty()
            && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_');
        if option.chars().any(char::is_control) {
            return Err(
                "an option has a line break or another control character\nwrite it without".to_owned()
            );
        }
        if let Some(reserved) = Reserved::of(option) {
            return Err(format!("{option}: {}", reserved.words()));
        }
        match self {
            _ if is_variable => Ok(()),
            Self::Extension => Err(format!(
                "invalid variable of make {option:?}\nan extension takes NAME=VALUE, such as COPT=-O3"
            )),
            Self::Configure | Self::Meson if option.starts_with('-') => Ok(()),
            Self::Configure => Err(format!(
                "invalid option of configure {option:?}\nwrite --with-icu, CFLAGS='-O3' or the like; several refs are separated by commas"
            )),
            Self::Meson => {
                Err(format!("invalid option of meson {option:?}\nwrite -Dicu=enabled or the like"))
            }
        }
    }

    /// Programs that it needs besides a compiler.
    pub(super) fn programs(self) -> &'static [&'static str] {
        match self {
            Self::Configure => &["git", "tar", "make", "bison", "flex", "perl"],
            Self::Meson => &["git", "tar", "meson", "ninja", "bison", "flex", "perl"],
            Self::Extension => &["git", "tar", "make"],
        }
    }

    /// Room that it needs at most, with its intermediate files, bytes: measured with PostgreSQL 15 and `-g`.
    pub(super) fn room(self) -> u64 {
        match self {
            Self::Configure | Self::Meson => 1_500_000_000,
            Self::Extension => 300_000_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: TreeFiles, options: &[&str]) -> Result<BuildKind, String> {
        BuildKind::of(files, &options.iter().map(|&option| option.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn the_way_follows_from_files_and_options() {
        let postgres =
            TreeFiles { has_configure: true, has_meson: true, has_backend: true, uses_pgxs: false };
        let old = TreeFiles { has_meson: false, ..postgres };
        let extension = TreeFiles { uses_pgxs: true, ..TreeFiles::default() };
        assert_eq!(of(postgres, &[]), Ok(BuildKind::Configure));
        assert_eq!(of(postgres, &["--with-icu", "CFLAGS=-O3 -g"]), Ok(BuildKind::Configure));
        assert_eq!(of(postgres, &["-Dicu=enabled"]), Ok(BuildKind::Meson));
        assert_eq!(of(TreeFiles { has_configure: false, ..postgres }, &[]), Ok(BuildKind::Meson));
        assert_eq!(of(extension, &["COPT=-O3"]), Ok(BuildKind::Extension));
        for (files, options, wanted) in [
            (old, &["-Dicu=enabled"][..], "no meson.build"),
            (old, &["v3-0002"], "invalid option of configure"),
            (old, &["--prefix=/x"], "chooses the folders"),
            (old, &["--bindir=/x"], "chooses the folders"),
            (extension, &["DESTDIR=/x"], "chooses the folders"),
            (extension, &["COPT=-O3", "PG_CONFIG=/x"], "chooses the PostgreSQL"),
            (old, &["--with-x\n"], "control character"),
            (extension, &["-f", "x"], "invalid variable of make"),
            (TreeFiles { has_configure: true, ..TreeFiles::default() }, &[], "neither PostgreSQL's"),
        ] {
            let why = of(files, options).unwrap_err();
            assert!(why.contains(wanted) && why.contains('\n'), "{why}");
        }
    }
}
