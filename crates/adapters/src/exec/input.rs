//! A message as the text on a program's stdin.
//!
//! Structured data with a vendor's media type is omitted if the message has other parts. Frameworks add such data for
//! their own use, and a filter would read the data as text of the user.

use nuncio_model::{Message, Part, PartContent};

/// The parts of a message, joined by spaces. A missing line break at the end is added, because a filter that reads
/// lines ignores an incomplete line. An empty text stays empty.
pub(super) fn text(message: &Message) -> String {
    let mut text = String::new();
    let is_alone = message.parts.iter().all(Part::is_vendor_data);
    let parts = message.parts.iter().filter(|part| is_alone || !part.is_vendor_data());
    for (index, part) in parts.enumerate() {
        if index > 0 {
            text.push(' ');
        }
        match &part.content {
            PartContent::Text(content) => text.push_str(content),
            PartContent::Url(url) => text.extend(["[file: ", url, "]"]),
            PartContent::Raw(bytes) => text.extend(["[binary ", &bytes.len().to_string(), " bytes]"]),
            PartContent::Data(data) => text.push_str(data.as_str()),
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use nuncio_model::Role;
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_of_every_kind_become_text() {
        let parts = vec![
            Part::text("two\nlines"),
            Part::url("https://example.com/x"),
            Part::raw([0, 1, 2]),
            Part::data(json!({"k": [1, null]})),
        ];
        assert_eq!(
            text(&Message::new(Role::User, parts)),
            r#"two
lines [file: https://example.com/x] [binary 3 bytes] {"k":[1,null]}
"#
        );
    }

    #[test]
    fn vendor_data_next_to_other_parts_is_omitted() {
        let history = || Part::data(json!([1])).with_media_type("application/vnd.ag2.history+json");
        assert_eq!(text(&Message::new(Role::User, vec![Part::text("hi"), history()])), "hi\n");
        assert_eq!(text(&Message::new(Role::User, vec![history()])), "[1]\n");
    }

    #[test]
    fn the_last_line_ends_with_one_line_break() {
        let ended = ["as is\n", "as is\r\n", "two\n\n", "cut off", ""].map(|line| text(&Message::user(line)));
        assert_eq!(ended, ["as is\n", "as is\r\n", "two\n\n", "cut off\n", ""]);
    }
}
