//! Settings left changed on the server: no run is measured with them silently.

use server::settings::journal::{LeftBy, Leftover};
use spec::Error;

use super::args::ArgumentError;
use super::fault;
use super::talk::{LogLevel, Talk};

/// Reports changed settings; refuses to measure if a killed pgdyno left them, unless `allowed`. Also fails if
/// the home cannot be used.
pub(super) fn check(
    found: Result<Vec<Leftover>, Error>,
    allowed: bool,
    talk: &Talk,
) -> Result<(), ArgumentError> {
    for left in found.map_err(|error| fault([error.to_string()]))? {
        let (kind, list) = (left.kind(), left.list());
        match &left.by {
            LeftBy::Living(pid) => talk.say(
                LogLevel::Warning,
                &format!("another pgdyno (pid {pid}) is at work on this server and changes its {kind} (now: {list})"),
            ),
            LeftBy::Unknown(_) => {}
            LeftBy::Killed => {
                let text =
                    format!("{kind} of this server are still as an earlier pgdyno left them: {list}");
                if !allowed {
                    return Err(refusal(text));
                }
                talk.say(LogLevel::Warning, &text);
            }
        }
    }
    Ok(())
}

fn refusal(text: String) -> ArgumentError {
    let mut fault = fault([text]);
    let hint =
        "Put them back with \"pgdyno target restore\", or measure under them with --allow-changed-settings.";
    fault.lines.push((LogLevel::Hint, hint.to_owned()));
    fault
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(by: LeftBy) -> Result<Vec<Leftover>, Error> {
        let settings = vec!["fsync = off (before: not set by ALTER SYSTEM)".to_owned()];
        Ok(vec![Leftover { dsn: "host=x".to_owned(), settings, changes: Vec::new(), by }])
    }

    #[test]
    fn nothing_is_measured_silently_under_settings_left_behind() {
        let talk = Talk::default();
        let refused = check(left(LeftBy::Killed), false, &talk).unwrap_err();
        assert_eq!((refused.exit, refused.lines.len()), (1, 2));
        assert!(refused.lines[0].1.contains("fsync = off"), "{:?}", refused.lines);
        assert!(refused.lines[1].1.contains("pgdyno target restore"), "{:?}", refused.lines);
        check(left(LeftBy::Killed), true, &talk).unwrap();
        check(left(LeftBy::Living(1)), false, &talk).unwrap();
        check(Ok(Vec::new()), false, &talk).unwrap();
    }
}
