//! The normal form of a text and the way back to the original; the same steps as `rules/text.py`.

use crate::characters::{Characters, Composed, ALPHANUMERIC, COMBINING, ENDING, DECIMAL, DECLINED, DIGIT, EDITED, INVISIBLE, LETTER, LOWER, SPACE, WORD};
use crate::required::hash_of;
use std::collections::HashSet;

pub type Span = (usize, usize);
const LINE_FEED: u32 = 10;
const LONGEST_ABBREVIATION: usize = 8;

/// How the text of one language falls into words and sentences.
pub struct Language {
    pub spaced: bool,
    pub abbreviations: HashSet<Vec<u32>>,
}

/// One message in normal form. Its buffers serve one text after the other.
#[derive(Default)]
pub struct Text {
    pub normal: Vec<u32>,
    pub is_word: Vec<bool>,
    pub words: Vec<Span>,  // runs of characters that belong to words,
    pub hashes: Vec<u64>, // and their hashes
    normal_at: Vec<usize>,
    original_at: Vec<usize>,
    clusters: Vec<usize>, // of characters that stand for a letter and a mark, in order
    pub sentences: Vec<Span>,
    pub quotations: Option<Vec<Span>>,
}

/// A text with a character that Python alone can normalise.
pub struct Declined;

impl Text {
    pub fn read(&mut self, original: &[u32], language: &Language, characters: &Characters) -> Result<(), Declined> {
        self.read_words(original, language, characters)?;
        crate::sentences::find(&self.normal, language.spaced, characters, &mut self.sentences);
        Ok(())
    }

    /// The normal form alone, for those who do not ask for sentences.
    pub fn read_words(
        &mut self, original: &[u32], language: &Language, characters: &Characters,
    ) -> Result<(), Declined> {
        self.normal.clear();
        self.normal_at.clear();
        self.original_at.clear();
        self.clusters.clear();
        self.quotations = None;
        Editor { text: original, language, characters }.write(self)?;
        self.is_word.clear();
        let is_word = |c: u32| match characters.ascii(c) {
            Some((flags, _)) => flags & WORD != 0,
            None => characters.is_word(c),
        };
        self.is_word.extend(self.normal.iter().map(|&c| is_word(c)));
        self.find_words();
        Ok(())
    }

    fn find_words(&mut self) {
        self.words.clear();
        self.hashes.clear();
        let mut at = 0;
        while let Some(next) = self.is_word[at..].iter().position(|&is_word| is_word) {
            let start = at + next;
            let length = self.is_word[start..].iter().position(|&is_word| !is_word);
            at = length.map_or(self.is_word.len(), |length| start + length);
            self.words.push((start, at));
            self.hashes.push(hash_of(&self.normal[start..at]));
        }
    }

    fn shift(&mut self, original: usize) {
        self.normal_at.push(self.normal.len());
        self.original_at.push(original);
    }

    /// The place in the original of the characters `start` to `end` of the normal form.
    pub fn span(&self, start: usize, end: usize) -> Span {
        if start >= end {
            let place = self.position(start);
            return (place, place);
        }
        let last = self.position(end - 1) + usize::from(self.clusters.binary_search(&(end - 1)).is_ok());
        (self.position(start), last + 1)
    }

    fn position(&self, index: usize) -> usize {
        match self.normal_at.partition_point(|&at| at <= index) {
            0 => index,
            after => self.original_at[after - 1] + index - self.normal_at[after - 1],
        }
    }

    /// The sentence in which a position lies.
    pub fn sentence_at(&self, index: usize) -> Span {
        match self.sentences.partition_point(|sentence| sentence.0 <= index) {
            0 => (0, self.normal.len()),
            after => self.sentences[after - 1],
        }
    }

    /// The numbers of the words that are in a part of the normal form, be it with some of their characters.
    pub fn words_in(&self, start: usize, end: usize) -> std::ops::Range<usize> {
        let first = self.words.partition_point(|word| word.1 <= start);
        let last = first + self.words[first..].partition_point(|word| word.0 < end);
        first..last
    }

    /// The numbers of the sentences that begin in a part.
    pub fn sentences_in(&self, start: usize, end: usize) -> std::ops::Range<usize> {
        let place = |place: usize| self.sentences.partition_point(|sentence| sentence.0 < place);
        place(start)..place(end)
    }

    /// The next place that is not inside a word; `last` at most.
    pub fn word_end(&self, at: usize, last: usize) -> usize {
        let mut at = at.min(last);
        while at < last && self.is_word[at - 1] && self.is_word[at] {
            at += 1;
        }
        at
    }

