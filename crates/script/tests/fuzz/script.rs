//! Scripts: parsed, checked, and run as far as they can be without a server.
//!
//! Whatever the bytes: a script or an error that says something; a client gets through it in as many steps as it has
//! commands; what it sends is bounded by what it was given; expressions survive being printed.

use std::sync::Arc;

use script::{
    Action, Capture, Cursor, Expression, ParseError, Random, Script, Scripts, Symbols, Variables,
    shell_result,
};

/// Longest text a variable gets here, in bytes.
const TEXT: usize = 32;

pub fn run(data: &[u8]) {
    let mut scripts = Scripts::new();
    if let Err(error) = scripts.add("fuzz.sql", data, 1) {
        return assert!(!error.to_string().is_empty());
    }
    match scripts.check(true) {
        Ok(()) | Err(ParseError::TooManyVariables { .. }) => {}
        Err(error) => panic!("{error}"),
    }
    let _ = scripts.hidden_variable();
    let lines = 1 + data.iter().filter(|&&byte| byte == b'\n').count();
    for script in scripts.scripts() {
        let mut last = 1;
        for command in &script.commands {
            assert!((last..=lines).contains(&command.line), "line {} of {lines}", command.line);
            last = command.line;
        }
    }
    walk(&scripts, data);
}

/// A client's way through the first script.
fn walk(scripts: &Scripts, data: &[u8]) {
    let script = &scripts.scripts()[0];
    let mut client = Client {
        symbols: scripts.symbols(),
        variables: Variables::new(Arc::new(scripts.symbols().clone())),
        random: Random::new(data.len() as u64),
        data,
    };
    let scale = client.text(0);
    client.variables.set_text(Symbols::SCALE, scale);
    let mut cursor = Cursor::start();
    for number in 0..=script.commands.len() {
        let at = cursor.command();
        let Some(command) = script.commands.get(at) else {
            return assert_eq!(at, script.commands.len());
        };
        let truth = match cursor.condition(script) {
            Some(condition) => client.evaluate(condition),
            None => {
                client.act(&command.action, number);
                false
            }
        };
        cursor = cursor.next(script, truth);
        assert!(cursor.command() > at, "from {at} to {}", cursor.command());
    }
    panic!("more steps than commands");
}

struct Client<'a> {
    symbols: &'a Symbols,
    variables: Variables,
    random: Random,
    data: &'a [u8],
}

impl<'a> Client<'a> {
    fn act(&mut self, action: &Action, number: usize) {
        let mut out = Vec::new();
        match action {
            Action::Sql(statement) => {
                statement.append_simple(&self.variables, &mut out);
                let longest = statement.text().len() + statement.parameters().len() * TEXT;
                assert!(out.len() <= longest, "{} bytes sent, not {longest}", out.len());
                assert_eq!(statement.check_parameters().is_ok(), statement.parameters().len() <= 255);
                assert!(statement.parts >= 1);
                if let Capture::Gset(prefix) | Capture::Aset(prefix) = &statement.capture {
                    let value = self.text(number);
                    let _ = self.variables.store_column("gset", prefix, b"x", Some(value));
                }
            }
            Action::Set { target, expression } => {
                self.print_and_parse(expression);
                if let Ok(value) = expression.eval(&mut self.variables, &mut self.random, &mut |_| {}) {
                    let _ = target.store(&mut self.variables, "set", value);
                }
            }
            Action::Sleep(sleep) => drop(sleep.duration(&self.variables)),
            Action::Shell(shell) => drop(shell.append_command(&self.variables, &mut out)),
            Action::SetShell { shell, .. } => {
                let _ = shell.append_command(&self.variables, &mut out);
                let _ = shell_result(&shell.name(&self.variables), self.text(number));
            }
            _ => {}
        }
    }

    fn evaluate(&mut self, condition: &Expression) -> bool {
        self.print_and_parse(condition);
        condition.eval(&mut self.variables, &mut self.random, &mut |_| {}).is_ok_and(script::Value::truth)
    }

    /// A printed expression is the same one, unless its parentheses make it too deep to be read.
    fn print_and_parse(&self, expression: &Expression) {
        let printed = expression.to_text(self.symbols);
        if printed.contains(char::REPLACEMENT_CHARACTER) {
            // A name that is not text can only be shown, not read again.
            return;
        }
        let mut symbols = self.symbols.clone();
        let text = format!("\\set v {printed}");
        match Script::parse("printed", text.as_bytes(), &mut symbols) {
            Ok(again) => {
                assert!(
                    matches!(
                        &again.commands[..],
                        [command] if matches!(&command.action, Action::Set { expression: again, .. } if again == expression)
                    ),
                    "{printed}"
                );
            }
            Err(error) => assert!(error.to_string().contains("memory exhausted"), "{error}"),
        }
    }

    /// Some of the input, as if a server or a shell command had sent it.
    fn text(&self, number: usize) -> &'a [u8] {
        let from = number.min(self.data.len());
        &self.data[from..self.data.len().min(from + TEXT)]
    }
}
