//! The text of an answer, and nothing else.

use nuncio_model::{Artifact, Message, Task};

/// The text of a message.
pub(super) fn of_message(message: &Message) -> String {
    message.text()
}

/// The text of the artifacts of a task, or of its status if there are no artifacts.
pub(super) fn of_task(task: &Task) -> String {
    let texts: Vec<_> = task.artifacts.iter().map(Artifact::text).filter(|text| !text.is_empty()).collect();
    if texts.is_empty() {
        return task.status.message.as_deref().map(Message::text).unwrap_or_default();
    }
    texts.join("\n")
}

#[cfg(test)]
mod tests {
    use nuncio_model::Part;

    use super::*;

    #[test]
    fn artifacts_are_the_answer_and_else_the_status() {
        let mut task = Task::new("t".into(), "c".into());
        task.status.message = Some(Box::new(Message::agent("which colour?")));
        assert_eq!(of_task(&task), "which colour?");
        task.artifacts.push(Artifact::new("a", vec![Part::text("one"), Part::text(" more")]));
        task.artifacts.push(Artifact::new("b", vec![Part::text("two")]));
        assert_eq!(of_task(&task), "one more\ntwo");
        assert_eq!(of_message(&Message::agent("hi")), "hi");
    }
}
