//! Variables in the texts of an experiment file.

/// Replaces `$NAME` and `${NAME}` by the variables' values; `$$` is a dollar. The error is the first unset
/// name.
pub(super) fn expand(text: &str, variables: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut result = String::new();
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        result.push_str(&rest[..dollar]);
        rest = &rest[dollar + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            result.push('$');
            rest = after;
            continue;
        }
        let (name, after) = match rest.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some(braced) => braced,
            None => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                rest.split_at(end)
            }
        };
        match variables(name) {
            _ if name.is_empty() => result.push('$'),
            Some(value) => result.push_str(&value),
            None => return Err(name.to_owned()),
        }
        rest = after;
    }
    result.push_str(rest);
    Ok(result)
}

pub(super) fn names(text: &str) -> Vec<String> {
    let names = std::cell::RefCell::new(Vec::new());
    let note = |name: &str| {
        names.borrow_mut().push(name.to_owned());
        Some(String::new())
    };
    // Treat every variable as set, so that all are seen.
    let _ = expand(text, &note);
    names.into_inner().into_iter().filter(|name| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_put_in() {
        let variables = |name: &str| (name == "A").then(|| "x$B".to_owned());
        let cases = [
            ("$A", Ok("x$B")),
            ("p/${A}/q", Ok("p/x$B/q")),
            ("$A.pbf", Ok("x$B.pbf")),
            ("$$A", Ok("$A")),
            ("a$", Ok("a$")),
            ("$B", Err("B")),
            ("${B", Ok("${B")),
            ("", Ok("")),
        ];
        for (text, wanted) in cases {
            let got = expand(text, &variables);
            assert_eq!(got.as_deref().map_err(String::as_str), wanted, "{text}");
        }
    }
}
