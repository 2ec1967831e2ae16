//! Which patterns a piece of text can match, told from the words in it; the same answer as `rules/matcher.py` gives.

use crate::characters::Characters;
use crate::code::check_characters;
use crate::input::{Problem, Sections};
use std::collections::HashMap;

const UNKNOWN: u32 = u32::MAX;

/// A set of patterns, 64 to a number.
pub type Bits = Vec<u64>;

pub fn has(bits: &[u64], number: usize) -> bool {
    bits[number >> 6] >> (number & 63) & 1 != 0
}

pub fn insert(bits: &mut [u64], number: usize) {
    bits[number >> 6] |= 1 << (number & 63);
}

/// A set with few members: only the numbers that are not 0, with their places.
#[derive(Clone, Default)]
pub struct Sparse(Vec<(u32, u64)>);

impl Sparse {
    pub fn new(members: &[u32]) -> Self {
        let mut found: std::collections::BTreeMap<u32, u64> = Default::default();
        for &member in members {
            *found.entry(member >> 6).or_default() |= 1 << (member & 63);
        }
        Self(found.into_iter().collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline]
    pub fn meets(&self, bits: &[u64]) -> bool {
        self.0.iter().any(|&(place, own)| bits[place as usize] & own != 0)
    }

    pub fn count_in(&self, bits: &[u64]) -> u32 {
        self.0.iter().map(|&(place, own)| (bits[place as usize] & own).count_ones()).sum()
    }

    /// The members that are in `bits` too.
    pub fn members_in<'a>(&'a self, bits: &'a [u64]) -> impl Iterator<Item = usize> + 'a {
        self.0.iter().flat_map(move |&(place, own)| Ones(bits[place as usize] & own).map(move |bit| place as usize * 64 + bit))
    }

    pub fn add_to(&self, bits: &mut [u64]) {
        for &(place, own) in &self.0 {
            bits[place as usize] |= own;
        }
    }
}

/// The places of the bits that are set.
pub struct Ones(pub u64);

impl Iterator for Ones {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let lowest = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(lowest)
    }
}

/// What each pattern requires: up to `ranks` sets of words, and one word of each must be there.
pub struct Required {
    blocks: usize,
    ranks: usize,
    absent: Bits, // the bits of sets that a pattern does not have: met by any text
    sets: Vec<Sparse>,
    lookup: Lookup,
}

enum Lookup {
    Words(Words),
    Pieces(Pieces),
}

/// Numbers that the prefilter shares with Python.
pub struct Limits {
    pub spaced: bool,
    pub stem: usize,
    pub ranks: usize,
}

impl Required {
    pub fn load(
        sections: &mut Sections, limits: &Limits, patterns: usize, characters: &Characters,
    ) -> Result<Self, Problem> {
        let texts = load_texts(sections, "required words")?;
        let (blocks, ranks) = (patterns.div_ceil(64), limits.ranks);
        let mut section = sections.next("requirements")?;
        let mut absent = vec![0; blocks * ranks];
        let mut meets: Vec<Vec<u32>> = vec![Vec::new(); texts.len()];
        for pattern in 0..patterns {
            let sets = section.below(ranks + 1)? as usize;
            for rank in 0..ranks {
                let bit = rank * blocks * 64 + pattern;
                if rank >= sets {
                    insert(&mut absent, bit);
                } else {
                    for &text in section.list_below(texts.len())? {
                        meets[text as usize].push(bit as u32);
                    }
                }
            }
        }
        section.end()?;
        let (sets, of_text) = shared(&meets);
        let lookup = if limits.spaced {
            Lookup::Words(Words::new(&texts, &of_text, limits.stem, characters))
        } else {
            Lookup::Pieces(Pieces::new(&texts, &of_text))
        };
        Ok(Self { blocks, ranks, absent, sets, lookup })
    }

    pub fn blocks(&self) -> usize {
        self.blocks
    }

