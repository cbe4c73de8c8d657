//! The PostgreSQL of private servers, by content: an experiment goes on only with the files that it began with.

use std::path::Path;

use server::build::{different_parts, tree_of};
use server::home::Home;
use server::managed::{Choice, programs_of, real_folder};
use spec::Error;
use spec::plan::{Fact, Facts, Plan, TargetSpec};

use crate::plan::{levels, setups};

/// Parts that are named.
const NAMED: usize = 5;

/// The builds of the servers of a plan, as far as they are found. No program that the file names is executed.
///
/// # Errors
/// When a file of a build cannot be read.
pub(crate) fn of_servers(plan: &Plan, pg_bin: Option<&Path>) -> Result<Vec<Fact>, Error> {
    let mut facts = Vec::new();
    for at in setups::sites(plan) {
        let TargetSpec::Managed { name, version, bin, .. } = levels::target(&plan.content, &at) else {
            continue;
        };
        let programs = match bin {
            Some(bin) => real_folder(&bin),
            None => Home::locate().ok().and_then(|home| {
                programs_of(&home, &name, &Choice { pg_bin: pg_bin.map(Path::to_owned), version })
            }),
        };
        if let Some(programs) = programs {
            let tree = tree_of(&programs)?;
            facts.push(Fact::Build { server: at.to_string(), sha256: tree.sha256, parts: tree.parts });
        }
    }
    Ok(facts)
}

/// What differs from the builds that an experiment began with: `postgres, lib/x.so`, with the server if there are
/// several. `None` if nothing does, or nothing is known.
pub(crate) fn changed(began: &Facts, now: &Facts) -> Option<String> {
    let mut changed = Vec::new();
    for fact in now.all() {
        let Fact::Build { server, sha256, parts } = fact else { continue };
        let Some((_, parts_before)) = began.build(server).filter(|(before, _)| before != sha256) else {
            continue;
        };
        let on = if server.is_empty() { String::new() } else { format!(" ({server})") };
        changed.push(format!("{}{on}", different_parts(parts_before, parts, NAMED)));
    }
    (!changed.is_empty()).then(|| changed.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(server: &str, library: &str) -> Facts {
        let parts = [("postgres", "1"), ("lib/shop.so", library)];
        let parts = parts.map(|(name, hash)| (name.to_owned(), hash.to_owned())).into();
        let mut facts = Facts::default();
        facts.learn(Fact::Build { server: server.to_owned(), sha256: library.to_owned(), parts });
        facts
    }

    /// Another library of an extension went on with the runs of the former one.
    #[test]
    fn another_library_is_another_build() {
        assert_eq!(changed(&built("", "a"), &built("", "a")), None);
        assert_eq!(changed(&built("", "a"), &built("", "b")).as_deref(), Some("lib/shop.so"));
        assert_eq!(
            changed(&built("version 16", "a"), &built("version 16", "b")).as_deref(),
            Some("lib/shop.so (version 16)")
        );
        // An experiment that began with an earlier pgdyno, or another server.
        assert_eq!(changed(&Facts::default(), &built("", "b")), None);
        assert_eq!(changed(&built("version 15", "a"), &built("version 16", "b")), None);
    }
}
