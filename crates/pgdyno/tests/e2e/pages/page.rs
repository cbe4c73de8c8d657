//! Fenced blocks of a page, in order.

/// What a fenced block is for.
#[derive(Debug, PartialEq, Eq)]
pub enum Block {
    /// Commands, each on one line, with what the test must have for them.
    Commands { commands: Vec<String>, needs: Option<String> },
    /// What the commands before it print; `from` and `to` are the lines of its text.
    Output { from: usize, to: usize },
    /// A file that the reader makes.
    File { name: String, text: String },
}

/// All blocks that are commands, their output, or files.
pub fn blocks(page: &str) -> Vec<Block> {
    let lines: Vec<&str> = page.lines().collect();
    let mut blocks = Vec::new();
    let mut needs = None;
    let mut at = 0;
    while at < lines.len() {
        if let Some(need) = lines[at].strip_prefix("<!-- needs:").and_then(|rest| rest.strip_suffix("-->")) {
            needs = Some(need.trim().to_owned());
        }
        let Some(info) = lines[at].strip_prefix("```") else {
            at += 1;
            continue;
        };
        let from = at + 1;
        let to =
            lines[from..].iter().position(|line| line.starts_with("```")).map_or(lines.len(), |n| from + n);
        let text = &lines[from..to];
        let title = info.split_once("title=\"").and_then(|(_, rest)| rest.split_once('"'));
        match (info.trim(), title, blocks.last()) {
            ("sh", ..) => blocks.push(Block::Commands { commands: commands(text), needs: needs.take() }),
            (_, Some((name, _)), _) => {
                let text = text.iter().map(|line| format!("{line}\n")).collect();
                blocks.push(Block::File { name: name.to_owned(), text });
            }
            ("text", None, Some(Block::Commands { .. })) => blocks.push(Block::Output { from, to }),
            _ => {}
        }
        at = to + 1;
    }
    blocks
}

/// Commands without comments; a line that ends with a backslash goes on in the next one.
fn commands(lines: &[&str]) -> Vec<String> {
    let mut commands = Vec::new();
    let mut begun = String::new();
    for line in lines {
        match line.strip_suffix('\\') {
            Some(part) => begun += part,
            None => {
                let command = format!("{begun}{line}").trim().to_owned();
                begun.clear();
                if !command.is_empty() && !command.starts_with('#') {
                    commands.push(command);
                }
            }
        }
    }
    commands
}

#[test]
fn blocks_of_a_page_are_found() {
    let page = "# A\n```sql title=\"a.sql\"\nSELECT 1;\n```\n<!-- needs: the network -->\n```sh\n# why\nx \\\n  y\nz\n```\n\
                ```text\nout\n```\n```toml\nno = 1\n```\n```text\nnot of a command\n```\n";
    let commands = vec!["x   y".to_owned(), "z".to_owned()];
    let wanted = [
        Block::File { name: "a.sql".to_owned(), text: "SELECT 1;\n".to_owned() },
        Block::Commands { commands, needs: Some("the network".to_owned()) },
        Block::Output { from: 12, to: 13 },
    ];
    assert_eq!(blocks(page), wanted);
}
