//! Files of `NAME=value` lines, with sections.

/// A value, its section and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) section: Option<String>,
    pub(super) name: String,
    pub(super) value: String,
    pub(super) line: usize,
}

/// Reads `NAME=value`, `export NAME="a \"b\""`, `NAME='verbatim'`, `# comments` and `[sections]`.
pub(super) fn read(text: &str) -> Result<Vec<Entry>, (usize, String)> {
    let mut section = None;
    let mut entries = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = Some(name.trim().to_owned());
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        let (name, value) = line.split_once('=').ok_or_else(|| (number, "is not NAME=value".to_owned()))?;
        let value = unquote(value.trim()).ok_or_else(|| (number, "has a quote that does not end".to_owned()))?;
        entries.push(Entry { section: section.clone(), name: name.trim().to_owned(), value, line: number });
    }
    Ok(entries)
}

fn unquote(value: &str) -> Option<String> {
    if let Some(rest) = value.strip_prefix('\'') {
        return rest.find('\'').map(|end| rest[..end].to_owned());
    }
    let Some(rest) = value.strip_prefix('"') else {
        // A comment begins behind a space, because a value may contain the sign.
        return Some(value.split(" #").next().unwrap_or_default().trim_end().to_owned());
    };
    let mut text = String::new();
    let mut letters = rest.chars();
    loop {
        match letters.next()? {
            '"' => return Some(text),
            '\\' => match letters.next()? {
                'n' => text.push('\n'),
                't' => text.push('\t'),
                other => text.push(other),
            },
            letter => text.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_bare_or_quoted() {
        let text = "A=1\n# x\nexport B = \"a \\\"b\\\"\"\nC='x # y' # z\nD=a#b # c\n\n[agent]\nE=\n";
        let read = read(text).unwrap();
        let values: Vec<_> = read.iter().map(|entry| (entry.name.as_str(), entry.value.as_str())).collect();
        assert_eq!(values, [("A", "1"), ("B", "a \"b\""), ("C", "x # y"), ("D", "a#b"), ("E", "")]);
        assert_eq!(read[4].section.as_deref(), Some("agent"));
        assert_eq!(read[4].line, 8);
    }

    #[test]
    fn the_line_that_is_wrong_is_named() {
        assert_eq!(read("A=1\nnothing\n").unwrap_err().0, 2);
        assert_eq!(read("A=\"x\n").unwrap_err().0, 1);
    }
}
