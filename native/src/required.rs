//! Which patterns a piece of text can match, told from the words in it; the same answer as `rules/matcher.py` gives.

use crate::bits::{insert, Bits, Ones, Sparse};
use crate::characters::Characters;
use crate::code::check_characters;
use crate::image::Image;
use crate::input::{Problem, Sections};
use crate::text::{Span, Text};
use std::collections::HashMap;

const STEM_BITS: usize = 1 << 14;

/// Numbers that the prefilter shares with Python.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    pub spaced: bool,
    pub stem: usize,
    pub ranks: usize,
}

/// What each pattern requires: up to `ranks` sets of words, and one word of each must be there.
pub struct Required {
    limits: Limits,
    texts: Vec<Vec<u32>>,
    of_pattern: Vec<Vec<Vec<u32>>>, // numbers of texts
}

impl Required {
    pub fn load(sections: &mut Sections, limits: Limits, patterns: usize) -> Result<Self, Problem> {
        let texts = load_texts(sections, "required words")?;
        let mut section = sections.next("requirements")?;
        let mut of_pattern = Vec::with_capacity(patterns);
        for _ in 0..patterns {
            let sets = section.below(limits.ranks + 1)?;
            let sets = (0..sets).map(|_| section.list_below(texts.len()).map(<[u32]>::to_vec));
            of_pattern.push(sets.collect::<Result<_, _>>()?);
        }
        section.end()?;
        Ok(Self { limits, texts, of_pattern })
    }

    /// What texts tell about some of the patterns, which are counted in the order given.
    pub fn index(&self, patterns: &[u32], characters: &Characters) -> Index {
        let blocks = patterns.len().div_ceil(64);
        let mut absent = vec![0; blocks * self.limits.ranks];
        let mut meets: HashMap<u32, Vec<u32>> = HashMap::new(); // by the number of a text
        for (place, &pattern) in patterns.iter().enumerate() {
            let sets = &self.of_pattern[pattern as usize];
            for rank in 0..self.limits.ranks {
                let bit = rank * blocks * 64 + place;
                match sets.get(rank) {
                    None => insert(&mut absent, bit),
                    Some(texts) => texts.iter().for_each(|&text| meets.entry(text).or_default().push(bit as u32)),
                }
            }
        }
        let mut told: Vec<(&[u32], Vec<u32>)> = meets.into_iter().map(|(text, bits)| (&self.texts[text as usize][..], bits)).collect();
        told.sort(); // by the text, so that the same rules give the same index
        let lookup = if self.limits.spaced {
            Lookup::Words(Words::new(&told, self.limits.stem, characters))
        } else {
            Lookup::Pieces(Pieces::new(&told))
        };
        Index { blocks, ranks: self.limits.ranks, absent, lookup }
    }
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

/// What words tell about the patterns of one side.
pub struct Index {
    pub blocks: usize,
    ranks: usize,
    absent: Bits, // the bits of sets that a pattern does not have: met by any text
    lookup: Lookup,
}

enum Lookup {
    None,
    Words(Words),
    Pieces(Pieces),
}

impl Index {
    /// Of no patterns.
    pub const EMPTY: Self = Self { blocks: 0, ranks: 1, absent: Vec::new(), lookup: Lookup::None };

    pub fn put_into(&self, image: &mut Image) {
        let is_words = matches!(self.lookup, Lookup::Words(_));
        image.put(&[self.blocks as u32, self.ranks as u32, u32::from(is_words)]);
        image.put_words(&self.absent);
        match &self.lookup {
            Lookup::Words(words) => words.put_into(image),
            Lookup::Pieces(pieces) => pieces.put_into(image),
            Lookup::None => {}
        }
    }

    /// Of so many patterns.
    pub fn load(sections: &mut Sections, patterns: usize) -> Result<Self, Problem> {
        let mut head = sections.next("index")?;
        let (blocks, ranks) = (head.number()? as usize, head.below(9)? as usize);
        let is_words = head.truth()?;
        head.end()?;
        let absent = sections.next("absent")?.words()?;
        if blocks != patterns.div_ceil(64) || ranks == 0 || absent.len() != blocks * ranks {
            return Err("the index is not that of the patterns".into());
        }
        let masks = load_masks(sections, absent.len())?;
        let lookup = if is_words {
            Lookup::Words(Words::load(sections, masks, absent.len())?)
        } else {
            Lookup::Pieces(Pieces::load(sections, masks)?)
        };
        Ok(Self { blocks, ranks, absent, lookup })
    }

