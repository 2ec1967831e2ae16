//! One text of a conversation: as it was written, as code points, and in normal form.

use crate::learned::Seen;
use crate::text::Text;

/// A text. Its buffers serve one conversation after the other.
#[derive(Default)]
pub struct Message {
    pub bytes: Vec<u8>, // UTF-8
    pub points: Vec<u32>,
    offsets: Vec<u32>,                // of each code point among the bytes, and their end; empty where all are ASCII
    pub spoken: Option<Vec<u32>>,     // of a reply what is said to the person, where that is not all of it
    pub normal: Text,                 // of what is spoken
    pub language: usize,
    pub how: usize, // the language was decided
    pub scores: Vec<i64>,   // of the learned reader, once they are asked for
    pub seen: Option<Seen>, // by it
}

impl Message {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.points.clear();
        self.offsets.clear();
        self.scores.clear();
        (self.spoken, self.seen) = (None, None);
        (self.language, self.how) = (0, 0);
    }

    /// Makes code points of the bytes; None if they are not UTF-8.
    pub fn decode(&mut self) -> Option<()> {
        if self.bytes.is_ascii() {
            self.points.extend(self.bytes.iter().map(|&byte| u32::from(byte)));
            return Some(());
        }
        let text = std::str::from_utf8(&self.bytes).ok()?;
        for (at, c) in text.char_indices() {
            self.points.push(u32::from(c));
            self.offsets.push(at as u32);
        }
        self.offsets.push(self.bytes.len() as u32);
        Some(())
    }

    /// The bytes of some code points.
    #[inline]
    pub fn part(&self, start: u32, end: u32) -> &[u8] {
        &self.bytes[self.offset(start)..self.offset(end)]
    }

    #[inline]
    fn offset(&self, place: u32) -> usize {
        if self.offsets.is_empty() { place as usize } else { self.offsets[place as usize] as usize }
    }

    /// The code points of what is said to the person.
    pub fn said(&self) -> &[u32] {
        self.spoken.as_deref().unwrap_or(&self.points)
    }
}
