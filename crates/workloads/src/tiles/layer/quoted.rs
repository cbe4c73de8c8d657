//! Quotes, comments and names of SQL, as far as placeholders must be told from them.

pub(super) fn starts_name(text: &str) -> bool {
    text.chars().next().is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
}

/// Length of the quoted part or comment at the beginning; 0 without one.
pub(super) fn quoted(text: &str) -> Result<usize, String> {
    let unclosed = |what: &str| format!("{what} is not closed");
    let to = |end: &str, from: usize, what: &str| match text[from..].find(end) {
        Some(at) => Ok(from + at + end.len()),
        None => Err(unclosed(what)),
    };
    if text.starts_with("--") {
        return Ok(text.find('\n').map_or(text.len(), |at| at + 1));
    }
    if text.starts_with("/*") {
        return comment(text).ok_or_else(|| unclosed("a comment"));
    }
    if text.starts_with('"') {
        return to("\"", 1, "a quoted name");
    }
    if text.starts_with('\'') {
        return to("'", 1, "a quote");
    }
    if (text.starts_with('E') || text.starts_with('e')) && text[1..].starts_with('\'') {
        return escaped(text).ok_or_else(|| unclosed("a quote"));
    }
    match dollar_tag(text) {
        Some(tag) => to(tag, tag.len(), tag),
        None => Ok(0),
    }
}

/// Comments may be nested.
fn comment(text: &str) -> Option<usize> {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        if rest.starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest.starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return Some(at);
            }
        } else {
            at += rest.chars().next()?.len_utf8();
        }
    }
    None
}

/// `E'it\'s'`.
fn escaped(text: &str) -> Option<usize> {
    let mut skip = false;
    for (at, letter) in text.char_indices().skip(2) {
        match letter {
            _ if skip => skip = false,
            '\\' => skip = true,
            '\'' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// `$$` or `$tag$`, but not `$1`.
fn dollar_tag(text: &str) -> Option<&str> {
    let inner = text.strip_prefix('$')?;
    let end = inner.find('$')?;
    let name = &inner[..end];
    let is_tag = name.is_empty()
        || starts_name(name) && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    is_tag.then(|| &text[..end + 2])
}
