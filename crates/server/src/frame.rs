//! Frames of a stream: as many events as are ready, in one piece.

/// How many events go into one frame.
pub(crate) const BATCH: usize = 64;

/// A frame that has grown to this many bytes takes no more events.
pub(crate) const FULL: usize = 64 * 1024;

/// How much room the next frame of a stream is likely to need: as much as the last one. A frame that grows event by
/// event is moved again and again.
#[derive(Debug, Default)]
pub(crate) struct Room(usize);

impl Room {
    /// Makes room in a frame before an event is written into it.
    pub(crate) fn make(&self, frame: &mut Vec<u8>) {
        if frame.is_empty() {
            frame.reserve(self.0);
        }
    }

    /// Notes how much a frame needed.
    pub(crate) fn learn(&mut self, frame: &[u8]) {
        self.0 = frame.len().min(FULL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_like_the_last_one_does_not_grow() {
        let (mut room, mut frame) = (Room::default(), Vec::new());
        room.make(&mut frame);
        assert_eq!(frame.capacity(), 0, "a stream that is silent takes nothing");
        room.learn(&[0; 2_000]);
        room.make(&mut frame);
        assert!(frame.capacity() >= 2_000);
        room.learn(&vec![0; 10 * FULL]);
        let mut next = Vec::new();
        room.make(&mut next);
        assert_eq!(next.capacity(), FULL);
    }
}
