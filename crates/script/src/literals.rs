//! Scripts and SQL without their literals, to be shown to others.

use crate::lexer::{Lexer, Token};

/// Backslash commands whose arguments are names, operators and literals. Others take any words.
const OF_EXPRESSIONS: [&[u8]; 11] = [
    b"set",
    b"sleep",
    b"gset",
    b"aset",
    b"if",
    b"elif",
    b"else",
    b"endif",
    b"startpipeline",
    b"syncpipeline",
    b"endpipeline",
];

/// The text of a script, or SQL, with `'x'` for each string, `0` for each number and empty comments. Names,
/// keywords and variables are kept. Arguments of `\shell`, `\setshell` and commands that pgbench lacks become
/// `…`.
#[must_use]
pub fn without_literals(text: &str) -> String {
    let mut lexer = Lexer::new(text.as_bytes());
    let mut out = Vec::with_capacity(text.len());
    while let Some((token, range)) = lexer.token() {
        match token {
            Token::String => out.extend_from_slice(b"'x'"),
            Token::Number => out.push(b'0'),
            Token::LineComment => out.extend_from_slice(b"--"),
            Token::Comment => out.extend_from_slice(b"/**/"),
            Token::Other => out.extend_from_slice(&text.as_bytes()[range]),
            Token::Command => {
                let name = &text.as_bytes()[range.clone()][1..];
                out.extend_from_slice(&text.as_bytes()[range]);
                if !OF_EXPRESSIONS.contains(&name) && lexer.skip_arguments() {
                    out.extend_from_slice(" …".as_bytes());
                }
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn literals_are_replaced_and_names_stay() {
        for (text, wanted) in [
            ("", ""),
            (
                "SELECT a1, \"b 2\", t.c3 FROM t WHERE d = 'geheim' AND e > 1.5e3 LIMIT 10;\n",
                "SELECT a1, \"b 2\", t.c3 FROM t WHERE d = 'x' AND e > 0 LIMIT 0;\n",
            ),
            ("ALTER ROLE r PASSWORD E'ge\\'heim'", "ALTER ROLE r PASSWORD 'x'"),
            ("SELECT 'a'\n'geheim', 'it''s', b'01', $1", "SELECT 'x', 'x', b'x', $1"),
            ("DO $$ BEGIN PERFORM 'geheim'; END $$; SELECT $a$geheim$a$", "DO 'x'; SELECT 'x'"),
            ("SELECT 1 -- geheim 2\n + 2 /* geheim /* 3 */ */;", "SELECT 0 --\n + 0 /**/;"),
            (
                "\\set aid random(1, 100000 * :scale)\nSELECT :aid, :'v' \\; SELECT -.5;",
                "\\set aid random(0, 0 * :scale)\nSELECT :aid, :'x' \\; SELECT -0;",
            ),
            (
                "\\connect host=h password=geheim\n\\setshell x echo \\\n geheim\n\\sleep 10 ms\nSELECT 1",
                "\\connect …\n\\setshell …\n\\sleep 0 ms\nSELECT 0",
            ),
            ("SELECT 'geheim", "SELECT 'x'"),
            ("\\gset p_\n\\", "\\gset p_\n\\"),
        ] {
            let masked = without_literals(text);
            assert_eq!(masked, wanted);
            assert_eq!(without_literals(&masked), masked, "twice");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "[-a1 .$'\"\\\\:;/*é\n]{0,40}") {
            let _ = without_literals(&text);
        }

        #[test]
        fn nothing_of_a_string_stays(text in "[a-z ]{1,20}") {
            let masked = without_literals(&format!("SELECT '{text}Q', $${text}Q$$, E'{text}Q' -- {text}Q"));
            prop_assert!(!masked.contains('Q'), "{}", masked);
        }
    }
}
