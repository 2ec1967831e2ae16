//! How alike two texts are by their words; `rules/reading.py` says what is counted.

use crate::required::hash_of;
use crate::text::Text;

const EMPTY: u32 = u32::MAX;
const FEWEST_SLOTS: usize = 256;

/// Counts of tokens in two texts. Its tables serve one pair of texts after the other.
#[derive(Default)]
pub struct Counter {
    words: Table,
    pairs: Table,
    places: Vec<(bool, u32, u32)>, // of each word where it first appears: in the second text or not, start, end
    keys: Vec<(u32, u32)>,         // of each pair, the numbers of its words
}

/// How often each numbered token is in either text, found by a hash.
#[derive(Default)]
struct Table {
    slots: Vec<u32>,
    counts: Vec<[u64; 2]>,
}

impl Table {
    /// Makes room for so many tokens.
    fn clear(&mut self, most: usize) {
        let size = (most * 2).next_power_of_two().max(FEWEST_SLOTS);
        self.slots.clear();
        self.slots.resize(size, EMPTY);
        self.counts.clear();
    }

    /// The number of a token, and whether it is new; `is_same` tells whether it is the one with a number.
    #[inline(always)]
    fn number(&mut self, hash: u64, is_same: impl Fn(usize) -> bool) -> (usize, bool) {
        let mask = self.slots.len() - 1;
        let mut slot = (hash >> 20) as usize & mask;
        loop {
            let number = self.slots[slot];
            if number == EMPTY {
                self.slots[slot] = self.counts.len() as u32;
                self.counts.push([0; 2]);
                return (self.counts.len() - 1, true);
            }
            if is_same(number as usize) {
                return (number as usize, false);
            }
            slot = (slot + 1) & mask;
        }
    }
}

impl Counter {
    /// The cosine over counts of words and pairs of neighbouring words; 0 when either text has no words.
    ///
    /// In Japanese and Chinese, which put no space between words, pairs of characters take their place.
    pub fn cosine(&mut self, left: &Text, right: &Text) -> f64 {
        let texts = [left, right];
        let words = left.words.len() + right.words.len();
        let is_unspaced_at = |text: &Text, at: usize| text.is_word[at] && is_unspaced(text.normal[at]);
        let has_unspaced = |text: &Text| (0..text.normal.len()).any(|at| is_unspaced_at(text, at));
        let unspaced = texts.map(has_unspaced);
        let most = if unspaced.contains(&true) { left.normal.len() + right.normal.len() } else { words };
        self.words.clear(most);
        self.pairs.clear(words);
        self.places.clear();
        self.keys.clear();
        for (side, text) in texts.into_iter().enumerate() {
            if unspaced[side] {
                self.count_characters(side, text, texts);
            } else {
                self.count_words(side, text, texts);
            }
        }
        cosine_of(self.words.counts.iter().chain(&self.pairs.counts))
    }

    fn count_words(&mut self, side: usize, text: &Text, texts: [&Text; 2]) {
        let mut before = None;
        for (&(start, end), &hash) in text.words.iter().zip(&text.hashes) {
            let number = self.count(side, start, end, hash, texts);
            if let Some(before) = before {
                let key = (before, number);
                let hash = (u64::from(before) << 32 | u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let (pair, is_new) = self.pairs.number(hash, |known| self.keys[known] == key);
                if is_new {
                    self.keys.push(key);
                }
                self.pairs.counts[pair][side] += 1;
            }
            before = Some(number);
        }
    }

    fn count_characters(&mut self, side: usize, text: &Text, texts: [&Text; 2]) {
        for &(first, last) in &text.words {
            let mut start = first;
            for run in text.normal[first..last].chunk_by(|&one, &other| is_unspaced(one) == is_unspaced(other)) {
                if is_unspaced(run[0]) && run.len() > 1 {
                    for at in start..start + run.len() - 1 {
                        self.count(side, at, at + 2, hash_of(&text.normal[at..at + 2]), texts);
                    }
                } else {
                    self.count(side, start, start + run.len(), hash_of(run), texts);
                }
                start += run.len();
            }
        }
    }

    /// Counts one token, and returns its number.
    #[inline(always)]
    fn count(&mut self, side: usize, start: usize, end: usize, hash: u64, texts: [&Text; 2]) -> u32 {
        let token = &texts[side].normal[start..end];
        let (number, is_new) = self.words.number(hash, |known| {
            let (in_second, start, end) = self.places[known];
            let other = &texts[usize::from(in_second)].normal[start as usize..end as usize];
            other.len() == token.len() && other.iter().zip(token).all(|(one, other)| one == other)
        });
        if is_new {
            self.places.push((side == 1, start as u32, end as u32));
        }
        self.words.counts[number][side] += 1;
        number as u32
    }
}

fn is_unspaced(c: u32) -> bool {
    matches!(c, 0x3040..=0x30FF | 0x3400..=0x9FFF)
}

fn cosine_of<'c>(counts: impl Iterator<Item = &'c [u64; 2]>) -> f64 {
    let (mut shared, mut left, mut right, mut equal) = (0u64, 0u64, 0u64, true);
    for &[one, other] in counts {
        shared += one * other;
        left += one * one;
        right += other * other;
        equal &= one == other;
    }
    if left == 0 || right == 0 {
        return 0.0;
    }
    if equal {
        return 1.0;
    }
    let product = u128::from(left) * u128::from(right); // turned into a number as Python turns its own
    f64::min(1.0, shared as f64 / (product as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_texts_share_is_counted_once_for_each_pair() {
        assert_eq!(cosine_of([[2, 1], [1, 2], [1, 0], [0, 1]].iter()), 4.0 / 6.0);
        assert_eq!(cosine_of([[1, 1]].iter()), 1.0);
        assert_eq!(cosine_of([[1, 0]].iter()), 0.0);
    }
}
