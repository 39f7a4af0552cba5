//! The few Python literals that a `.npy` header is made of, read in one pass: headers come from anywhere, and a parser of all of
//! Python's would be asked for more than it is for.

/// A value of a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// `'<f4'`
    Text(String),
    /// `True` or `False`
    Bool(bool),
    /// `(3, 4,)`
    Numbers(Vec<u64>),
    /// `[('a', '<f4')]`: the type of a record, as it stands there.
    Record(String),
}

/// Reads `{'name': value, ...}`.
pub fn dictionary(text: &str) -> Option<Vec<(String, Literal)>> {
    let mut rest = text.trim().strip_prefix('{')?;
    let mut entries = Vec::new();
    loop {
        rest = rest.trim_start();
        if let Some(behind) = rest.strip_prefix('}') {
            return behind.is_empty().then_some(entries);
        }
        let (name, behind) = quoted(rest)?;
        let (value, behind) = literal(behind.trim_start().strip_prefix(':')?.trim_start())?;
        entries.push((name.to_owned(), value));
        rest = behind.trim_start();
        // A comma after the last one is as good as none.
        match rest.strip_prefix(',') {
            Some(behind) => rest = behind,
            None if rest.starts_with('}') => {}
            None => return None,
        }
    }
}

fn literal(text: &str) -> Option<(Literal, &str)> {
    if let Some(behind) = text.strip_prefix("True") {
        return Some((Literal::Bool(true), behind));
    }
    if let Some(behind) = text.strip_prefix("False") {
        return Some((Literal::Bool(false), behind));
    }
    if let Some(inside) = text.strip_prefix('(') {
        let (inside, behind) = inside.split_once(')')?;
        return Some((Literal::Numbers(numbers(inside)?), behind));
    }
    if text.starts_with('[') {
        let end = text.rfind(']')? + 1;
        return Some((Literal::Record(text[..end].to_owned()), &text[end..]));
    }
    let (text, behind) = quoted(text)?;
    Some((Literal::Text(text.to_owned()), behind))
}

/// Numbers between commas, of which one may follow the last. Python 2 wrote an L behind long ones.
fn numbers(text: &str) -> Option<Vec<u64>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(Vec::new());
    }
    text.strip_suffix(',').unwrap_or(text).split(',').map(|number| number.trim().trim_end_matches('L').parse().ok()).collect()
}

fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|quote| ['\'', '"'].contains(quote))?;
    let (inside, behind) = text[1..].split_once(quote)?;
    (!inside.contains('\\')).then_some((inside, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_numpy_writes_is_read() {
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 40), }   \n";
        let entries = dictionary(text).unwrap();
        assert_eq!(entries[0], ("descr".into(), Literal::Text("<f4".into())));
        assert_eq!(entries[1], ("fortran_order".into(), Literal::Bool(false)));
        assert_eq!(entries[2], ("shape".into(), Literal::Numbers(vec![3, 40])));
        for (shape, numbers) in [("()", vec![]), ("(7,)", vec![7]), ("(7L, 2L)", vec![7, 2]), ("( 1 , 2 , )", vec![1, 2])] {
            let entries = dictionary(&format!("{{\"shape\": {shape}}}")).unwrap();
            assert_eq!(entries[0].1, Literal::Numbers(numbers), "{shape}");
        }
        let entries = dictionary("{'descr': [('a', '<f4', (2,)), ('b', '<i2')], 'x': True}").unwrap();
        assert_eq!(entries[0].1, Literal::Record("[('a', '<f4', (2,)), ('b', '<i2')]".into()));
        assert_eq!(entries[1].1, Literal::Bool(true));
    }

    #[test]
    fn anything_else_is_not() {
        for text in [
            "",
            "{",
            "}",
            "{}}",
            "{'a'}",
            "{'a': }",
            "{'a': 1}",
            "{'a': (1 2)}",
            "{'a': (-1,)}",
            "{'a': (1,,2)}",
            "{'a': (,)}",
            "{'a': (99999999999999999999,)}",
            "{'a': 'b' 'c': 'd'}",
            "{'a: 'b'}",
            "{'a\\'': 'b'}",
            "{'a': 'b'",
            "{'a': ((1,),)}",
            "{é: 'b'}",
            "'a'",
            "{'a': [}",
        ] {
            assert_eq!(dictionary(text), None, "{text}");
        }
        assert_eq!(dictionary("{}"), Some(Vec::new()));
        assert_eq!(dictionary(&"{".repeat(10_000)), None);
    }
}
