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

/// Options of `configure` that change how fast a server is, or may: assertions, JIT, compression, block sizes, I/O. Flags of
/// the compiler are not among them: `pg_config` reports those in force.
const OF_SPEED: [&str; 23] = [
    "COPT",
    "PROFILE",
    "disable-atomics",
    "disable-float8-byval",
    "disable-spinlocks",
    "disable-strong-random",
    "enable-cassert",
    "enable-coverage",
    "enable-dtrace",
    "enable-injection-points",
    "enable-profiling",
    "with-blocksize",
    "with-icu",
    "with-libnuma",
    "with-liburing",
    "with-llvm",
    "with-lz4",
    "with-segsize",
    "with-wal-blocksize",
    "with-wal-segsize",
    "with-zstd",
    "without-icu",
    "without-zlib",
];
/// Flags that every build of PostgreSQL has, or that no code depends on.
const USUAL_FLAGS: [&str; 7] =
    ["-fexcess-precision=standard", "-fno-strict-aliasing", "-fwrapv", "-g", "-g0", "-ggdb", "-pipe"];

/// Whether an option of `configure` or Meson is one of the few by which builds differ in speed. Flags of the compiler
/// are in the build's CFLAGS, and are not repeated.
#[must_use]
pub fn is_of_speed(word: &str) -> bool {
    let is_meson = word.starts_with("-D") && affects_speed(word);
    let option = word.trim_start_matches('-');
    is_meson || OF_SPEED.contains(&option.split('=').next().unwrap_or_default())
}

/// Whether a flag of the compiler tells a build from others: not those that every build of PostgreSQL has.
#[must_use]
pub fn is_flag_of_speed(word: &str) -> bool {
    affects_speed(word) && !USUAL_FLAGS.contains(&word)
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

    #[test]
    fn few_options_tell_builds_apart() {
        let line = "--with-perl --with-llvm --enable-cassert 'CFLAGS=-O2' 'LDFLAGS=-Wl,-z,now' -Dbuildtype=release --without-icu";
        let kept: Vec<String> = words(line).into_iter().filter(|word| is_of_speed(word)).collect();
        assert_eq!(kept, ["--with-llvm", "--enable-cassert", "-Dbuildtype=release", "--without-icu"]);
        let flags = words("-Wall -fwrapv -g -O3 -march=native -fno-omit-frame-pointer");
        let kept: Vec<String> = flags.into_iter().filter(|word| is_flag_of_speed(word)).collect();
        assert_eq!(kept, ["-O3", "-march=native", "-fno-omit-frame-pointer"]);
    }
}