    /// The same for some of the patterns: a side and some checks ask for a part of them, and words then meet less.
    pub fn narrowed(&self, wanted: &[u64]) -> Narrowed {
        let masked = |place: usize, own: u64| own & wanted[place % self.blocks];
        let absent = self.absent.iter().enumerate().map(|(place, &own)| masked(place, own)).collect();
        let mut narrowed = Narrowed { absent, entries: Vec::new(), ends: Vec::with_capacity(self.sets.len() + 1) };
        narrowed.ends.push(0);
        for set in &self.sets {
            let kept = set.0.iter().map(|&(place, own)| (place, masked(place as usize, own)));
            narrowed.entries.extend(kept.filter(|&(_, own)| own != 0));
            narrowed.ends.push(narrowed.entries.len() as u32);
        }
        narrowed
    }

    /// The patterns, of those that `narrowed` was made for, all of whose requirements a piece of text meets.
    pub fn possible(
        &self, narrowed: &Narrowed, text: &[u32], is_word: &[bool], met: &mut Bits, possible: &mut Bits,
    ) {
        met.clear();
        met.extend_from_slice(&narrowed.absent);
        let mut meet = |set: u32| {
            for &(place, own) in narrowed.set(set as usize) {
                met[place as usize] |= own;
            }
        };
        match &self.lookup {
            Lookup::Words(words) => words.find(text, is_word, &mut meet),
            Lookup::Pieces(pieces) => pieces.find(text, &mut meet),
        }
        possible.clear();
        possible.extend_from_slice(&met[..self.blocks]);
        for rank in 1..self.ranks {
            let more = &met[rank * self.blocks..(rank + 1) * self.blocks];
            possible.iter_mut().zip(more).for_each(|(found, more)| *found &= more);
        }
    }
}

/// What words meet, for some of the patterns: the sets one behind the other, and where each ends.
pub struct Narrowed {
    absent: Bits,
    entries: Vec<(u32, u64)>,
    ends: Vec<u32>,
}

impl Narrowed {
    #[inline(always)]
    fn set(&self, number: usize) -> &[(u32, u64)] {
        &self.entries[self.ends[number] as usize..self.ends[number + 1] as usize]
    }
}

/// Equal sets once: the words of a list mostly meet the same ones.
fn shared(meets: &[Vec<u32>]) -> (Vec<Sparse>, Vec<u32>) {
    let mut numbers: HashMap<&[u32], u32> = HashMap::new();
    let mut sets = Vec::new();
    let of_text = meets.iter().map(|bits| {
        *numbers.entry(bits).or_insert_with(|| {
            sets.push(Sparse::new(bits));
            sets.len() as u32 - 1
        })
    });
    let of_text = of_text.collect();
    (sets, of_text)
}

pub fn load_texts(sections: &mut Sections, name: &str) -> Result<Vec<Vec<u32>>, Problem> {
    let mut section = sections.next(name)?;
    let mut texts = Vec::new();
    while !section.is_empty() {
        let text = section.list()?;
        check_characters(text)?;
        texts.push(text.to_vec());
    }
    Ok(texts)
}

/// Whole words, two neighbours with one character between them, the first letters of a word, and single marks.
struct Words {
    vocabulary: Vocabulary,
    word_sets: Vec<u32>, // by the number of the word; UNKNOWN: only known as a part of a pair
    begins_pair: Vec<bool>,
    pairs: HashMap<(u32, u32, u32), u32, Mixing>,
    stem: usize,
    stems: HashMap<u64, u32, Mixing>,
    marks: HashMap<u32, u32, Mixing>,
    ascii_marks: [u32; 128],
}

