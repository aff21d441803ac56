//! Parts for people: text as text, data as JSON, files by name, type and size. None is left out.

use nuncio_model::{ContextId, Message, Part, PartContent, Size, TaskId, json};

use super::Text;

impl Text {
    pub(crate) fn parts(&mut self, parts: &[Part]) {
        for part in parts {
            self.part(part);
        }
    }

    fn part(&mut self, part: &Part) {
        match &part.content {
            PartContent::Text(text) => {
                if self.is_verbose {
                    self.field_if("Media-Type", part.media_type());
                }
                self.block("Text", text);
            }
            PartContent::Data(data) => {
                self.json_text("Data", json::pretty(data.as_str()));
            }
            PartContent::Raw(bytes) => {
                let name = part.filename().unwrap_or("(no name)");
                let media_type = part.media_type().unwrap_or("application/octet-stream");
                self.field("File", &format!("{name}, {media_type}, {}", Size::of(bytes.len())));
            }
            PartContent::Url(url) => {
                let mut about: Vec<&str> = vec![url];
                about.extend(part.filename());
                about.extend(part.media_type());
                self.field("File", &about.join(", "));
            }
        }
        if let Some(metadata) = part.metadata().filter(|_| self.is_verbose) {
            self.json("Part-Metadata", metadata);
        }
    }

    /// A message that stands alone: an agent's direct answer.
    pub(crate) fn message(&mut self, message: &Message) {
        self.field("Message", message.message_id.as_str());
        self.field_if("Context", message.context_id.as_ref().map(ContextId::as_str));
        self.field_if("Task", message.task_id.as_ref().map(TaskId::as_str));
        self.field("Role", message.role.short());
        self.parts(&message.parts);
        self.metadata(message.metadata.as_deref());
    }

    pub(super) fn metadata(&mut self, metadata: Option<&nuncio_model::Struct>) {
        if let Some(metadata) = metadata.filter(|metadata| self.is_verbose && !metadata.is_empty()) {
            self.json("Metadata", metadata);
        }
    }
}
