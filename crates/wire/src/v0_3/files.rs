//! Converts files on reading and writing the messages of the proto: see [`FileBytes`].

use std::{borrow::Cow, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use nuncio_model::{
    Call, Message, Part, PartContent, PartContentRef, Parts, Reply, StreamResponse, Task,
    op::SendStreamingMessageRequest,
};

use crate::dialect::FileBytes;

/// A value that can contain files.
pub(super) trait Files {
    /// Changes each part that can be a file.
    fn each_part(&mut self, change: &mut impl FnMut(&mut Part));
}

/// The parts of an artifact are unpacked from their blocks only if they include a file.
fn each_of(parts: &mut Parts, change: &mut impl FnMut(&mut Part)) {
    if parts.iter().any(|part| matches!(part.content, PartContentRef::Raw(_))) {
        parts.for_each_mut(change);
    }
}

impl Files for Message {
    fn each_part(&mut self, change: &mut impl FnMut(&mut Part)) {
        self.parts.iter_mut().for_each(change);
    }
}

impl Files for Task {
    fn each_part(&mut self, change: &mut impl FnMut(&mut Part)) {
        self.artifacts.iter_mut().for_each(|artifact| each_of(&mut artifact.parts, change));
        for message in self.messages_mut() {
            message.each_part(change);
        }
    }
}

impl Files for StreamResponse {
    fn each_part(&mut self, change: &mut impl FnMut(&mut Part)) {
        match self {
            Self::Task(task) => task.each_part(change),
            Self::Message(message) => message.each_part(change),
            Self::StatusUpdate(update) => {
                update.status.message.iter_mut().for_each(|message| message.each_part(change));
            }
            Self::ArtifactUpdate(update) => each_of(&mut update.artifact.parts, change),
        }
    }
}

impl Files for Call {
    fn each_part(&mut self, change: &mut impl FnMut(&mut Part)) {
        if let Self::SendMessage(request) | Self::SendStreamingMessage(SendStreamingMessageRequest(request)) = self {
            request.message.each_part(change);
        }
    }
}

impl Files for Reply {
    fn each_part(&mut self, change: &mut impl FnMut(&mut Part)) {
        match self {
            Self::Task(task) => Arc::make_mut(task).each_part(change),
            Self::Message(message) => message.each_part(change),
            _ => {}
        }
    }
}

/// Converts the files of a message that was read.
pub(super) fn read<T: Files>(bytes: FileBytes, mut value: T) -> T {
    value.each_part(&mut |part| {
        let media_type = part.media_type();
        let may_be_encoded = bytes == FileBytes::Base64 || media_type.is_some_and(is_binary);
        if let PartContent::Raw(content) = &mut part.content
            && may_be_encoded
            && !content.is_empty()
            && let Ok(decoded) = STANDARD.decode(&*content)
        {
            *content = decoded.into();
        }
    });
    value
}

/// Converts the files of a message before the message is written.
pub(super) fn written<T: Files + Clone>(bytes: FileBytes, value: &T) -> Cow<'_, T> {
    match bytes {
        FileBytes::Raw => Cow::Borrowed(value),
        FileBytes::Base64 => {
            let mut value = value.clone();
            value.each_part(&mut encode);
            Cow::Owned(value)
        }
    }
}

/// Like [`written`], for a reply. `None` if the reply is written unchanged.
pub(super) fn written_reply(bytes: FileBytes, reply: &Reply) -> Option<Reply> {
    Some(match (bytes, reply) {
        (FileBytes::Base64, Reply::Task(task)) => Reply::Task(Arc::new(written(bytes, &**task).into_owned())),
        (FileBytes::Base64, Reply::Message(message)) => {
            Reply::Message(Box::new(written(bytes, &**message).into_owned()))
        }
        _ => return None,
    })
}

fn encode(part: &mut Part) {
    if let PartContent::Raw(content) = &mut part.content {
        *content = STANDARD.encode(&*content).into_bytes().into();
    }
}

/// Whether every file of this type contains bytes at its beginning that are not base64 characters.
fn is_binary(media_type: &str) -> bool {
    let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let class = media_type.split('/').next().unwrap_or_default();
    matches!(class, "image" | "audio" | "video" | "font")
        || matches!(&*media_type, "application/pdf" | "application/zip" | "application/gzip")
}
