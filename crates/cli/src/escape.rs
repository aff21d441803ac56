//! Text of a peer on its way to stdout or stderr.
//!
//! Such a text must not control the terminal, reorder other text, or look like a line of this program. All output
//! goes through these functions: [`line()`] for stderr, logs and fields, [`Block`] for text of several lines,
//! [`json`] for documents.

use std::{borrow::Cow, fmt::Write as _};

/// The beginnings of lines of this program, in lower case. Lines of a peer with such a beginning are quoted.
const OURS: [&str; 5] = ["error:", "hint:", "warning:", "resume:", "next:"];

/// The prefix of a quoted line.
const QUOTE: &str = "> ";

/// How many characters may precede a word of [`OURS`] without ending the search: blanks and invisible characters.
const MOST_BLANKS: usize = 128;

/// Whether a character is safe on a terminal: no control character, no line separator, and no mark that changes the
/// direction of text.
pub(crate) fn is_shown(c: char) -> bool {
    !c.is_control()
        && !matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{206f}' | '\u{fff9}'..='\u{fffb}')
}

/// A text as one line: line breaks are escaped, too.
pub(crate) fn line(text: &str) -> Cow<'_, str> {
    let is_kept = |c: char| is_shown(c) || c == '\t';
    if text.chars().all(is_kept) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_kept(c) { safe.push(c) } else { safe.extend(c.escape_default()) }
    }
    Cow::Owned(safe)
}

/// JSON with the characters escaped that a terminal does not show, in strings and names: the only places where such
/// characters can be.
pub(crate) fn json(text: String) -> String {
    let is_kept = |c: char| c.is_ascii() && c != '\u{7f}' || is_shown(c);
    if text.chars().all(is_kept) {
        return text;
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_kept(c) {
            safe.push(c);
        } else {
            // All of them have four digits.
            let _ = write!(safe, "\\u{:04x}", u32::from(c));
        }
    }
    safe
}

/// A text of several lines, possibly in pieces.
///
/// Line breaks are kept. A line that begins like a line of this program is quoted. While the next piece can complete
/// such a beginning, the beginning is held back.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// The beginning of the line, as long as the line may be quoted.
    held: String,
    /// Whether the current line has been looked at.
    is_in_line: bool,
    /// Whether the last character was a carriage return, which is no character of its own before a line feed.
    has_return: bool,
    /// Whether lines are never quoted.
    is_exact: bool,
}

impl Block {
    /// A text whose lines are never quoted.
    pub(crate) fn exact() -> Self {
        Self { is_exact: true, ..Self::default() }
    }

    /// Adds a piece to `to`.
    pub(crate) fn push(&mut self, piece: &str, to: &mut String) {
        for c in piece.chars() {
            if std::mem::take(&mut self.has_return) && c != '\n' {
                self.add('\r', to);
            }
            if c == '\r' { self.has_return = true } else { self.add(c, to) }
        }
    }

    /// Adds the text that was held back, because no further piece continues this line.
    pub(crate) fn end(&mut self, to: &mut String) {
        if std::mem::take(&mut self.has_return) {
            self.add('\r', to);
        }
        self.is_in_line |= !self.held.is_empty();
        to.push_str(&std::mem::take(&mut self.held));
    }

    /// Whether the text has ended, or would begin, at the beginning of a line.
    pub(crate) fn is_at_line_start(&self) -> bool {
        !self.is_in_line && self.held.is_empty() && !self.has_return
    }

    fn add(&mut self, c: char, to: &mut String) {
        if c == '\n' {
            to.push_str(&std::mem::take(&mut self.held));
            to.push('\n');
            self.is_in_line = false;
            return;
        }
        if self.is_in_line || self.is_exact {
            self.is_in_line = true;
            return push(c, to);
        }
        push(c, &mut self.held);
        match begins(&self.held) {
            Beginning::Unclear => return,
            Beginning::Ours => to.push_str(QUOTE),
            Beginning::Other => {}
        }
        self.is_in_line = true;
        to.push_str(&std::mem::take(&mut self.held));
    }
}

fn push(c: char, to: &mut String) {
    if is_shown(c) || c == '\t' { to.push(c) } else { to.extend(c.escape_default()) }
}

enum Beginning {
    /// The line looks like a line of this program.
    Ours,
    /// More characters decide.
    Unclear,
    Other,
}

fn begins(line: &str) -> Beginning {
    // What has no width does not change how the line looks.
    let is_blank = |c: char| {
        c.is_whitespace() || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
    };
    let word: String = line.chars().filter(|c| !is_blank(*c)).flat_map(char::to_lowercase).collect();
    if OURS.contains(&&*word) {
        Beginning::Ours
    } else if OURS.iter().any(|ours| ours.starts_with(&word)) && line.chars().count() < MOST_BLANKS {
        Beginning::Unclear
    } else {
        Beginning::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(pieces: &[&str]) -> String {
        let (mut block, mut text) = (Block::default(), String::new());
        for piece in pieces {
            block.push(piece, &mut text);
        }
        block.end(&mut text);
        text
    }

    #[test]
    fn a_line_has_no_control_characters_and_no_marks_of_direction() {
        for (text, safe) in [
            ("plain \t\u{e9} \u{5d0} \u{200d}", "plain \t\u{e9} \u{5d0} \u{200d}"),
            ("one\nhint: run\r\n", r"one\nhint: run\r\n"),
            ("\u{1b}[31m\u{0}\u{7f}\u{9b}2J", r"\u{1b}[31m\u{0}\u{7f}\u{9b}2J"),
            ("\u{85}\u{b}\u{c}\u{2028}\u{2029}", r"\u{85}\u{b}\u{c}\u{2028}\u{2029}"),
            ("\u{202a}\u{202e}\u{2066}\u{2069}", r"\u{202a}\u{202e}\u{2066}\u{2069}"),
            ("\u{61c}\u{200e}\u{200f}\u{206a}\u{fff9}", r"\u{61c}\u{200e}\u{200f}\u{206a}\u{fff9}"),
        ] {
            assert_eq!(line(text), safe);
        }
    }

    #[test]
    fn a_block_keeps_its_lines_and_quotes_those_that_look_like_ours() {
        for (text, safe) in [
            ("a\r\nb\rc\n", "a\nb\\rc\n"),
            ("x\u{1b}[2J\u{202e}y", r"x\u{1b}[2J\u{202e}y"),
            ("hint: run", "> hint: run"),
            ("a\nError: b\n  WARNING:c", "a\n> Error: b\n>   WARNING:c"),
            ("\u{200b}h\u{ad}int: run", "> \u{200b}h\u{ad}int: run"),
            ("\nResume: rm", "\n> Resume: rm"),
            ("hi", "hi"),
            ("hints: a\nnot a hint: b\nwarn", "hints: a\nnot a hint: b\nwarn"),
            ("  ", "  "),
        ] {
            assert_eq!(block(&[text]), safe);
            // In pieces of one character the outcome is the same.
            let pieces: Vec<_> = text.split("").collect();
            assert_eq!(block(&pieces), safe, "{text:?} in pieces");
        }
    }

    #[test]
    fn json_stays_json() {
        let value = serde_json::json!({"\u{202e}": "\u{1b}\n\u{7f}\u{9b}\u{2028}\u{e9}\u{1f600}"});
        let safe = json(serde_json::to_string_pretty(&value).unwrap());
        assert!(safe.chars().all(|c| c == '\n' || is_shown(c)), "{safe}");
        assert!(safe.contains(r"\u202e") && safe.contains(r"\u007f") && safe.contains('\u{1f600}'), "{safe}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&safe).unwrap(), value);
    }
}
