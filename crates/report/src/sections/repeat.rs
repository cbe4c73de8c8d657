//! How to repeat the experiment: the command, the file, and the texts it used.

use spec::OrderScheme;
use spec::plan::Recorded;

use crate::block::{Block, Paragraph};
use crate::repeat::{COMMANDS, Kit};
use crate::visible;
use results::ReportData;

pub(super) fn blocks(data: &ReportData) -> Vec<Block> {
    let experiment = &data.experiment;
    let is_apart = experiment.order_scheme == OrderScheme::Apart;
    let mut blocks = match Kit::of(data) {
        Some(kit) => of_kit(&kit),
        None if is_apart => {
            let arms: Vec<&str> = experiment.arms.iter().map(|arm| arm.name.as_str()).collect();
            vec![Block::text(format!(
                "These are two experiments, {}: each is repeated by itself. To have drift cancelled, make them the arms of one \
                 experiment.",
                arms.join(" and ")
            ))]
        }
        None => vec![Block::text(
            "These results were imported; how to repeat them is known to those who measured them.",
        )],
    };
    if !is_apart {
        blocks
            .extend(Block::details("The plan it expanded to", vec![Block::Code(indented(&experiment.plan))]));
    }
    blocks
}

fn indented(plan: &Recorded) -> String {
    let sorted = serde_json::to_value(plan).and_then(|plan| serde_json::to_string_pretty(&plan));
    sorted.expect("plans are plain data")
}

/// Texts of requests up to which they are not folded together.
const OPEN_TEXTS: usize = 50;

fn of_kit(kit: &Kit) -> Vec<Block> {
    let head = match (&kit.experiment, kit.files.is_empty()) {
        (Some(_), _) => Paragraph::new("")
            .plain("With the results file at hand, ")
            .code(format!("pgdyno export experiment {} DIR", kit.called))
            .plain(
                " writes what is below into a folder; without it, save each text under its name. Order and random numbers come \
                 from the seed ",
            )
            .code(kit.seed.to_string())
            .plain(", which is made from the plan unless the file has one (each ")
            .code("--again")
            .plain(" has its own):"),
        (None, false) => {
            Paragraph::new("").plain("This was measured from the command line, with the scripts below:")
        }
        (None, true) => Paragraph::new("").plain("This was measured from the command line:"),
    };
    let mut blocks = vec![head.into(), Block::Code(kit.command.clone())];
    if !kit.commands.is_empty() {
        let words = kit.commands.iter().map(|command| visible::line(&command.words()).into_owned());
        blocks.extend([Block::text(COMMANDS), Block::List(words.collect())]);
    }
    if !kit.notes.is_empty() {
        blocks.push(Block::List(kit.notes.clone()));
    }
    blocks.extend(kit.files.iter().filter_map(|file| {
        let open = file.used_by.is_empty();
        let summary = match open {
            true => format!("{}, the experiment file", file.path),
            false => format!("{} ({})", file.path, file.used_by.join(", ")),
        };
        Some(Block::Details { summary, open, blocks: vec![Block::Code(file.text.clone()?)] })
    }));
    let asked = kit.asked.iter().filter_map(|asked| {
        let summary = format!("{} ({})", asked.name, asked.used_by);
        Block::details(summary, vec![Block::Code(asked.text.clone()?)])
    });
    let asked: Vec<Block> = asked.collect();
    match asked.len() > OPEN_TEXTS {
        true => blocks.extend(Block::details(format!("The texts of {} requests", asked.len()), asked)),
        false => blocks.extend(asked),
    }
    blocks
}
