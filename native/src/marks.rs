//! Sets of characters that a text is searched for: one look tells almost every character that is none of them.

const WORDS: usize = 1024; // of 64 bits: one for each character of the first plane

/// A set of characters; one beyond the first plane may be taken for another, which whoever asks must tell apart.
pub struct Marks {
    bits: [u64; WORDS],
}

impl Marks {
    pub const EMPTY: Self = Self { bits: [0; WORDS] };

    pub const fn of(characters: &[char]) -> Self {
        let mut made = Self::EMPTY;
        let mut at = 0;
        while at < characters.len() {
            made = made.with(characters[at] as u32);
            at += 1;
        }
        made
    }

    pub const fn with(mut self, c: u32) -> Self {
        self.bits[(c >> 6) as usize % WORDS] |= 1 << (c & 63);
        self
    }

    #[inline(always)]
    pub fn may_have(&self, c: u32) -> bool {
        self.bits[(c >> 6) as usize % WORDS] >> (c & 63) & 1 != 0
    }

    /// The next place in a text at which a mark may stand.
    #[inline(always)]
    pub fn next(&self, text: &[u32], from: usize) -> Option<usize> {
        Some(from + text[from..].iter().position(|&c| self.may_have(c))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_and_others_of_the_first_plane_are_not() {
        let marks = Marks::of(&['<', '「', '\n']);
        let found: Vec<u32> = (0..0x10000).filter(|&c| marks.may_have(c)).collect();
        assert_eq!(found, [10, 0x3C, 0x300C]);
        assert_eq!(marks.next(&[1, 2, 0x300C, 3], 1), Some(2));
        assert_eq!(marks.next(&[1, 2], 2), None);
    }
}
