//! How two builds are made in different ways: that would be taken for an effect of a patch, and is known before minutes
//! are spent on them.

use server::source_build::BuildWay;
use spec::build_options::{affects_speed, is_of_speed};

/// What differs, in words, for builds with their names; `None` if nothing does that may change the speed.
pub(super) fn differences(
    (base, of_base): (&str, &BuildWay<'_>),
    (other, of_other): (&str, &BuildWay<'_>),
) -> Option<String> {
    let [base_options, other_options] = [(base, of_base.options), (other, of_other.options)];
    let found = [
        assertions(base_options, other_options),
        (of_base.kind != of_other.kind).then(|| {
            let [base_kind, other_kind] = [of_base, of_other].map(|way| way.kind.words());
            format!("{base} by {base_kind}, {other} by {other_kind}, whose usual flags differ")
        }),
        only(base_options, of_other.options, affects_speed),
        only(other_options, of_base.options, affects_speed),
        (of_base.compiler != of_other.compiler)
            .then(|| format!("{base} by {}, {other} by {}", of_base.compiler, of_other.compiler)),
    ];
    joined(&found)
}

/// The same for an installed base, of which only the options of `configure` are known. A distribution gives many options:
/// only the ones that matter for speed count.
pub(super) fn from_installed(base: (&str, &[String]), other: (&str, &BuildWay<'_>)) -> Option<String> {
    let other = (other.0, other.1.options);
    joined(&[assertions(base, other), only(base, other.1, is_of_speed), only(other, base.1, is_of_speed)])
}

fn joined(found: &[Option<String>]) -> Option<String> {
    let found: Vec<&str> = found.iter().flatten().map(String::as_str).collect();
    (!found.is_empty()).then(|| found.join("; "))
}

fn only((name, own): (&str, &[String]), others: &[String], counts: fn(&str) -> bool) -> Option<String> {
    let words: Vec<&str> =
        own.iter().filter(|word| counts(word) && !others.contains(word)).map(String::as_str).collect();
    (!words.is_empty()).then(|| format!("only {name} has {}", words.join(" ")))
}

fn assertions(base: (&str, &[String]), other: (&str, &[String])) -> Option<String> {
    let name = match (has_assertions(base.1), has_assertions(other.1)) {
        (true, false) => base.0,
        (false, true) => other.0,
        _ => return None,
    };
    Some(format!("{name} has assertions, which make it several times slower"))
}

/// The last of several options counts.
fn has_assertions(options: &[String]) -> bool {
    let of_option = |option: &String| match option.as_str() {
        "--enable-cassert" | "--enable-cassert=yes" | "-Dcassert=true" => Some(true),
        "--disable-cassert" | "--enable-cassert=no" | "-Dcassert=false" => Some(false),
        _ => None,
    };
    options.iter().rev().find_map(of_option).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use server::source_build::BuildKind;

    use super::*;

    #[test]
    fn assertions_options_and_compilers_are_told_and_places_are_not() {
        let told = |base: &[&str], other: &[&str], kind: BuildKind, compiler: &str| {
            let [base, other] =
                [base, other].map(|own| own.iter().map(|&word| word.to_owned()).collect::<Vec<_>>());
            let base = BuildWay { kind: BuildKind::Configure, options: &base, compiler: "gcc 12" };
            let other = BuildWay { kind, options: &other, compiler };
            differences(("master", &base), ("v3", &other)).unwrap_or_default()
        };
        let alike = |base: &[&str], other: &[&str]| told(base, other, BuildKind::Configure, "gcc 12");
        assert_eq!(alike(&["--with-icu", "CFLAGS=-O2"], &["CFLAGS=-O2", "--with-icu"]), "");
        assert_eq!(alike(&["--with-includes=/x"], &["--with-pgport=5433", "--with-includes=/x"]), "");
        assert_eq!(
            alike(&[], &["--enable-cassert", "CFLAGS=-O0"]),
            "v3 has assertions, which make it several times slower; only v3 has --enable-cassert CFLAGS=-O0"
        );
        assert_eq!(alike(&["--enable-cassert"], &["--enable-cassert", "--enable-cassert"]), "");
        assert!(
            alike(&["--enable-cassert"], &["--enable-cassert", "--disable-cassert"])
                .starts_with("master has assertions")
        );
        assert_eq!(
            from_installed(
                ("15", &["--with-llvm", "--with-icu", "--with-perl", "CFLAGS=-O2"].map(str::to_owned)),
                (
                    "v3",
                    &BuildWay {
                        kind: BuildKind::Configure,
                        options: &["--with-icu", "--enable-cassert"].map(str::to_owned),
                        compiler: "gcc 12"
                    }
                )
            )
            .unwrap(),
            "v3 has assertions, which make it several times slower; only 15 has --with-llvm; only v3 has --enable-cassert"
        );
        assert_eq!(
            told(&[], &["-Dicu=enabled"], BuildKind::Meson, "clang 14"),
            "master by configure and make, v3 by meson and ninja, whose usual flags differ; only v3 has -Dicu=enabled; \
             master by gcc 12, v3 by clang 14"
        );
    }
}
