//! The queries of a function's text that make a layer, and its variables.

use std::collections::HashSet;
use std::ops::Range;

use super::tokens::{Token, TokenKind, tokens};

const MAKES_LAYER: &str = "st_asmvt";
/// Words between the queries of a union.
const SETS: [&str; 3] = ["union", "except", "intersect"];
/// Words at which a statement of PL/pgSQL begins.
const BEGINS: [&str; 7] = ["return", "then", "else", "begin", "loop", "query", "perform"];

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Body {
    pub(super) layers: Vec<LayerQuery>,
    /// In their order; each may use those before it.
    pub(super) variables: Vec<Variable>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct LayerQuery {
    pub(super) name: String,
    pub(super) query: String,
}

/// A variable of PL/pgSQL with its last value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Variable {
    pub(super) name: String,
    pub(super) of_type: Option<String>,
    pub(super) value: String,
}

struct Source<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    /// Parentheses around each token.
    depths: Vec<usize>,
}

impl Body {
    pub(super) fn read(text: &str) -> Self {
        let source = Source::new(text);
        let mut seen = HashSet::new();
        let mut layers = Vec::new();
        for at in (0..source.tokens.len()).filter(|at| source.makes_layer(*at)) {
            let Some(select) = source.select_of(at).filter(|select| seen.insert(*select)) else { continue };
            let name = source.layer_name(at).unwrap_or_else(|| format!("layer {}", layers.len() + 1));
            layers.push(LayerQuery { name, query: source.query(select) });
        }
        Self { layers, variables: source.variables() }
    }
}

impl<'t> Source<'t> {
    fn new(text: &'t str) -> Self {
        let tokens = tokens(text);
        let mut depth = 0_usize;
        let depths = tokens.iter().map(|token| {
            if token.kind == TokenKind::Close {
                depth = depth.saturating_sub(1);
            }
            let own = depth;
            depth += usize::from(token.kind == TokenKind::Open);
            own
        });
        let depths = depths.collect();
        Self { text, tokens, depths }
    }

    fn makes_layer(&self, at: usize) -> bool {
        self.tokens[at].is_word(MAKES_LAYER)
            && self.tokens.get(at + 1).is_some_and(|next| next.kind == TokenKind::Open)
    }

    /// The SELECT around a token: the last one before it that no parenthesis or semicolon ended.
    fn select_of(&self, at: usize) -> Option<usize> {
        let mut depth = self.depths[at];
        for before in (0..at).rev() {
            if self.depths[before] > depth {
                continue;
            }
            depth = self.depths[before];
            match &self.tokens[before].kind {
                TokenKind::Semicolon => return None,
                TokenKind::Word(word) if word == "select" => return Some(before),
                _ => {}
            }
        }
        None
    }

    /// Tokens of the same depth before one, the nearest first, up to the beginning of its statement.
    fn before(&self, at: usize) -> impl Iterator<Item = usize> {
        let depth = self.depths[at];
        let own = (0..at).rev().filter(move |before| self.depths[*before] <= depth);
        own.take_while(move |before| self.depths[*before] == depth && !self.begins(*before))
    }

    fn begins(&self, at: usize) -> bool {
        match &self.tokens[at].kind {
            TokenKind::Semicolon | TokenKind::Becomes => true,
            TokenKind::Word(word) => self.depths[at] == 0 && BEGINS.contains(&word.as_str()),
            _ => false,
        }
    }

    /// The query that begins with this SELECT, with the WITH of its union and of the queries around it, and
    /// without INTO.
    fn query(&self, select: usize) -> String {
        let depth = self.depths[select];
        let ends = |at: &usize| {
            let token = &self.tokens[*at];
            self.depths[*at] < depth
                || self.depths[*at] == depth
                    && (token.kind == TokenKind::Semicolon || SETS.iter().any(|set| token.is_word(set)))
        };
        let end = (select + 1..self.tokens.len()).find(ends);
        let end_of_text = end.map_or(self.text.len(), |at| self.tokens[at].place.start);
        let tokens = select..end.unwrap_or(self.tokens.len());
        let own = match self.target_of(tokens) {
            Some(into) => format!(
                "{}{}",
                &self.text[self.tokens[select].place.start..into.start],
                &self.text[into.end..end_of_text]
            ),
            None => self.text[self.tokens[select].place.start..end_of_text].to_owned(),
        };
        let mut query = format!("{}{}", self.with_of(select).unwrap_or_default(), own.trim_end());
        let mut around = self.around(select);
        while let Some(open) = around {
            if let Some(with) = self.with_of(open) {
                // The query may end with a comment.
                query = format!("{with}SELECT ({query}\n)");
            }
            around = self.around(open);
        }
        query
    }