impl Words {
    fn new(texts: &[Vec<u32>], of_text: &[u32], stem: usize, characters: &Characters) -> Self {
        let is_word = |c: &u32| characters.is_word(*c);
        let mut words = Self {
            vocabulary: Vocabulary::default(),
            word_sets: Vec::new(),
            begins_pair: Vec::new(),
            pairs: HashMap::default(),
            stem,
            stems: HashMap::default(),
            marks: HashMap::default(),
            ascii_marks: [UNKNOWN; 128],
        };
        for (text, &set) in texts.iter().zip(of_text) {
            let first = text.iter().take_while(|c| is_word(c)).count();
            if text.len() == 1 && first == 0 {
                words.add_mark(text[0], set);
            } else if text.last() == Some(&u32::from('*')) {
                if let Some(key) = stem_key(&text[..text.len() - 1], stem).filter(|_| text.len() == stem + 1) {
                    words.stems.insert(key, set);
                }
            } else if first == text.len() && first > 0 {
                let number = words.number(text);
                words.word_sets[number] = set;
            } else if first > 0 && first + 1 < text.len() && text[first + 1..].iter().all(|c| is_word(c)) {
                let (left, right) = (words.number(&text[..first]), words.number(&text[first + 1..]));
                words.begins_pair[left] = true;
                words.pairs.insert((left as u32, text[first], right as u32), set);
            } // no text has any other shape among its words
        }
        words.vocabulary.finish();
        words
    }

    fn add_mark(&mut self, mark: u32, set: u32) {
        match self.ascii_marks.get_mut(mark as usize) {
            Some(place) => *place = set,
            None => {
                self.marks.insert(mark, set);
            }
        }
    }

    fn number(&mut self, word: &[u32]) -> usize {
        let number = self.vocabulary.add(word);
        if number == self.word_sets.len() {
            self.word_sets.push(UNKNOWN);
            self.begins_pair.push(false);
        }
        number
    }

    fn find(&self, text: &[u32], is_word: &[bool], meet: &mut impl FnMut(u32)) {
        let mut before = (UNKNOWN, 0);
        let mut at = 0;
        while at < text.len() {
            if !is_word[at] {
                self.meet_mark(text[at], meet);
                at += 1;
                continue;
            }
            let start = at;
            while at < text.len() && is_word[at] {
                at += 1;
            }
            let word = &text[start..at];
            let number = self.vocabulary.find(word);
            if let Some(set) = stem_key(word, self.stem).and_then(|key| self.stems.get(&key)) {
                meet(*set);
            }
            if number != UNKNOWN {
                if self.word_sets[number as usize] != UNKNOWN {
                    meet(self.word_sets[number as usize]);
                }
                if before.0 != UNKNOWN {
                    if let Some(&set) = self.pairs.get(&(before.0, before.1, number)) {
                        meet(set);
                    }
                }
            }
            let is_first = number != UNKNOWN && at < text.len() && self.begins_pair[number as usize];
            before = if is_first { (number, text[at]) } else { (UNKNOWN, 0) };
        }
    }

    #[inline(always)]
    fn meet_mark(&self, mark: u32, meet: &mut impl FnMut(u32)) {
        let set = match self.ascii_marks.get(mark as usize) {
            Some(&set) => set,
            None => self.marks.get(&mark).copied().unwrap_or(UNKNOWN),
        };
        if set != UNKNOWN {
            meet(set);
        }
    }
}

/// The first letters of a word in one number; None where it has fewer.
#[inline(always)]
fn stem_key(word: &[u32], stem: usize) -> Option<u64> {
    if word.len() < stem {
        return None;
    }
    Some(word[..stem].iter().fold(1, |key, &c| key << 21 | u64::from(c)))
}

/// Words and their numbers, found by a hash and then compared.
#[derive(Default)]
struct Vocabulary {
    letters: Vec<u32>,
    places: Vec<(u32, u32)>,
    known: HashMap<Vec<u32>, u32>, // while words are added
    slots: Vec<(u32, u32)>,        // part of the hash, and the number of the word
}

