//! Whether the runs are valid, in words.

use results::answer::{Doubtful, Doubts, Uncompared};

use super::AnswerBlocks;
use crate::numbers;

impl AnswerBlocks<'_> {
    pub(super) fn validity(&self) -> String {
        let again = &self.answer.doubts.again;
        if again.runs == 0 {
            return self.validity_of_all();
        }
        let were = if again.runs == 1 { "run was" } else { "runs were" };
        let they = if again.runs == 1 { "it" } else { "they" };
        format!(
            "{} {} {were} measured again, because the machine disturbed {} ({}): what {they} gave before counts no more.",
            self.validity_of_all(),
            again.runs,
            if again.runs == 1 { "it" } else { "them or the other arm" },
            reasons(again),
        )
    }

    fn validity_of_all(&self) -> String {
        let Doubts { runs, suspect, invalid, .. } = &self.answer.doubts;
        let all = numbers::counted(*runs, "run");
        let sentence = |of: &Doubtful, word: &str, consequence: &str| {
            let verb = if of.runs == 1 { "is" } else { "are" };
            format!("{} of {all} {verb} {word} ({}) {consequence}", of.runs, reasons(of))
        };
        match (*runs, suspect.runs, invalid.runs) {
            (0, ..) if matches!(self.answer.uncompared, Uncompared::OneJob { .. } | Uncompared::OnlyJobs) => {
                "Jobs alone: nothing to be judged.".to_owned()
            }
            (0, ..) => "No run is stored yet.".to_owned(),
            (1, 0, 0) => "The one run is valid.".to_owned(),
            (_, 0, 0) => format!("All {all} are valid."),
            _ => {
                let invalid = Some(invalid).filter(|of| of.runs > 0);
                let invalid = invalid.map(|of| sentence(of, "invalid", "and left out of all figures."));
                let suspect = Some(suspect).filter(|of| of.runs > 0);
                let suspect = suspect.map(|of| match of.uncounted {
                    0 => sentence(of, "suspect", "but counted."),
                    all if all == of.runs => sentence(of, "suspect", "and did not count as trials."),
                    some => sentence(
                        of,
                        "suspect",
                        &format!("but counted, except {}.", numbers::counted(some, "trial")),
                    ),
                });
                invalid.into_iter().chain(suspect).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// `errors 2, throttled 1`.
fn reasons(of: &Doubtful) -> String {
    if of.reasons.is_empty() {
        return "no reason stored".to_owned();
    }
    let each = of.reasons.iter().map(|(reason, count)| format!("{} {count}", reason.text()));
    each.collect::<Vec<_>>().join(", ")
}
