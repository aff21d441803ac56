//! Selects the behaviour for a message.

use nuncio_engine::Turn;
use nuncio_model::{Message, Part, Role};

use crate::{questions::Question, tck::Script, words::Word};

/// A selected behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Choice<'a> {
    /// The task has asked a question; this is the next message.
    Answer(Question),
    /// A script of the conformance suite.
    Tck(Script),
    /// A word with the text after it.
    Word(Word, &'a str),
    /// The whole text, echoed.
    Echo(&'a str),
}

/// Selects the behaviour: by the first message if the task has asked a question, otherwise by the current message.
pub(crate) fn choose(turn: &Turn) -> Choice<'_> {
    let history = turn.task().into_iter().flat_map(|task| &task.history);
    let mut asked = history.filter(|message| message.role == Role::User);
    // The history ends with the message of this turn, so an earlier message exists only if there are two.
    let first = asked.next().filter(|_| asked.next().is_some());
    match first.and_then(|first| Question::of(of_message(first))) {
        Some(question) => Choice::Answer(question),
        None => of_message(turn.message()),
    }
}

/// Selects by the message's id, then by a prefix of its first text, then by the first word.
fn of_message(message: &Message) -> Choice<'_> {
    let text = message.parts.iter().find_map(Part::as_text).unwrap_or_default();
    if let Some(script) = Script::of(message.message_id.as_str()).or_else(|| Script::of_text(text)) {
        return Choice::Tck(script);
    }
    let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    Word::of(first).map_or(Choice::Echo(text), |word| Choice::Word(word, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(id: &str, text: &str) -> String {
        let message = Message { message_id: id.into(), ..Message::user(text) };
        format!("{:?}", of_message(&message))
    }

    #[test]
    fn the_id_has_priority_over_the_text_and_a_prefix_over_a_word() {
        assert_eq!(chosen("tck-complete-task-1", "tck-task-failure"), "Tck(CompleteTask)");
        assert_eq!(chosen("m", "tck-task-failure now"), "Tck(TaskFailure)");
        assert_eq!(chosen("tck-of-another-kind", "fail now"), "Word(Fail, \"now\")");
        assert_eq!(chosen("test-resubscribe-message-id-1", "x"), "Tck(Resubscribe)");
        assert_eq!(chosen("m", "test-resubscribe-message-id-1"), "Echo(\"test-resubscribe-message-id-1\")");
    }

    #[test]
    fn the_longest_prefix_counts() {
        assert_eq!(chosen("tck-artifact-file-url-1", ""), "Tck(ArtifactFileUrl)");
        assert_eq!(chosen("tck-artifact-file-1", ""), "Tck(ArtifactFile)");
    }

    #[test]
    fn a_text_without_a_known_word_is_echoed() {
        assert_eq!(chosen("m", "echo  two  spaces\n"), "Word(Echo, \" two  spaces\\n\")");
        assert_eq!(chosen("m", "echoes fade"), "Echo(\"echoes fade\")");
        assert_eq!(chosen("m", ""), "Echo(\"\")");
    }
}
