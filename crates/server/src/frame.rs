//! Frames of a stream: all events that are ready, in one buffer.

/// The largest number of events in one frame.
pub(crate) const BATCH: usize = 64;

/// A frame of at least this many bytes takes no more events.
pub(crate) const FULL: usize = 64 * 1024;

/// The expected size of the next frame of a stream: the size of the last frame. Without a reservation a frame is copied
/// each time it grows.
#[derive(Debug, Default)]
pub(crate) struct Room(usize);

impl Room {
    /// Reserves room in an empty frame before the first event is written.
    pub(crate) fn make(&self, frame: &mut Vec<u8>) {
        if frame.is_empty() {
            frame.reserve(self.0);
        }
    }

    /// Records the size of a frame.
    pub(crate) fn learn(&mut self, frame: &[u8]) {
        self.0 = frame.len().min(FULL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_of_the_last_size_does_not_grow() {
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
