//! Options of `configure` and flags of a compiler, as a build of PostgreSQL reports them.

/// Options and variables of `configure` about how it builds.
const OF_BUILDING: [&str; 24] = [
    "AWK",
    "CLANG",
    "LLVM_CONFIG",
    "MKDIR_P",
    "PKG_CONFIG_PATH",
    "PROVE",
    "PYTHON",
    "TAR",
    "XSLTPROC",
    "build",
    "build_alias",
    "host",
    "host_alias",
    "disable-dependency-tracking",
    "disable-maintainer-mode",
    "disable-option-checking",
    "disable-rpath",
    "disable-silent-rules",
    "enable-option-checking",
    "enable-tap-tests",
    "enable-integer-datetimes",
    "with-extra-version",
    "with-pgport",
    "with-system-tzdata",
];

/// The words of a line of them, unquoted; a line with an open quote is split at its blanks.
#[must_use]
pub fn words(line: &str) -> Vec<String> {
    crate::shell::words(line).unwrap_or_else(|| line.split_whitespace().map(str::to_owned).collect())
}

/// Whether a word may change how fast a server is: it names no folder, tool or warning.
#[must_use]
pub fn affects_speed(word: &str) -> bool {
    let option = word.trim_start_matches('-');
    let name = option.split('=').next().unwrap_or_default();
    let is_place = (word.starts_with("--") && (name.ends_with("dir") || name.ends_with("prefix")))
        || word.starts_with('/')
        || ["-I", "-L", "-ffile-prefix-map=", "-fdebug-prefix-map="]
            .iter()
            .any(|start| word.starts_with(start))
        || OF_BUILDING.contains(&name);
    let is_warning = word.starts_with("-W") && !word.starts_with("-Wl,") && !word.starts_with("-Wp,");
    !(is_place || is_warning)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_change_the_speed_is_kept() {
        let line = "'--prefix=/a b' '--with-icu' '--exec-prefix=/x' '--build=x' 'CFLAGS=-O2 -g' -Wall -Wl,-z,now -I/x";
        let kept: Vec<String> = words(line).into_iter().filter(|word| affects_speed(word)).collect();
        assert_eq!(kept, ["--with-icu", "CFLAGS=-O2 -g", "-Wl,-z,now"]);
        assert_eq!(words("it's -O2"), ["it's", "-O2"]);
    }
}