    /// Where the first two sentences end.
    pub fn anchor_end(&self) -> usize {
        self.sentences.iter().take(2).last().map_or(0, |sentence| sentence.1)
    }

    pub fn quotations(&mut self, characters: &Characters) -> &[Span] {
        let normal = &self.normal;
        self.quotations.get_or_insert_with(|| crate::sentences::quotations(normal, characters))
    }

    /// Whether a span lies inside quotation marks.
    pub fn is_quoted(&mut self, start: usize, end: usize, characters: &Characters) -> bool {
        let quotations = self.quotations(characters);
        match quotations.partition_point(|quotation| quotation.0 < start) {
            0 => false,
            after => end < quotations[after - 1].1,
        }
    }
}

/// Makes the edits that lead from the original to the normal form.
struct Editor<'a> {
    text: &'a [u32],
    language: &'a Language,
    characters: &'a Characters,
}

impl Editor<'_> {
    fn write(&self, into: &mut Text) -> Result<(), Declined> {
        let mut at = 0;
        while at < self.text.len() {
            let c = self.text[at];
            if let Some((flags, normal)) = self.characters.ascii(c) {
                if flags & (DECLINED | EDITED) == 0 {
                    into.normal.push(normal);
                    at += 1;
                    continue;
                }
            }
            let flags = self.characters.flags(c);
            if flags & DECLINED != 0 {
                return Err(Declined);
            }
            if flags & COMBINING != 0 {
                self.write_combined(at, into)?;
                at += 1;
            } else if flags & EDITED == 0 {
                into.normal.push(self.characters.normal(c));
                at += 1;
            } else if flags & SPACE != 0 {
                at = self.write_space(at, into);
            } else if flags & INVISIBLE != 0 {
                at = self.run(at, |c| self.characters.is(c, INVISIBLE));
                into.shift(at);
            } else {
                at = self.write_mark(at, into);
            }
        }
        Ok(())
    }

    /// A mark goes into the letter before it. Several marks, and letters that marks change the order of, are for Python.
    fn write_combined(&self, at: usize, into: &mut Text) -> Result<(), Declined> {
        let mark = self.text[at];
        let Some(letter) = at.checked_sub(1).map(|before| self.text[before]) else {
            into.normal.push(mark);
            return Ok(());
        };
        let is_beside_mark = self.at(at + 1).is_some_and(|c| self.characters.is(c, COMBINING));
        let is_odd = self.characters.is(mark, INVISIBLE) || is_one_of(letter, "*_~");
        if is_odd || is_beside_mark || self.characters.is(letter, COMBINING) {
            return Err(Declined);
        }
        if self.characters.is(letter, EDITED) {
            into.normal.push(mark); // behind white space, or what is not there: it belongs to nothing
            return Ok(());
        }
        match self.characters.with_mark(letter, mark).ok_or(Declined)? {
            Composed::Both => into.normal.push(self.characters.normal(mark)),
            Composed::One(both) if self.characters.is(both, DECLINED) => return Err(Declined),
            Composed::One(both) => {
                into.normal.pop();
                into.clusters.push(into.normal.len());
                into.shift(at - 1);
                into.normal.push(self.characters.normal(both));
                into.shift(at + 1);
            }
        }
        Ok(())
    }

    /// White space becomes one space, or a line feed where it separates two sentences.
    fn write_space(&self, start: usize, into: &mut Text) -> usize {
        let run_end = self.run(start, |c| self.is_space(c));
        let after_mark = start > 0 && self.characters.is(self.text[start - 1], ENDING);
        let alone = run_end == start + 1;
        if alone && !after_mark && self.text[start] == u32::from(' ') {
            into.normal.push(u32::from(' '));
            return run_end;
        }
        let becomes = if self.ends_sentence(start, run_end) { LINE_FEED } else { u32::from(' ') };
        if alone && becomes == self.text[start] {
            into.normal.push(becomes);
        } else {
            into.shift(start);
            into.normal.push(becomes);
            into.shift(run_end);
        }
        run_end
    }

    /// Asterisks, underscores and tildes go where they mean emphasis.
    fn write_mark(&self, start: usize, into: &mut Text) -> usize {
        let mark = self.text[start];
        let end = if mark == u32::from('~') {
            if self.at(start + 1) != Some(mark) {
                into.normal.push(mark);
                return start + 1;
            }
            start + 2
        } else {
            self.run(start, |c| c == mark)
        };
        if self.is_emphasis(start, end) {
            into.shift(end);
        } else {
            into.normal.extend_from_slice(&self.text[start..end]);
        }
        end
    }

    /// Marks that hug a word; a bullet, a product sign or a snake_case name stays.
    fn is_emphasis(&self, start: usize, end: usize) -> bool {
        let (before, after) = (start.checked_sub(1).map(|at| self.text[at]), self.at(end));
        let joins = |c: Option<u32>| c.is_some_and(|c| self.characters.is(c, ALPHANUMERIC));
        if self.text[start] == u32::from('_') && joins(before) && joins(after) {
            return false;
        }
        [before, after].into_iter().flatten().any(|c| !self.is_space(c))
    }

    /// Whether the white space from `start` to `end` separates two sentences.
    fn ends_sentence(&self, start: usize, end: usize) -> bool {
        let lines = self.text[start..end].iter().filter(|&&c| c == LINE_FEED).count();
        let after_colon = start > 0 && self.text[start - 1] == u32::from(':');
        if lines > 0 && (lines > 1 || !self.language.spaced || self.is_new_item(end) || after_colon) {
            return true;
        }
        let mut before = start;
        while before > 0 && is_closer(self.text[before - 1]) {
            before -= 1;
        }
        let Some(mark) = before.checked_sub(1).and_then(|at| self.at(at)) else { return false };
        let goes_on = self.at(end).is_some_and(|c| self.characters.is(c, LOWER));
        match char::from_u32(mark) {
            Some('!' | '?' | '。' | '！' | '？' | '।') => !(goes_on && before < start),
            Some('…') => !goes_on,
            Some('.') if before >= 3 && self.text[before - 3..before].iter().all(|&c| c == mark) => !goes_on,
            Some('.') => !self.is_abbreviated(before - 1),
            _ => false,
        }
    }

    fn is_abbreviated(&self, stop: usize) -> bool {
        let divides = |c: u32| self.is_space(c) || is_one_of(c, "(\"'");
        let earliest = stop.saturating_sub(LONGEST_ABBREVIATION);
        let mut start = stop;
        while start > earliest && !divides(self.text[start - 1]) {
            start -= 1;
        }
        let word: Vec<u32> = self.text[start..stop].iter().map(|&c| self.characters.lower(c)).collect();
        if !word.is_empty() && word.iter().all(|&c| self.characters.is(c, DIGIT)) {
            return start == 0 || self.text[start - 1] == LINE_FEED; // the number of a list item
        }
        let is_initial = word.len() == 1 && self.characters.is(word[0], LETTER) && word[0] != u32::from('i');
        is_initial || self.language.abbreviations.contains(&word)
    }

    /// Whether an item of a list, or a heading, begins at a place.
    fn is_new_item(&self, at: usize) -> bool {
        let is_space = |at: usize| self.at(at).is_some_and(|c| self.is_space(c));
        if self.at(at).is_some_and(is_bullet) && is_space(at + 1) {
            return true;
        }
        let heading = self.up_to(at, 6, |c| c == u32::from('#'));
        if heading > at && is_space(heading) {
            return true;
        }
        // Marks of emphasis may be taken or left: what follows is none of them.
        let marks = self.up_to(at, 3, |c| is_one_of(c, "*_"));
        let bracket = self.up_to(marks, 1, |c| c == u32::from('('));
        let digits = self.up_to(bracket, 2, |c| self.characters.is(c, DECIMAL));
        digits > bracket && self.at(digits).is_some_and(|c| is_one_of(c, ".)")) && is_space(digits + 1)
    }

    fn at(&self, index: usize) -> Option<u32> {
        self.text.get(index).copied()
    }

    fn is_space(&self, c: u32) -> bool {
        self.characters.is(c, SPACE)
    }

    fn run(&self, start: usize, fits: impl Fn(u32) -> bool) -> usize {
        self.up_to(start, usize::MAX, fits)
    }

    fn up_to(&self, start: usize, most: usize, fits: impl Fn(u32) -> bool) -> usize {
        let rest = self.text.get(start..).unwrap_or(&[]);
        start + rest.iter().take(most).take_while(|&&c| fits(c)).count()
    }
}

fn is_closer(c: u32) -> bool {
    is_one_of(c, "\"'”’»」』)]*_")
}

pub fn is_bullet(c: u32) -> bool {
    is_one_of(c, "-*•–·")
}

#[inline]
pub fn is_one_of(c: u32, characters: &str) -> bool {
    characters.chars().any(|one| u32::from(one) == c)
}
