//! Checks the order of the events of one stream: `chunk i` follows `chunk i - 1`, without gaps and without duplicates.

use anyhow::{Result, bail};
use memchr::memmem::Finder;

/// The search patterns for the kinds of events; created once and shared by all readers.
#[derive(Debug)]
pub(crate) struct Finders {
    artifact_update: Finder<'static>,
    chunk: Finder<'static>,
    task: Finder<'static>,
    completed: Finder<'static>,
    status_update: Finder<'static>,
}

impl Default for Finders {
    fn default() -> Self {
        Self {
            artifact_update: Finder::new("\"artifactUpdate\":"),
            chunk: Finder::new("chunk "),
            task: Finder::new("\"task\":"),
            completed: Finder::new("TASK_STATE_COMPLETED"),
            status_update: Finder::new("\"statusUpdate\":"),
        }
    }
}

/// The progress of one stream.
#[derive(Debug)]
pub(crate) struct Sequence {
    expected: u64,
    next: Option<u64>,
    chunks: u64,
    /// The number of received events.
    pub(crate) events: u64,
    ended: bool,
}

/// The kind of an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Chunk,
    Other,
}

impl Sequence {
    /// The state before the first event of a stream with `expected` chunks.
    pub(crate) fn of(expected: u64) -> Self {
        Self { expected, next: None, chunks: 0, events: 0, ended: false }
    }

    /// Processes the `data` of one event.
    pub(crate) fn event(&mut self, finders: &Finders, data: &[u8]) -> Result<Kind> {
        self.events += 1;
        if self.ended {
            bail!("an event after the last event: {}", start_of(data));
        }
        if let Some(at) = finders.artifact_update.find(data) {
            let text = &data[at..];
            let Some(at) = finders.chunk.find(text) else {
                bail!("a chunk without a number: {}", start_of(data));
            };
            self.chunk(leading_number(&text[at + 6..]))?;
            return Ok(Kind::Chunk);
        }
        if finders.task.find(data).is_some() {
            // A reader that joined late receives the first chunks in the task.
            for at in finders.chunk.find_iter(data) {
                self.chunk(leading_number(&data[at + 6..]))?;
            }
        } else if finders.status_update.find(data).is_none() {
            bail!("not an event: {}", start_of(data));
        }
        self.ended = finders.completed.find(data).is_some();
        Ok(Kind::Other)
    }

    /// Ends the stream; all chunks must have arrived.
    pub(crate) fn finish(&self) -> Result<()> {
        if !self.ended {
            bail!("the stream ended before the task, at chunk {} of {}", self.chunks, self.expected);
        }
        if self.chunks != self.expected {
            bail!("{} chunks of {} arrived", self.chunks, self.expected);
        }
        Ok(())
    }

    fn chunk(&mut self, number: Option<u64>) -> Result<()> {
        // The agent may count from 0 or from 1.
        match (number, self.next) {
            (Some(number @ 0..=1), None) => self.next = Some(number + 1),
            (Some(number), Some(next)) if number == next => self.next = Some(next + 1),
            (Some(number), next) => bail!("chunk {number} instead of {}", next.unwrap_or(0)),
            (None, _) => bail!("a chunk without a number"),
        }
        self.chunks += 1;
        Ok(())
    }
}

fn leading_number(text: &[u8]) -> Option<u64> {
    let length = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let digits = &text[..length];
    (length > 0).then(|| digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

fn start_of(data: &[u8]) -> String {
    String::from_utf8_lossy(&data[..data.len().min(300)]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(events: &[&str]) -> Result<u64> {
        let (finders, mut sequence) = (Finders::default(), Sequence::of(3));
        for event in events {
            let event = match event.split_once(' ') {
                Some(("task", text)) => format!(r#"{{"task":{{"artifacts":[{{"parts":[{{"text":"{text}"}}]}}]}}}}"#),
                Some(_) => format!(r#"{{"artifactUpdate":{{"artifact":{{"parts":[{{"text":"{event}"}}]}}}}}}"#),
                None => format!(r#"{{"statusUpdate":{{"status":{{"state":"TASK_STATE_{event}"}}}}}}"#),
            };
            sequence.event(&finders, event.as_bytes())?;
        }
        sequence.finish()?;
        Ok(sequence.events)
    }

    #[test]
    fn counts_a_whole_stream() {
        let events = read(&["task -", "WORKING", "chunk 1", "chunk 2", "chunk 3", "COMPLETED"]).unwrap();
        assert_eq!(events, 6);
        assert!(read(&["WORKING", "chunk 0", "chunk 1", "chunk 2", "COMPLETED"]).is_ok());
    }

    #[test]
    fn reads_the_first_chunks_of_a_late_reader_from_the_task() {
        assert!(read(&["task chunk 1..chunk 2..", "chunk 3", "COMPLETED"]).is_ok());
    }

    #[test]
    fn refuses_loss_disorder_and_duplicates() {
        for chunks in [[1, 3, 3], [1, 3, 2], [1, 1, 2], [2, 3, 4]] {
            let chunks = chunks.map(|chunk| format!("chunk {chunk}"));
            assert!(read(&[&chunks[0], &chunks[1], &chunks[2], "COMPLETED"]).is_err(), "{chunks:?}");
        }
        assert!(read(&["chunk 1", "chunk 2", "COMPLETED"]).is_err());
        assert!(read(&["chunk 1", "chunk 2", "chunk 3"]).is_err());
        assert!(read(&["chunk 1", "chunk 2", "chunk 3", "COMPLETED", "COMPLETED"]).is_err());
        assert!(read(&["task chunk 1", "chunk 1", "chunk 2", "chunk 3", "COMPLETED"]).is_err());
    }
}
