//! The functions that a node computes itself, from its expressions.
//!
//! A value from a node below also appears as an expression, in extra parentheses: `sum((half(b.v)))` sums
//! what another node halved. These are left out.

/// Names without their schema in order of occurrence, each once.
pub(super) fn of(expressions: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for expression in expressions {
        let letters: Vec<char> = without_texts(expression).chars().collect();
        for name in calls(&letters) {
            if !found.contains(&name) {
                found.push(name);
            }
        }
    }
    found
}

/// Quoted constants may contain anything.
fn without_texts(expression: &str) -> String {
    let parts = expression.split('\'').enumerate();
    parts.map(|(number, part)| if number % 2 == 0 { part } else { "''" }).collect()
}

fn calls(letters: &[char]) -> Vec<String> {
    let mut names = Vec::new();
    let mut at = 0;
    while at < letters.len() {
        if letters[at] == '(' && is_passed_on(letters, at) {
            at = closing(letters, at) + 1;
        } else if letters[at..].starts_with(&[':', ':']) {
            at = behind_type(letters, at + 2);
        } else if is_of_name(letters[at]) {
            let end = behind_name(letters, at);
            if letters.get(end) == Some(&'(') {
                names.extend(function(&letters[at..end]));
            }
            at = end;
        } else {
            at += 1;
        }
    }
    names
}

/// The name of a function; `None` for the language's constructs in capitals (COALESCE, ROW, EXISTS).
fn function(name: &[char]) -> Option<String> {
    let name: String = name.iter().collect();
    let last = name.rsplit('.').next().unwrap_or_default();
    let is_keyword = last.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_');
    (!is_keyword).then(|| last.trim_matches('"').to_owned())
}

/// Whether the contents of these parentheses are computed below: a whole expression with unnecessary
/// parentheses. Casts and elements need some: `(f(x))::text`, `(f(x)).y`, `ANY (f(x))`.
fn is_passed_on(letters: &[char], open: usize) -> bool {
    let close = closing(letters, open);
    let needed_behind = matches!(letters.get(close + 1), Some(':' | '.' | '['));
    let before: String = letters[..open].iter().collect();
    let needed_before = before.ends_with("ANY ")
        || before.ends_with("ALL ")
        || before.ends_with(|letter: char| is_of_name(letter));
    if needed_behind || needed_before || close == open + 1 {
        return false;
    }
    // A worker's part of an aggregate: `(PARTIAL sum(half(b.v)))`.
    let partial: Vec<char> = "PARTIAL ".chars().collect();
    let first = open + 1 + if letters[open + 1..].starts_with(&partial) { partial.len() } else { 0 };
    let inner = if is_of_name(letters[first]) { behind_name(letters, first) } else { first };
    letters.get(inner) == Some(&'(') && closing(letters, inner) + 1 == close
}

/// The matching closing parenthesis; the end if there is none.
fn closing(letters: &[char], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, letter) in letters.iter().enumerate().skip(open) {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    letters.len().saturating_sub(1)
}

/// Skips a type and its modifiers: `numeric(10,2)`, `character varying(10)`.
fn behind_type(letters: &[char], from: usize) -> usize {
    let mut end = behind_name(letters, from);
    let varying: Vec<char> = " varying".chars().collect();
    if letters[end..].starts_with(&varying) {
        end += varying.len();
    }
    if letters.get(end) == Some(&'(') { closing(letters, end) + 1 } else { end }
}

fn behind_name(letters: &[char], from: usize) -> usize {
    from + letters[from..].iter().take_while(|letter| is_of_name(**letter)).count()
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '.' | '"' | '$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_node_computes_itself() {
        for (expression, wanted) in [
            ("a.g", &[][..]),
            ("sum(half(b.v))", &["sum", "half"]),
            ("sum((half(b.v)))", &["sum"]),
            ("(sum(half(b.v)))", &[]),
            ("PARTIAL sum(half(b.v))", &["sum", "half"]),
            ("(PARTIAL sum(half(b.v)))", &[]),
            ("((a.x + half(b.v)))", &[]),
            ("(a.x + half(b.v))", &["half"]),
            ("(half(b.v) > (InitPlan 1).col1)", &["half"]),
            ("(a.g = ANY ((half_all(b.v))::integer[]))", &["half_all"]),
            ("(lower(t))::text", &["lower"]),
            ("('f(x)'::text = 'it''s g(y)'::character varying(10))", &[]),
            ("COALESCE(st_area(way), '0'::double precision)", &["st_area"]),
            ("(t.way && '0103'::geometry(Polygon,3857))", &[]),
            ("public.st_asmvt(ROW(t.a, (st_asmvtgeom(t.way))), 'x'::text)", &["st_asmvt"]),
            (
                "st_asmvtgeom(st_simplify(way, '10'::double precision), NULL::box2d, 4096)",
                &["st_asmvtgeom", "st_simplify"],
            ),
            ("\"my Schema\".\"My_f\"(x)", &["My_f"]),
            ("rank() OVER (?)", &["rank"]),
            ("(unfinished(", &["unfinished"]),
        ] {
            assert_eq!(of(&[expression]), wanted, "{expression}");
        }
        assert_eq!(of(&["f(a)", "(g(f(b)) > 1)"]), ["f", "g"]);
    }
}
