//! Compact JSON as indented lines, for people.

/// Formats compact JSON like serde_json's pretty printer: in lines, with an indent of two spaces for each level.
pub fn pretty(compact: &str) -> String {
    let mut lines = String::with_capacity(compact.len() * 2);
    let mut depth = 0_usize;
    let mut is_text = false;
    let mut is_escaped = false;
    let mut before = ' ';
    for c in compact.chars() {
        if is_text {
            lines.push(c);
            is_text = is_escaped || c != '"';
            is_escaped = !is_escaped && c == '\\';
            before = c;
            continue;
        }
        match c {
            ']' | '}' => {
                depth = depth.saturating_sub(1);
                if !matches!(before, '[' | '{') {
                    break_line(&mut lines, depth);
                }
            }
            _ if matches!(before, '[' | '{') => break_line(&mut lines, depth),
            _ => {}
        }
        lines.push(c);
        match c {
            '[' | '{' => depth += 1,
            ',' => break_line(&mut lines, depth),
            ':' => lines.push(' '),
            _ => {}
        }
        is_text = c == '"';
        before = c;
    }
    lines
}

fn break_line(lines: &mut String, depth: usize) {
    lines.push('\n');
    lines.extend(std::iter::repeat_n("  ", depth));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_are_equal_to_those_of_serde_json() {
        for value in [
            json!(null),
            json!([]),
            json!({"a": [], "b": {}, "c": [1, [2, "]"], {"d,e": ":{\"\\"}], "\"": "\\"}),
            json!([[[]], {"x": [{}]}, "[", 5]),
        ] {
            assert_eq!(pretty(&value.to_string()), serde_json::to_string_pretty(&value).unwrap());
        }
    }
}
