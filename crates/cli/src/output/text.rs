//! The floor of the text format: fields of one line, blocks between a label and a blank line.
//!
//! Labels are ours. Values and content may be of a peer: each goes through [`escape`].

use crate::{escape, style};

/// A growing text for people.
pub(crate) struct Text {
    written: String,
    /// The block that was opened last.
    block: escape::Block,
    pub(super) is_verbose: bool,
}

impl Text {
    pub(super) fn new(is_verbose: bool) -> Self {
        Self { written: String::new(), block: escape::Block::default(), is_verbose }
    }

    pub(super) fn finish(self) -> String {
        self.written
    }

    /// `Label: value` on one line.
    pub(crate) fn field(&mut self, label: &str, value: &str) {
        self.label(label);
        self.written.push(' ');
        let value = value.split(['\n', '\r']).collect::<Vec<_>>().join(" ");
        match style::of_state(&value).filter(|_| label == "State" && style::stdout()) {
            Some(color) => self.written.push_str(&style::paint(&value, color)),
            None => self.written.push_str(&escape::line(&value)),
        }
        self.written.push('\n');
    }

    /// The same, where there is a value.
    pub(crate) fn field_if(&mut self, label: &str, value: Option<&str>) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.field(label, value);
        }
    }

    /// Content of many lines: its label, the content, a blank line.
    pub(crate) fn block(&mut self, label: &str, content: &str) {
        self.open_block(label, content);
        self.block.end(&mut self.written);
        self.end_line();
        self.written.push('\n');
    }

    /// A block of JSON.
    pub(crate) fn json(&mut self, label: &str, value: &impl serde::Serialize) {
        self.json_text(label, serde_json::to_string_pretty(value).unwrap_or_default());
    }

    /// A block of a text that is JSON.
    pub(crate) fn json_text(&mut self, label: &str, text: String) {
        self.block(label, &escape::json(text));
    }

    /// A block without its end, because more text may follow.
    pub(super) fn open_block(&mut self, label: &str, content: &str) {
        self.label(label);
        self.written.push('\n');
        self.block = escape::Block::default();
        self.block.push(content, &mut self.written);
    }

    /// The text, and the block at its end, which may go on.
    pub(super) fn into_open(self) -> (String, escape::Block) {
        (self.written, self.block)
    }

    fn label(&mut self, label: &str) {
        let label = format!("{label}:");
        self.written.push_str(&if style::stdout() { style::paint(&label, style::LABEL) } else { label });
    }

    fn end_line(&mut self) {
        if !self.written.ends_with('\n') {
            self.written.push('\n');
        }
    }

    /// A blank line between two things.
    pub(crate) fn gap(&mut self) {
        if !self.written.is_empty() && !self.written.ends_with("\n\n") {
            self.written.push('\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal_and_nothing_looks_like_another_field() {
        let mut text = Text::new(false);
        text.field("Name", "a\x1b[31m\nb");
        text.block("Text", "x\r\n\u{9b}y\nhint: z");
        text.json("Data", &"\u{202e}");
        let safe = "Name: a\\u{1b}[31m b\nText:\nx\n\\u{9b}y\n> hint: z\n\nData:\n\"\\u202e\"\n\n";
        assert_eq!(text.finish(), safe);
    }
}