    /// The parenthesis that is open around a token.
    fn around(&self, at: usize) -> Option<usize> {
        let depth = self.depths[at];
        (0..at).rev().find(|before| self.depths[*before] < depth)
    }

    /// `INTO variable`, or `INTO STRICT variable`, of the query of these tokens.
    fn target_of(&self, tokens: Range<usize>) -> Option<Range<usize>> {
        let depth = self.depths[tokens.start];
        let into = tokens.clone().find(|at| self.depths[*at] == depth && self.tokens[*at].is_word("into"))?;
        let strict = usize::from(self.tokens.get(into + 1)?.is_word("strict"));
        let name = self.tokens.get(into + 1 + strict)?;
        Some(self.tokens[into].place.start..name.place.end)
    }

    /// `WITH x AS (…) ` before the first query of the union in which a token is.
    fn with_of(&self, token: usize) -> Option<&'t str> {
        let with = self.before(token).find(|at| self.tokens[*at].is_word("with"))?;
        let depth = self.depths[with];
        let first =
            (with..=token).find(|at| self.depths[*at] == depth && self.tokens[*at].is_word("select"))?;
        Some(&self.text[self.tokens[with].place.start..self.tokens[first].place.start])
    }

    /// The constant second argument of a function.
    fn layer_name(&self, function: usize) -> Option<String> {
        let depth = self.depths.get(function + 1)? + 1;
        let arguments = (function + 2..self.tokens.len()).take_while(|at| self.depths[*at] >= depth);
        let is_comma =
            |at: &usize| self.depths[*at] == depth && &self.text[self.tokens[*at].place.clone()] == ",";
        let comma = arguments.into_iter().find(is_comma)?;
        let name = self.tokens.get(comma + 1).filter(|token| token.kind == TokenKind::Text)?;
        Some(self.text[name.place.clone()].trim_matches('\'').to_owned())
    }

    /// Variables with a value: declared with one, assigned, or selected into.
    fn variables(&self) -> Vec<Variable> {
        let mut found: Vec<Variable> = Vec::new();
        let mut is_declared = false;
        let statements = self.tokens.split(|token| token.kind == TokenKind::Semicolon);
        for statement in statements {
            let mut statement = statement;
            while let Some(first) = statement.first() {
                match () {
                    () if first.is_word("declare") => is_declared = true,
                    () if first.is_word("begin") => is_declared = false,
                    () => break,
                }
                statement = &statement[1..];
            }
            let variable = if is_declared { self.declared(statement) } else { self.assigned(statement) };
            let Some(variable) = variable else { continue };
            found.push(variable);
        }
        found
    }

    fn text_of(&self, tokens: &[Token]) -> Option<&'t str> {
        let place = tokens.first()?.place.start..tokens.last()?.place.end;
        Some(&self.text[place])
    }

    /// `name type := value`.
    fn declared(&self, statement: &[Token]) -> Option<Variable> {
        let TokenKind::Word(name) = &statement.first()?.kind else { return None };
        let is_value = |token: &Token| token.kind == TokenKind::Becomes || token.is_word("default");
        let value = statement.iter().position(is_value)?;
        let from = 1 + usize::from(statement.get(1)?.is_word("constant"));
        Some(Variable {
            name: name.clone(),
            of_type: Some(self.text_of(statement.get(from..value)?)?.to_owned()),
            value: self.text_of(&statement[value + 1..])?.to_owned(),
        })
    }

    /// `name := value`, or `SELECT value INTO name …`; not of a layer.
    fn assigned(&self, statement: &[Token]) -> Option<Variable> {
        if statement.iter().any(|token| token.is_word(MAKES_LAYER)) {
            return None;
        }
        match statement {
            [
                Token { kind: TokenKind::Word(name), .. },
                Token { kind: TokenKind::Becomes, .. },
                value @ ..,
            ] => {
                let value = self.text_of(value)?.to_owned();
                Some(Variable { name: name.clone(), of_type: None, value })
            }
            [first, ..] if first.is_word("select") => {
                let at = self.tokens.iter().position(|token| token == first)?;
                let into = self.target_of(at..at + statement.len())?;
                let name = self.text[into].split_whitespace().last()?.to_lowercase();
                Some(Variable { name, of_type: None, value: self.query(at) })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layers(text: &str) -> Vec<(String, String)> {
        Body::read(text).layers.into_iter().map(|layer| (layer.name, layer.query)).collect()
    }

    #[test]
    fn queries_of_a_union_are_found_with_what_they_share() {
        let text = "WITH b AS (SELECT ST_TileEnvelope(z, x, y) AS g) \
            SELECT string_agg(mvt, '') FROM (\
              SELECT coalesce(ST_AsMVT(t, 'water', 4096, 'geom'), '') AS mvt FROM (SELECT 1 FROM w, b) t UNION ALL \
              SELECT ST_AsMVT(t.*, 'roads') FROM layer_roads(z) t -- ; UNION\n) AS all_layers";
        let wanted = [
            (
                "water",
                "SELECT coalesce(ST_AsMVT(t, 'water', 4096, 'geom'), '') AS mvt FROM (SELECT 1 FROM w, b) t",
            ),
            ("roads", "SELECT ST_AsMVT(t.*, 'roads') FROM layer_roads(z) t -- ; UNION"),
        ];
        let with = "WITH b AS (SELECT ST_TileEnvelope(z, x, y) AS g) SELECT (";
        assert_eq!(layers(text), wanted.map(|(name, query)| (name.to_owned(), format!("{with}{query}\n)"))));
        let text = "RETURN QUERY WITH a AS (SELECT 1), b AS (SELECT 2) \
            SELECT ST_AsMVT(a, 'a') FROM a UNION ALL SELECT ST_AsMVT(b, name) FROM b;";
        let wanted = [
            ("a", "WITH a AS (SELECT 1), b AS (SELECT 2) SELECT ST_AsMVT(a, 'a') FROM a"),
            ("layer 2", "WITH a AS (SELECT 1), b AS (SELECT 2) SELECT ST_AsMVT(b, name) FROM b"),
        ];
        assert_eq!(layers(text), wanted.map(|(name, query)| (name.to_owned(), query.to_owned())));
    }

    #[test]
    fn statements_of_plpgsql_are_layers_without_their_targets() {
        let text = "DECLARE box CONSTANT geometry := f(z, 'a;b'); n int; BEGIN \
            wide := ST_Expand(box, 2); SELECT count(*) INTO STRICT n FROM t; \
            SELECT INTO mvt ST_AsMVT(q, 'one') FROM (SELECT * FROM t WHERE g && box) q; \
            out := out || (SELECT ST_AsMVT(q, 'two') FROM u q); RETURN out; END";
        let wanted = [
            ("one", "SELECT  ST_AsMVT(q, 'one') FROM (SELECT * FROM t WHERE g && box) q"),
            ("two", "SELECT ST_AsMVT(q, 'two') FROM u q"),
        ];
        assert_eq!(layers(text), wanted.map(|(name, query)| (name.to_owned(), query.to_owned())));
        let variables = Body::read(text).variables;
        let variables: Vec<(&str, Option<&str>, &str)> = variables
            .iter()
            .map(|variable| (variable.name.as_str(), variable.of_type.as_deref(), variable.value.as_str()))
            .collect();
        let wanted = [
            ("box", Some("geometry"), "f(z, 'a;b')"),
            ("wide", None, "ST_Expand(box, 2)"),
            ("n", None, "SELECT count(*)  FROM t"),
        ];
        assert_eq!(variables, wanted);
    }

    #[test]
    fn broken_texts_have_no_layers() {
        for text in
            ["", "ST_AsMVT(", "SELECT 'ST_AsMVT(t)'", ")) ST_AsMVT(t)", "SELECT st_asmvt", "; ST_AsMVT(a);"]
        {
            assert_eq!(layers(text), [], "{text}");
        }
    }
}
