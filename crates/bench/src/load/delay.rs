//! Reads one task on two servers at once: the delay of each chunk on the second server.

use std::net::SocketAddr;

use anyhow::{Result, ensure};
use hdrhistogram::Histogram;
use mio::{Events, Token};

use super::{
    histogram, record,
    sequence::Finders,
    sse::{Reader, SCRATCH, Streams},
    watch::{Waits, Watch},
};

/// Reads the stream of one task from `near` and from `far` to the end. A chunk that arrives from `far` first counts as
/// no delay.
pub(crate) fn run(near: SocketAddr, far: SocketAddr, streams: &mut Streams) -> Result<Histogram<u64>> {
    // The bus and PostgreSQL run on any core.
    let mut watch = Watch::new(Waits::Asleep)?;
    let mut events = Events::with_capacity(16);
    let mut scratch = vec![0; SCRATCH];
    let finders = Finders::default();
    let mut readers = Vec::new();
    for (position, address) in [near, far].into_iter().enumerate() {
        let mut reader = Reader::open(address, Token(position), watch.poll())?.noting_arrivals();
        reader.send(streams)?;
        readers.push(reader);
    }
    let mut busy = readers.len();
    while busy > 0 {
        watch.wait(&mut events)?;
        for event in &events {
            let reader = &mut readers[event.token().0];
            if reader.receive(&mut scratch, &finders)? {
                reader.sequence.finish()?;
                busy -= 1;
            }
        }
    }
    let mut arrivals = readers.into_iter().map(Reader::into_arrivals);
    let (near, far) = (arrivals.next().unwrap_or_default(), arrivals.next().unwrap_or_default());
    let all = usize::try_from(streams.chunks)?;
    ensure!(
        near.len() == all && far.len() == all,
        "the readers came late: {} and {} of {all} chunks were events of their own",
        near.len(),
        far.len()
    );
    let mut delays = histogram()?;
    for (near, far) in near.into_iter().zip(far) {
        record(&mut delays, far.saturating_duration_since(near));
    }
    Ok(delays)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        ceiling,
        load::request::{Template, message},
    };

    #[test]
    fn compares_each_chunk_with_the_same_chunk_of_the_other_server() {
        let address = ceiling::tests::address();
        let request = Template::jsonrpc("SendStreamingMessage", &message("stream 50 size=64"));
        let mut streams = Streams { request, chunks: 50, readers: 2 };
        assert_eq!(run(address, address, &mut streams).unwrap().len(), 50);
        streams.chunks = 51;
        assert!(run(address, address, &mut streams).is_err());
    }
}
