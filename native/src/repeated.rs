//! The user's own words between quotation marks in a reply: whoever repeats them does not say them.

use crate::blocks::LINE_FEED;
use crate::characters::{Characters, DECLINED, LETTER};
use crate::marks::Marks;
use crate::text::{Declined, Span};

const LONGEST: usize = 2000; // characters of a quotation
const FEW: usize = 32; // questions, before it is worth to sort what the user said
const BY_PYTHON: u32 = DECLINED | LETTER; // letters of which Python alone knows the lower case
const BEHIND_WORD: u32 = u32::MAX; // no character: so two runs of words are equal where their letters are

static OPENINGS: Marks = Marks::of(&['"', '«', '“', '「', '『']);

/// The mark that closes a quotation, by the one that opens it.
#[inline(always)]
pub fn closing_mark(open: u32) -> Option<u32> {
    match open {
        0x22 => Some(0x22),
        0xAB => Some(0xBB),
        0x201C => Some(0x201D),
        0x300C => Some(0x300D),
        0x300E => Some(0x300F),
        _ => None,
    }
}

/// Where a quotation ends that begins at a place.
fn quotation_end(text: &[u32], start: usize) -> Option<usize> {
    let open = text[start];
    let close = closing_mark(open)?;
    let inside = text[start + 1..].iter().take(LONGEST).take_while(|&&c| c != open && c != close && c != LINE_FEED).count();
    let end = start + 1 + inside;
    (inside > 0 && text.get(end) == Some(&close)).then_some(end + 1)
}

/// Words, or characters where no space shows them.
#[derive(Default)]
struct Units {
    spaced: bool,
    letters: Vec<u32>,  // in lower case, one unit behind the other
    starts: Vec<usize>, // of each unit, and where the last one ends
    is_declined: bool,  // Python alone knows its lower case
}

impl Units {
    fn read(&mut self, text: &[u32], spaced: bool, characters: &Characters) {
        (self.spaced, self.is_declined) = (spaced, false);
        self.letters.clear();
        self.starts.clear();
        for word in text.split(|&c| !characters.is_word(c)) {
            self.add(word, characters);
        }
        self.starts.push(self.letters.len());
    }

    fn add(&mut self, word: &[u32], characters: &Characters) {
        let start = self.letters.len();
        self.letters.extend(word.iter().map(|&c| characters.lower(c)));
        self.is_declined |= word.iter().any(|&c| characters.flags(c) & BY_PYTHON == BY_PYTHON);
        if !self.spaced {
            self.starts.extend(start..self.letters.len());
        } else if !word.is_empty() {
            self.starts.push(start);
            self.letters.push(BEHIND_WORD);
        }
    }

    /// So many units make the words of a quotation the user's.
    fn length(&self) -> usize {
        if self.spaced { 5 } else { 10 }
    }

    /// How many runs of that length there are.
    fn count(&self) -> usize {
        self.starts.len().saturating_sub(self.length())
    }

    fn run(&self, number: usize) -> &[u32] {
        &self.letters[self.starts[number]..self.starts[number + self.length()]]
    }
}

/// What the user said, and whether a run of it is there.
#[derive(Default)]
struct Said {
    units: Units,
    order: Vec<usize>, // runs in the order of their letters, once there are many questions
    asked: usize,
    is_read: bool,
}

impl Said {
    fn read(&mut self, answers: &[u32], spaced: bool, characters: &Characters) -> Result<(), Declined> {
        if !self.is_read {
            self.units.read(answers, spaced, characters);
            self.order.clear();
            (self.is_read, self.asked) = (true, 0);
        }
        if self.units.is_declined { Err(Declined) } else { Ok(()) }
    }

    fn has(&mut self, run: &[u32]) -> bool {
        let units = &self.units;
        self.asked += 1;
        if self.asked < FEW {
            return (0..units.count()).any(|number| units.run(number) == run);
        }
        if self.order.is_empty() {
            self.order.extend(0..units.count());
            self.order.sort_by(|&one, &other| units.run(one).cmp(units.run(other)));
        }
        self.order.binary_search_by(|&number| units.run(number).cmp(run)).is_ok()
    }
}

/// Finds quotations of what the user said; its buffers serve one text after the other.
#[derive(Default)]
pub struct Repeated {
    quoted: Units,
    words: Said,
    characters: Said,
    found: Vec<Span>,
}

impl Repeated {
    pub fn find(&mut self, text: &[u32], answers: &[u32], characters: &Characters) -> Result<&[Span], Declined> {
        (self.words.is_read, self.characters.is_read) = (false, false);
        self.found.clear();
        let mut at = 0;
        while let Some((start, end)) = next_quotation(text, at) {
            if self.is_repeated(&text[start..end], answers, characters)? {
                self.found.push((start, end));
            }
            at = end;
        }
        Ok(&self.found)
    }

    fn is_repeated(&mut self, quoted: &[u32], answers: &[u32], characters: &Characters) -> Result<bool, Declined> {
        let spaced = !quoted.iter().any(|&c| is_unspaced(c));
        let (units, said) = (&mut self.quoted, if spaced { &mut self.words } else { &mut self.characters });
        units.read(quoted, spaced, characters);
        if units.is_declined && (units.count() > 0 || !spaced) {
            return Err(Declined); // a lower case of two characters may make another run
        }
        if units.count() == 0 {
            return Ok(false);
        }
        said.read(answers, spaced, characters)?;
        Ok((0..units.count()).all(|number| said.has(units.run(number))))
    }
}

fn next_quotation(text: &[u32], from: usize) -> Option<Span> {
    let mut at = from;
    while let Some(start) = OPENINGS.next(text, at) {
        if let Some(end) = quotation_end(text, start) {
            return Some((start, end));
        }
        at = start + 1;
    }
    None
}

fn is_unspaced(c: u32) -> bool {
    matches!(c, 0x3040..=0x30FF | 0x4E00..=0x9FFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(text: &str) -> Vec<u32> {
        text.chars().map(u32::from).collect()
    }

    fn ends(text: &str) -> Option<Span> {
        next_quotation(&points(text), 0)
    }

    #[test]
    fn a_quotation_ends_with_its_own_mark_on_its_line() {
        assert_eq!(ends("a \"b“c\" d"), Some((2, 7)));
        assert_eq!(ends("“a “b”"), Some((3, 6)));
        assert_eq!(ends("\"\"a\""), Some((1, 4)));
        assert_eq!(ends("«a\nb» 『』 「"), None);
    }

    #[test]
    fn a_quotation_has_a_longest_length() {
        let quoted = |length: usize| format!("\"{}\"", "a".repeat(length));
        assert_eq!(ends(&quoted(LONGEST)), Some((0, LONGEST + 2)));
        assert_eq!(ends(&quoted(LONGEST + 1)), None);
    }
}
