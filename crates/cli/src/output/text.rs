//! The floor of the text format: fields of one line, blocks between a label and a blank line, no escape sequences.

/// Text for people, as it grows.
pub(crate) struct Text {
    text: String,
    pub(super) is_verbose: bool,
}

impl Text {
    pub(super) fn new(is_verbose: bool) -> Self {
        Self { text: String::new(), is_verbose }
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    /// `Label: value` on one line.
    pub(crate) fn field(&mut self, label: &str, value: &str) {
        self.text.push_str(label);
        self.text.push_str(": ");
        let value = value.split(['\n', '\r']).collect::<Vec<_>>().join(" ");
        self.push(&value);
        self.text.push('\n');
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
        if !content.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push('\n');
    }

    /// The same without its end, as there may be more of it.
    pub(super) fn open_block(&mut self, label: &str, content: &str) {
        self.text.push_str(label);
        self.text.push_str(":\n");
        self.push(content);
    }

    /// Whether the last line is complete.
    pub(super) fn ends_with_line(&self) -> bool {
        self.text.ends_with('\n')
    }

    /// A blank line between two things.
    pub(crate) fn gap(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with("\n\n") {
            self.text.push('\n');
        }
    }

    fn push(&mut self, content: &str) {
        self.text.extend(plain(content));
    }
}

/// Content of others: what would steer a terminal is left out.
pub(super) fn plain(content: &str) -> impl Iterator<Item = char> + '_ {
    content.chars().filter(|letter| matches!(letter, '\n' | '\t') || !letter.is_control())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_the_terminal() {
        let mut text = Text::new(false);
        text.field("Name", "a\x1b[31m\nb");
        text.block("Text", "x\r\n\u{9b}y");
        assert_eq!(text.finish(), "Name: a[31m b\nText:\nx\ny\n\n");
    }
}