    /// The patterns all of whose requirements a part of a text meets.
    pub fn possible(&self, text: &Text, part: Span, met: &mut Bits, possible: &mut Bits) {
        met.clear();
        met.extend_from_slice(&self.absent);
        match &self.lookup {
            Lookup::Words(index) => index.find(text, part, met),
            Lookup::Pieces(index) => index.find(&text.normal[part.0..part.1], met),
            Lookup::None => {}
        }
        possible.clear();
        possible.extend_from_slice(&met[..self.blocks]);
        for more in met[self.blocks..].chunks_exact(self.blocks.max(1)).take(self.ranks - 1) {
            possible.iter_mut().zip(more).for_each(|(found, more)| *found &= more);
        }
    }
}

/// Bits that a text meets: so many words of a set, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Met {
    start: u32,
    count: u32,
}

const NOTHING: Met = Met { start: 0, count: 0 };

/// Words of sets with their places.
type Masks = Vec<(u32, u64)>;

/// Sets of bits, equal ones once: the words of a list mostly meet the same.
#[derive(Default)]
struct MetSets {
    masks: Masks,
    known: HashMap<Masks, Met>,
}

impl MetSets {
    fn add(&mut self, bits: &[u32]) -> Met {
        let own = Sparse::new(bits.iter().copied()).0;
        if let Some(&known) = self.known.get(&own) {
            return known;
        }
        let met = Met { start: self.masks.len() as u32, count: own.len() as u32 };
        self.masks.extend_from_slice(&own);
        self.known.insert(own, met);
        met
    }
}

fn put_masks(masks: &Masks, image: &mut Image) {
    image.put_from(masks.iter().flat_map(|&(place, own)| [place, own as u32, (own >> 32) as u32]));
}

fn load_masks(sections: &mut Sections, words: usize) -> Result<Masks, Problem> {
    let rows = sections.next("masks")?.rows::<3>()?;
    if rows.iter().any(|row| row[0] as usize >= words) {
        return Err("a mask lies behind its set".into());
    }
    Ok(rows.into_iter().map(|[place, low, high]| (place, u64::from(low) | u64::from(high) << 32)).collect())
}

fn checked(met: Met, masks: &Masks) -> Result<Met, Problem> {
    let end = met.start as usize + met.count as usize;
    if end <= masks.len() { Ok(met) } else { Err("masks are missing".into()) }
}

#[inline(always)]
fn meet(masks: &[(u32, u64)], found: Met, met: &mut [u64]) {
    for &(place, own) in &masks[found.start as usize..(found.start + found.count) as usize] {
        met[place as usize] |= own;
    }
}

const BEGINS_PAIR: u16 = 1 << 15; // among the bits of a slot's count
const ENDS_PAIR: u16 = 1 << 14;
const COUNT: u16 = ENDS_PAIR - 1;
const ELSEWHERE: u16 = COUNT; // a count that does not fit: the first number of the list elsewhere is the true one
const INSIDE: usize = 5;

/// A word or a pair of words by a part of its hash, and what it meets: a few bits in place, more elsewhere.
///
/// Two words with equal hashes would be taken for each other, and then a pattern is tried in vain.
#[derive(Clone, Copy, Default)]
struct Slot {
    check: u32, // 0: empty
    count: u16, // with flags: whether it begins or ends a pair
    bits: [u16; INSIDE],
}

/// Whole words, two neighbours with one character between them, the first letters of a word, and single marks.
struct Words {
    slots: Vec<Slot>,
    masks: Masks,
    stem: usize,
    stems: HashMap<u64, Met, Mixing>,
    letters: Vec<u64>, // of stems: a bit for each that may be one, so that most words are told at once
    marks: HashMap<u32, Met, Mixing>,
    ascii_marks: [Met; 128],
}

