//! Many readers of one task: all readers join before the task continues, and read the task to its end. Then the next
//! task follows.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};

use super::{
    Slice,
    call::{Line, create_task},
    request::{TASK, Template, next_number},
    sse::{Readers, StreamTotals, Streams},
    unary::Unary,
    watch::Waits,
};

/// Tasks that wait for a message before their first chunk.
#[derive(Debug)]
pub(crate) struct Tasks {
    /// The message that creates a task.
    pub(crate) text: String,
    /// The number of chunks in each task.
    pub(crate) chunks: u64,
    /// The number of readers of each task.
    pub(crate) readers: usize,
}

/// Reads one task after another for about `limit`. The measured time starts with the message for which a task waits,
/// and ends when the last reader has received all events. Only events in this time count. The latency is the time from
/// the message to the first chunk of each reader.
pub(crate) fn run(address: SocketAddr, waits: Waits, tasks: &Tasks, limit: Duration) -> Result<Slice> {
    let mut readers = Readers::open(address, waits, tasks.readers)?;
    let mut line = Line::open(address)?;
    let (mut tally, mut wall) = (StreamTotals::new()?, Duration::ZERO);
    let begun = Instant::now();
    while wall.is_zero() || begun.elapsed() < limit {
        let task = create_task(address, Unary::send(&tasks.text, "TASK_STATE_INPUT_REQUIRED"))?;
        join(&mut readers, tasks, &task)?;
        let (mut go_on, number) = (Unary::go_on(task)?, next_number());
        let started = Instant::now();
        line.send(go_on.request(number))?;
        let mut busy = tasks.readers;
        while busy > 0 {
            readers.receive(|reader, is_complete| {
                if is_complete {
                    tally.add(reader, started)?;
                    busy -= 1;
                }
                Ok(())
            })?;
        }
        wall += started.elapsed();
        go_on.check(number, &line.answer()?)?;
    }
    Ok(tally.slice(wall, readers.idle()))
}

/// Lets all readers join; each reader must receive the current task.
fn join(readers: &mut Readers, tasks: &Tasks, task: &str) -> Result<()> {
    let request = Template::jsonrpc_about("SubscribeToTask", &format!(r#""id":"{TASK}""#), [task.to_owned()].into())?;
    let mut streams = Streams { request, chunks: tasks.chunks, readers: tasks.readers };
    for reader in &mut readers.each {
        reader.send(&mut streams)?;
    }
    while readers.each.iter().any(|reader| reader.sequence.events == 0) {
        readers.receive(
            |_, is_complete| if is_complete { bail!("a stream ended before the task continued") } else { Ok(()) },
        )?;
    }
    // The events so far arrived before the measured time.
    readers.each.iter_mut().for_each(|reader| reader.sequence.events = 0);
    Ok(())
}
