//! Many readers of one task: all have joined it before it goes on, and read it to its end. Then those of the next task.

use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};

use super::{
    Slice,
    call::{Line, create_task},
    request::{TASK, Template, next_number},
    sse::{Readers, Streams, Tally},
    unary::Unary,
    watch::Waits,
};

/// Tasks that wait for a message before their first chunk.
#[derive(Debug)]
pub(crate) struct Tasks {
    /// Begins one.
    pub(crate) text: String,
    /// Chunks in each.
    pub(crate) chunks: u64,
    /// Who reads each.
    pub(crate) readers: usize,
}

/// Reads one task after another for about as long as `limit`. The time that counts is from the message that a task
/// waits for until its last reader has all of it, and so are the events; latency is from the message to each reader's
/// first chunk.
pub(crate) fn run(address: SocketAddr, waits: Waits, tasks: &Tasks, limit: Duration) -> Result<Slice> {
    let mut readers = Readers::open(address, waits, tasks.readers)?;
    let mut line = Line::open(address)?;
    let (mut tally, mut wall) = (Tally::new()?, Duration::ZERO);
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

/// Has all readers join, until each has the task as it is.
fn join(readers: &mut Readers, tasks: &Tasks, task: &str) -> Result<()> {
    let request = Template::jsonrpc_about("SubscribeToTask", &format!(r#""id":"{TASK}""#), [task.to_owned()].into())?;
    let mut streams = Streams { request, chunks: tasks.chunks, readers: tasks.readers };
    for reader in &mut readers.each {
        reader.send(&mut streams)?;
    }
    while readers.each.iter().any(|reader| reader.sequence.events == 0) {
        readers.receive(
            |_, is_complete| if is_complete { bail!("a stream ended before its task went on") } else { Ok(()) },
        )?;
    }
    // They came before the time that counts.
    readers.each.iter_mut().for_each(|reader| reader.sequence.events = 0);
    Ok(())
}