impl Words {
    fn new(told: &[(&[u32], Vec<u32>)], stem: usize, characters: &Characters) -> Self {
        let is_word = |c: &u32| characters.is_word(*c);
        let mut sets = MetSets::default();
        let mut entries: HashMap<u64, (Met, u16)> = HashMap::new(); // by hash: what it meets, and flags
        let mut words = Self::empty(stem);
        for (text, bits) in told {
            let met = sets.add(bits);
            let first = text.iter().take_while(|c| is_word(c)).count();
            if text.len() == 1 && first == 0 {
                words.add_mark(text[0], met);
            } else if text.last() == Some(&u32::from('*')) {
                words.add_stem(&text[..text.len() - 1], met);
            } else if first == text.len() && first > 0 {
                entries.entry(hash_of(text)).or_insert((NOTHING, 0)).0 = met;
            } else if first > 0 && first + 1 < text.len() && text[first + 1..].iter().all(is_word) {
                let (left, right) = (hash_of(&text[..first]), hash_of(&text[first + 1..]));
                entries.entry(left).or_insert((NOTHING, 0)).1 |= BEGINS_PAIR;
                entries.entry(right).or_insert((NOTHING, 0)).1 |= ENDS_PAIR;
                entries.entry(pair_of(left, text[first], right)).or_insert((NOTHING, 0)).0 = met;
            } // no text has any other shape among its words
        }
        words.masks = sets.masks;
        words.place(entries);
        words
    }

    fn put_into(&self, image: &mut Image) {
        put_masks(&self.masks, image);
        image.put(&[self.stem as u32]);
        let slots = self.slots.iter().flat_map(|slot| {
            let half = |at: usize| u32::from(slot.bits[at]) | u32::from(slot.bits[at + 1]) << 16;
            [slot.check, u32::from(slot.count) | u32::from(slot.bits[0]) << 16, half(1), half(3)]
        });
        image.put_from(slots);
        let mut stems: Vec<_> = self.stems.iter().collect();
        stems.sort_unstable_by_key(|stem| stem.0);
        image.put_from(stems.into_iter().flat_map(|(&key, met)| [key as u32, (key >> 32) as u32, met.start, met.count]));
        let mut marks: Vec<(u32, Met)> = self.marks.iter().map(|(&mark, &met)| (mark, met)).collect();
        marks.extend(self.ascii_marks.iter().enumerate().filter(|(_, met)| met.count > 0).map(|(mark, &met)| (mark as u32, met)));
        marks.sort_unstable_by_key(|mark| mark.0);
        image.put_from(marks.into_iter().flat_map(|(mark, met)| [mark, met.start, met.count]));
    }

    fn load(sections: &mut Sections, masks: Masks, set: usize) -> Result<Self, Problem> {
        let stem = sections.next("stem")?.below(4)? as usize;
        let mut words = Self::empty(stem);
        for row in sections.next("slots")?.rows::<4>()? {
            let halves = |number: u32| [number as u16, (number >> 16) as u16];
            let ([count, first], [second, third], [fourth, fifth]) = (halves(row[1]), halves(row[2]), halves(row[3]));
            words.slots.push(Slot { check: row[0], count, bits: [first, second, third, fourth, fifth] });
        }
        let is_free = words.slots.iter().any(|slot| slot.check == 0);
        if !words.slots.len().is_power_of_two() || !is_free {
            return Err("the words are not in their places".into());
        }
        for slot in &words.slots {
            words.check(slot, &masks, set)?;
        }
        for [low, high, start, count] in sections.next("stems")?.rows::<4>()? {
            let key = u64::from(low) | u64::from(high) << 32;
            insert(&mut words.letters, stem_bit(key));
            words.stems.insert(key, checked(Met { start, count }, &masks)?);
        }
        for [mark, start, count] in sections.next("marks")?.rows::<3>()? {
            words.add_mark(mark, checked(Met { start, count }, &masks)?);
        }
        words.masks = masks;
        Ok(words)
    }

    /// Whether what a word meets is there; `set` is how long the set is that bits are in.
    fn check(&self, slot: &Slot, masks: &Masks, set: usize) -> Result<(), Problem> {
        match slot.count & COUNT {
            ELSEWHERE => {
                let [start, count] = [0, 2].map(|at| u32::from(slot.bits[at]) | u32::from(slot.bits[at + 1]) << 16);
                checked(Met { start, count }, masks).map(|_| ())
            }
            count if count as usize > INSIDE => Err("a word has more bits than fit".into()),
            count if slot.bits[..count as usize].iter().all(|&bit| ((bit >> 6) as usize) < set) => Ok(()),
            _ => Err("a bit lies behind its set".into()),
        }
    }

    fn empty(stem: usize) -> Self {
        Self {
            slots: Vec::new(),
            masks: Vec::new(),
            stem,
            stems: HashMap::default(),
            letters: vec![0; STEM_BITS / 64],
            marks: HashMap::default(),
            ascii_marks: [NOTHING; 128],
        }
    }

    fn add_mark(&mut self, mark: u32, met: Met) {
        match self.ascii_marks.get_mut(mark as usize) {
            Some(place) => *place = met,
            None => {
                self.marks.insert(mark, met);
            }
        }
    }

