//! How alike two texts are by their words; `rules/reading.py` says what is counted, and turns it into a number.

use crate::characters::Characters;
use crate::text::{Declined, Language, Text};
use std::collections::{HashMap, HashSet};

/// What the cosine is made of: the product of two counts, and the squares of both.
#[derive(Debug, PartialEq)]
pub struct Counted {
    pub shared: u32,
    pub left: u32,
    pub right: u32,
    pub equal: bool,
}

const PAIR: u64 = 1 << 63; // marks a token of two neighbours

/// Counts the tokens of two texts at a time.
pub struct Counter<'a> {
    characters: &'a Characters,
    language: Language,
    left: Text,
    right: Text,
}

impl<'a> Counter<'a> {
    pub fn new(characters: &'a Characters) -> Self {
        // Words are the same whichever language a text is in: only where its lines end depends on that.
        let language = Language { spaced: true, abbreviations: HashSet::new() };
        Self { characters, language, left: Text::default(), right: Text::default() }
    }

    pub fn count(&mut self, left: &[u32], right: &[u32]) -> Result<Counted, Declined> {
        self.left.read_words(left, &self.language, self.characters)?;
        self.right.read_words(right, &self.language, self.characters)?;
        let mut numbers = HashMap::with_capacity(128);
        let left = tokens(&words_of(&self.left), &mut numbers);
        let right = tokens(&words_of(&self.right), &mut numbers);
        compared(&left, &right).ok_or(Declined)
    }
}

fn words_of(text: &Text) -> Vec<&[u32]> {
    let mut words = Vec::with_capacity(64);
    let mut at = 0;
    while at < text.normal.len() {
        let length = text.is_word[at..].iter().take_while(|&&is_word| is_word).count();
        if length > 0 {
            words.push(&text.normal[at..at + length]);
        }
        at += length + 1;
    }
    words
}

/// Words and pairs of neighbours, as numbers in rising order; pairs of characters where no spaces part the words.
fn tokens<'t>(words: &[&'t [u32]], numbers: &mut HashMap<&'t [u32], u64>) -> Vec<u64> {
    let mut number_of = |text: &'t [u32]| {
        let next = numbers.len() as u64;
        *numbers.entry(text).or_insert(next)
    };
    let mut found = Vec::with_capacity(words.len() * 2);
    if words.iter().any(|word| word.iter().any(|&c| is_unspaced(c))) {
        for word in words {
            for run in word.chunk_by(|&one, &other| is_unspaced(one) == is_unspaced(other)) {
                if is_unspaced(run[0]) && run.len() > 1 {
                    found.extend(run.windows(2).map(&mut number_of));
                } else {
                    found.push(number_of(run));
                }
            }
        }
    } else {
        found.extend(words.iter().map(|word| number_of(word)));
        let pairs: Vec<u64> = found.windows(2).map(|pair| PAIR | pair[0] << 31 | pair[1]).collect();
        found.extend(pairs);
    }
    found.sort_unstable();
    found
}

fn is_unspaced(c: u32) -> bool {
    matches!(c, 0x3040..=0x30FF | 0x3400..=0x9FFF)
}

/// None where a number would be too large.
fn compared(left: &[u64], right: &[u64]) -> Option<Counted> {
    let square = |tokens: &[u64]| tokens.chunk_by(|one, other| one == other).map(|run| run.len() * run.len()).sum::<usize>();
    let mut shared = 0;
    let mut others = right.chunk_by(|one, other| one == other).peekable();
    for run in left.chunk_by(|one, other| one == other) {
        while others.next_if(|other| other[0] < run[0]).is_some() {}
        if let Some(other) = others.next_if(|other| other[0] == run[0]) {
            shared += run.len() * other.len();
        }
    }
    let number = |number: usize| u32::try_from(number).ok();
    let (shared, left_square, right_square) = (number(shared)?, number(square(left))?, number(square(right))?);
    Some(Counted { shared, left: left_square, right: right_square, equal: left == right })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_texts_share_is_counted_once_for_each_pair() {
        let counted = compared(&[1, 1, 2, 5], &[1, 2, 2, 7]).unwrap();
        assert_eq!(counted, Counted { shared: 4, left: 6, right: 6, equal: false });
        assert!(compared(&[3], &[3]).unwrap().equal);
    }
}
