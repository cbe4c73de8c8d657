//! One script for each step of a session.

use spec::{Class, Error};

use super::options::{PgbenchOptions, ScriptOption};
use super::source::{find_builtin, weighted};
use crate::jobs::file_name;
use protocol::nearest;

impl PgbenchOptions {
    /// These options with one script for each step, in order; a script at a second place gets a name with its number.
    /// Without any script, a step is a built-in script or a file.
    ///
    /// # Errors
    /// A step that is none of the scripts, or a script that the session does not use.
    pub(crate) fn for_session(&self, steps: &[&str]) -> Result<Self, Error> {
        let known = self.named_scripts()?;
        let mut used = vec![false; known.len()];
        let mut scripts: Vec<ScriptOption> = Vec::with_capacity(steps.len());
        for (index, step) in steps.iter().enumerate() {
            let found = position(&known, step);
            let script = match found {
                Some(found) => {
                    used[found] = true;
                    known[found].1.clone()
                }
                None if known.is_empty() => of_name(step),
                None => return Err(missing(step, &known)),
            };
            let before = steps[..index].iter().filter(|other| *other == step).count();
            scripts.push(if before > 0 { numbered(script, step, before + 1)? } else { script });
        }
        if let Some(unused) = used.iter().position(|used| !used) {
            let name = known[unused].0.first().cloned().unwrap_or_default();
            let what = format!("script {name} is in no step of the session");
            return Err(Error::new(Class::BadInput, what).with_hint("add it to the session, or remove it"));
        }
        Ok(Self { builtin: Vec::new(), files: Vec::new(), scripts, ..self.clone() })
    }

    /// All scripts, each with the names by which a step can name it.
    fn named_scripts(&self) -> Result<Vec<(Vec<String>, ScriptOption)>, Error> {
        let builtin = |word: &String| {
            let (builtin, _) = find_builtin(word, false)?;
            let script = ScriptOption { builtin: Some(builtin.name.to_owned()), ..ScriptOption::default() };
            Ok((vec![builtin.name.to_owned(), word.clone()], script))
        };
        let file = |word: &String| {
            let file = weighted("files", word)?.name;
            let short = file_name(std::path::Path::new(&file));
            Ok((vec![file.clone(), short], ScriptOption { file: Some(file), ..ScriptOption::default() }))
        };
        let any = |script: &ScriptOption| match (&script.builtin, &script.file) {
            (Some(word), _) => {
                let (names, unnamed) = builtin(word)?;
                Ok((names, ScriptOption { target: script.target, ..unnamed }))
            }
            (None, Some(word)) => {
                let (names, unnamed) = file(word)?;
                let script = ScriptOption { name: script.name.clone(), target: script.target, ..unnamed };
                Ok((script.name.clone().into_iter().chain(names).collect(), script))
            }
            (None, None) => {
                let name = script.name.clone().unwrap_or_else(|| "text".to_owned());
                Ok((vec![name], ScriptOption { weight: None, ..script.clone() }))
            }
        };
        let all = self.builtin.iter().map(builtin).chain(self.files.iter().map(file));
        all.chain(self.scripts.iter().map(any)).collect()
    }
}

/// The script that a step names, with or without its folder.
fn position(known: &[(Vec<String>, ScriptOption)], step: &str) -> Option<usize> {
    let named = |wanted: &str| known.iter().position(|(names, _)| names.iter().any(|name| name == wanted));
    named(step).or_else(|| named(&file_name(std::path::Path::new(step))))
}

/// A step without a script of this name in the options.
fn of_name(step: &str) -> ScriptOption {
    match script::BUILTINS.iter().any(|builtin| builtin.name == step) {
        true => ScriptOption { builtin: Some(step.to_owned()), ..ScriptOption::default() },
        false => ScriptOption { file: Some(step.to_owned()), ..ScriptOption::default() },
    }
}

/// A script at a further place of the session, with separate figures.
fn numbered(script: ScriptOption, step: &str, number: usize) -> Result<ScriptOption, Error> {
    let name = Some(format!("{step} ({number})"));
    Ok(match &script.builtin {
        Some(word) => {
            let (builtin, _) = find_builtin(word, false)?;
            ScriptOption {
                text: Some(builtin.text.to_owned()),
                name,
                target: script.target,
                ..ScriptOption::default()
            }
        }
        None => ScriptOption { name, ..script },
    })
}

fn missing(step: &str, known: &[(Vec<String>, ScriptOption)]) -> Error {
    let names: Vec<&str> = known.iter().filter_map(|(names, _)| names.first()).map(String::as_str).collect();
    let hint = match nearest(step, names.iter().copied()) {
        Some(right) => format!("did you mean {right}?"),
        None => format!("its scripts are {}", names.join(", ")),
    };
    Error::new(Class::BadInput, format!("script {step} is missing: no script of the workload has this name"))
        .with_hint(hint)
}

#[cfg(test)]
mod tests {
    use spec::plan::topology::LoadTarget;

    use super::*;

    fn names(options: &PgbenchOptions) -> Vec<String> {
        let name = |script: &ScriptOption| {
            let own = script.builtin.clone().or_else(|| script.file.clone()).unwrap_or_else(|| "text".into());
            script.name.as_ref().map_or(own.clone(), |name| format!("{name} = {own}"))
        };
        options.scripts.iter().map(name).collect()
    }

    #[test]
    fn each_step_is_a_script() {
        let none = PgbenchOptions::default();
        let of = none.for_session(&["login.sql", "select-only", "login.sql", "select-only"]).unwrap();
        let wanted = ["login.sql", "select-only", "login.sql (2) = login.sql", "select-only (2) = text"];
        assert_eq!(names(&of), wanted);
        let some = PgbenchOptions {
            builtin: vec!["tpcb".into()],
            files: vec!["shop/a.sql@3".into()],
            ..PgbenchOptions::default()
        };
        assert_eq!(names(&some.for_session(&["a.sql", "tpcb-like"]).unwrap()), ["shop/a.sql", "tpcb-like"]);
        let told = |steps: &[&str]| some.for_session(steps).map(drop).unwrap_err();
        assert_eq!(
            told(&["a.sql", "b.sql"]).to_string(),
            "script b.sql is missing: no script of the workload has this name"
        );
        assert_eq!(told(&["a.sql"]).to_string(), "script tpcb-like is in no step of the session");
    }

    /// The steps of a session all went to the primary.
    #[test]
    fn each_step_goes_where_its_script_goes() {
        let routed = |script: ScriptOption, target| ScriptOption { target: Some(target), ..script };
        let of_file = |name: &str| ScriptOption { file: Some(name.to_owned()), ..ScriptOption::default() };
        let builtin = ScriptOption { builtin: Some("select-only".to_owned()), ..ScriptOption::default() };
        let options = PgbenchOptions {
            scripts: vec![
                routed(of_file("a.sql"), LoadTarget::Replica),
                routed(of_file("b.sql"), LoadTarget::Primary),
                routed(builtin, LoadTarget::Pooler),
            ],
            ..PgbenchOptions::default()
        };
        let of = options.for_session(&["a.sql", "select-only", "b.sql", "a.sql", "select-only"]).unwrap();
        let targets: Vec<_> = of.scripts.iter().map(|script| script.target.unwrap()).collect();
        let [replica, primary, pooler] = [LoadTarget::Replica, LoadTarget::Primary, LoadTarget::Pooler];
        assert_eq!(targets, [replica, pooler, primary, replica, pooler]);
    }
}