    fn add_stem(&mut self, letters: &[u32], met: Met) {
        if letters.len() == self.stem {
            let key = stem_key(letters);
            insert(&mut self.letters, stem_bit(key));
            self.stems.insert(key, met);
        }
    }

    fn place(&mut self, entries: HashMap<u64, (Met, u16)>) {
        let size = (entries.len() * 4 / 3 + 1).next_power_of_two();
        self.slots = vec![Slot::default(); size];
        let mut entries: Vec<_> = entries.into_iter().collect();
        entries.sort_unstable_by_key(|entry| entry.0);
        for (key, (met, flags)) in entries {
            let mut place = place_of(key) & (size - 1);
            while self.slots[place].check != 0 {
                place = (place + 1) & (size - 1);
            }
            self.slots[place] = self.slot(key, met, flags);
        }
    }

    fn slot(&self, key: u64, met: Met, flags: u16) -> Slot {
        let mut slot = Slot { check: key as u32, count: flags, bits: [0; INSIDE] };
        let own = &self.masks[met.start as usize..(met.start + met.count) as usize];
        let bits: Vec<usize> = own.iter().flat_map(|&(place, own)| Ones(own).map(move |bit| place as usize * 64 + bit)).collect();
        if bits.len() <= INSIDE && bits.iter().all(|&bit| bit <= u16::MAX as usize) {
            slot.bits.iter_mut().zip(&bits).for_each(|(place, &bit)| *place = bit as u16);
            slot.count |= bits.len() as u16;
        } else {
            slot.count |= ELSEWHERE;
            let numbers = [met.start as u16, (met.start >> 16) as u16, met.count as u16, (met.count >> 16) as u16];
            slot.bits[..4].copy_from_slice(&numbers);
        }
        slot
    }

    #[inline(always)]
    fn get(&self, key: u64) -> &Slot {
        let mask = self.slots.len() - 1;
        let mut place = place_of(key) & mask;
        loop {
            let slot = &self.slots[place];
            if slot.check == key as u32 || slot.check == 0 {
                return slot;
            }
            place = (place + 1) & mask; // ends, since some slots are empty
        }
    }

    #[inline(always)]
    fn meet_slot(&self, slot: &Slot, met: &mut [u64]) {
        let count = slot.count & COUNT;
        if count == ELSEWHERE {
            let [start, count] = [0, 2].map(|at| u32::from(slot.bits[at]) | u32::from(slot.bits[at + 1]) << 16);
            return meet(&self.masks, Met { start, count }, met);
        }
        for &bit in slot.bits.iter().take(count as usize) {
            met[(bit >> 6) as usize] |= 1 << (bit & 63);
        }
    }

    /// The words of a part are cut where it is: a guard looks at pieces of a text as if they were all of it.
    fn find(&self, text: &Text, part: Span, met: &mut [u64]) {
        let normal = &text.normal[..part.1];
        let numbers = text.words_in(part.0, part.1);
        let mut before = (0, 0); // the word before and the character behind it, if they begin a pair
        let mut at = part.0;
        for (&(start, end), &hash) in text.words[numbers.clone()].iter().zip(&text.hashes[numbers]) {
            let is_cut = start < part.0 || end > part.1;
            let (start, end) = (start.max(part.0), end.min(part.1));
            self.meet_marks(&normal[at..start], met);
            at = end;
            let word = &normal[start..end];
            self.meet_stem(word, met);
            let key = if is_cut { hash_of(word) } else { hash };
            let slot = self.get(key);
            self.meet_slot(slot, met);
            if before.0 != 0 && slot.count & ENDS_PAIR != 0 {
                self.meet_slot(self.get(pair_of(before.0, before.1, key)), met);
            }
            let begins = slot.count & BEGINS_PAIR != 0 && end < part.1;
            before = if begins { (key, normal[end]) } else { (0, 0) };
        }
        self.meet_marks(&normal[at..], met);
    }

    #[inline(always)]
    fn meet_stem(&self, word: &[u32], met: &mut [u64]) {
        let Some(letters) = word.get(..self.stem) else { return };
        let key = stem_key(letters);
        let bit = stem_bit(key);
        if self.letters[bit >> 6] >> (bit & 63) & 1 != 0 {
            if let Some(&found) = self.stems.get(&key) {
                meet(&self.masks, found, met);
            }
        }
    }

