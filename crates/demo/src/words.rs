//! The agent's words and their functions.

use nuncio_engine::{AgentError, Turn};

use crate::{callers, echo, endings, parts, questions, rule_breakers, streams, table, waits};

/// A table of words: the name, the text and the function of each word.
macro_rules! words {
    ($($name:ident $text:literal => $run:path,)*) => {
        /// A word of the agent.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum Word {
            $($name,)*
        }

        impl Word {
            /// The word with this text.
            pub(crate) fn of(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$name),)* _ => None }
            }
        }

        /// Runs the function of a word; `rest` is the text after the word.
        pub(crate) async fn run(turn: &Turn, word: Word, rest: &str) -> Result<(), AgentError> {
            match word { $(Word::$name => $run(turn, rest).await,)* }
        }
    };
}

words! {
    Echo "echo" => echo::echo,
    Message "message" => echo::message,
    Stream "stream" => streams::stream,
    Input "input" => questions::input,
    Auth "auth" => questions::auth,
    Slow "slow" => waits::slow,
    Stubborn "stubborn" => waits::stubborn,
    Silent "silent" => waits::silent,
    Fail "fail" => endings::fail,
    Reject "reject" => endings::reject,
    Raise "raise" => endings::raise,
    Panic "panic" => endings::panic,
    Parts "parts" => parts::parts,
    AppendFirst "append-first" => streams::append_first,
    Replace "replace" => streams::replace,
    TwoMessages "two-messages" => rule_breakers::two_messages,
    AfterEnd "after-end" => rule_breakers::after_end,
    Table "table" => table::table,
    Whoami "whoami" => callers::whoami,
}