impl Vocabulary {
    fn add(&mut self, word: &[u32]) -> usize {
        if let Some(&number) = self.known.get(word) {
            return number as usize;
        }
        let number = self.places.len();
        self.known.insert(word.to_vec(), number as u32);
        self.places.push((self.letters.len() as u32, word.len() as u32));
        self.letters.extend_from_slice(word);
        number
    }

    fn finish(&mut self) {
        self.known = HashMap::new();
        self.slots = vec![(0, UNKNOWN); (self.places.len() * 2 + 1).next_power_of_two()];
        let mask = self.slots.len() - 1;
        for number in 0..self.places.len() as u32 {
            let hash = hash_of(self.word(number));
            let mut slot = hash as usize & mask;
            while self.slots[slot].1 != UNKNOWN {
                slot = (slot + 1) & mask;
            }
            self.slots[slot] = ((hash >> 32) as u32, number);
        }
    }

    fn word(&self, number: u32) -> &[u32] {
        let (at, length) = self.places[number as usize];
        &self.letters[at as usize..(at + length) as usize]
    }

    #[inline(always)]
    fn find(&self, word: &[u32]) -> u32 {
        let hash = hash_of(word);
        let mask = self.slots.len() - 1;
        let mut slot = hash as usize & mask;
        loop {
            let (check, number) = self.slots[slot];
            if number == UNKNOWN || (check == (hash >> 32) as u32 && self.word(number) == word) {
                return number;
            }
            slot = (slot + 1) & mask; // ends, since at most half of the slots are taken
        }
    }
}

#[inline(always)]
fn hash_of(word: &[u32]) -> u64 {
    let mixed = word.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, &c| {
        (hash.rotate_left(5) ^ u64::from(c)).wrapping_mul(0x517C_C1B7_2722_0A95)
    });
    mixed ^ mixed >> 29
}

/// For a language without spaces between words: any piece of text can be required.
struct Pieces {
    steps: HashMap<(u32, u32), u32, Mixing>, // from a node by a character
    first: HashMap<u32, u32, Mixing>,
    sets: Vec<u32>, // of the piece that ends at a node
}

impl Pieces {
    fn new(texts: &[Vec<u32>], of_text: &[u32]) -> Self {
        let mut pieces = Self { steps: HashMap::default(), first: HashMap::default(), sets: vec![UNKNOWN] };
        for (text, &set) in texts.iter().zip(of_text) {
            let node = text.iter().fold(0, |node, &c| pieces.step(node, c));
            pieces.sets[node as usize] = set;
        }
        pieces
    }

    fn step(&mut self, node: u32, c: u32) -> u32 {
        let new = self.sets.len() as u32;
        let next = if node == 0 { self.first.entry(c).or_insert(new) } else { self.steps.entry((node, c)).or_insert(new) };
        if *next == new {
            self.sets.push(UNKNOWN);
        }
        *next
    }

    fn find(&self, text: &[u32], meet: &mut impl FnMut(u32)) {
        for start in 0..text.len() {
            let mut at = start + 1;
            let mut node = self.first.get(&text[start]).copied();
            while let Some(here) = node {
                if self.sets[here as usize] != UNKNOWN {
                    meet(self.sets[here as usize]);
                }
                node = text.get(at).and_then(|&c| self.steps.get(&(here, c)).copied());
                at += 1;
            }
        }
    }
}

/// A quick hash for small numbers; what it is given comes from a program, and a text can only look things up.
#[derive(Clone, Copy, Default)]
pub struct Mixing;

impl std::hash::BuildHasher for Mixing {
    type Hasher = Mixer;

    fn build_hasher(&self) -> Mixer {
        Mixer(0)
    }
}

pub struct Mixer(u64);

impl std::hash::Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        let mut parts = bytes.chunks_exact(8);
        for part in &mut parts {
            self.write_u64(part.try_into().map_or(0, u64::from_ne_bytes));
        }
        self.write_u64(parts.remainder().iter().fold(0, |number, &byte| number << 8 | u64::from(byte)));
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(u64::from(number));
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(23) ^ number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}