    #[inline(always)]
    fn meet_marks(&self, marks: &[u32], met: &mut [u64]) {
        for &mark in marks {
            let found = match self.ascii_marks.get(mark as usize) {
                Some(&found) => found,
                None => self.marks.get(&mark).copied().unwrap_or(NOTHING),
            };
            meet(&self.masks, found, met);
        }
    }
}

/// The first letters of a word in one number.
#[inline(always)]
fn stem_key(letters: &[u32]) -> u64 {
    letters.iter().fold(1, |key, &c| key << 21 | u64::from(c))
}

#[inline(always)]
fn stem_bit(key: u64) -> usize {
    (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40) as usize % STEM_BITS
}

/// A hash of a word, whose lower half is never 0.
#[inline(always)]
pub fn hash_of(word: &[u32]) -> u64 {
    let mixed = word.iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, &c| {
        (hash.rotate_left(5) ^ u64::from(c)).wrapping_mul(0x517C_C1B7_2722_0A95)
    });
    (mixed ^ mixed >> 29) | 1
}

#[inline(always)]
fn place_of(key: u64) -> usize {
    (key >> 32) as usize
}

#[inline(always)]
fn pair_of(left: u64, mark: u32, right: u64) -> u64 {
    let mixed = (left.rotate_left(17) ^ u64::from(mark)).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ right;
    (mixed ^ mixed >> 29).wrapping_mul(0x517C_C1B7_2722_0A95) | 1
}

/// A hash of an id; `name_hash` in `read/conversations.py` is the same.
pub fn hash_of_bytes(bytes: &[u8]) -> u64 {
    let mixed = bytes.chunks(8).fold(bytes.len() as u64, |hash, chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        (hash.rotate_left(23) ^ u64::from_le_bytes(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    (mixed ^ mixed >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93)
}

/// For a language without spaces between words: any piece of text can be required.
struct Pieces {
    steps: HashMap<(u32, u32), u32, Mixing>, // from a node by a character
    first: HashMap<u32, u32, Mixing>,
    met: Vec<Met>, // by the piece that ends at a node
    masks: Masks,
}

impl Pieces {
    fn new(told: &[(&[u32], Vec<u32>)]) -> Self {
        let mut pieces =
            Self { steps: HashMap::default(), first: HashMap::default(), met: vec![NOTHING], masks: Vec::new() };
        let mut sets = MetSets::default();
        for (text, bits) in told {
            let node = text.iter().fold(0, |node, &c| pieces.step(node, c));
            pieces.met[node as usize] = sets.add(bits);
        }
        pieces.masks = sets.masks;
        pieces
    }

    /// The nodes in the order in which they were made: the node before each, its character, and what it meets.
    fn put_into(&self, image: &mut Image) {
        put_masks(&self.masks, image);
        let mut nodes: Vec<[u32; 4]> = vec![[0; 4]; self.met.len() - 1];
        let first = self.first.iter().map(|(&c, &node)| (0, c, node));
        for (before, c, node) in first.chain(self.steps.iter().map(|(&(before, c), &node)| (before, c, node))) {
            let met = self.met[node as usize];
            nodes[node as usize - 1] = [before, c, met.start, met.count];
        }
        image.put_from(nodes.into_iter().flatten());
    }

    fn load(sections: &mut Sections, masks: Masks) -> Result<Self, Problem> {
        let rows = sections.next("pieces")?.rows::<4>()?;
        let mut pieces = Self { steps: HashMap::default(), first: HashMap::default(), met: vec![NOTHING], masks };
        pieces.steps.reserve(rows.len());
        for (number, [before, c, start, count]) in rows.into_iter().enumerate() {
            let met = checked(Met { start, count }, &pieces.masks)?;
            if before as usize > number || pieces.step(before, c) as usize != number + 1 {
                return Err("the pieces are not in their order".into());
            }
            pieces.met[number + 1] = met;
        }
        Ok(pieces)
    }

    fn step(&mut self, node: u32, c: u32) -> u32 {
        let new = self.met.len() as u32;
        let next = if node == 0 { self.first.entry(c).or_insert(new) } else { self.steps.entry((node, c)).or_insert(new) };
        if *next == new {
            self.met.push(NOTHING);
        }
        *next
    }

    fn find(&self, text: &[u32], met: &mut [u64]) {
        for start in 0..text.len() {
            let mut at = start + 1;
            let mut node = self.first.get(&text[start]).copied();
            while let Some(here) = node {
                meet(&self.masks, self.met[here as usize], met);
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
