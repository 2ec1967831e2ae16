//! What a match can begin with, told by a few characters: most places where a pattern is tried are ruled out by a look.

use crate::code::{Class, Code, Op};
use crate::image::Image;
use crate::input::{Problem, Sections};
use std::collections::HashSet;

/// How far a pattern is followed from its beginning, and through how many ways, before a shorter look has to do.
const OF_WORDS: [(usize, usize); 4] = [(8, 200_000), (5, 100_000), (3, 40_000), (2, 40_000)];
const OF_PLACES: [(usize, usize); 2] = [(3, 20_000), (2, 20_000)];
pub const DEEPEST: usize = 8;
const MOST_BITS: usize = 1 << 17;
const BITS_OF_ONE: usize = 8; // for each text that a match can begin with: so few others are taken for one
const FEW: u64 = 6; // characters of a class that are followed one by one
const LONG: u16 = 3; // a repetition that is followed
const MOST_CALLS: usize = 8;

/// Hashes of the first characters at a place, by how many they are; in front the first character itself.
pub type Hashes = [u32; DEEPEST + 1];

/// The hashes at the beginning of some characters; behind their end nothing more is added.
#[inline(always)]
pub fn hashes(characters: &[u32]) -> Hashes {
    let mut found = [0; DEEPEST + 1];
    found[0] = characters.first().copied().unwrap_or(0);
    let mut key = SEED;
    for (place, &c) in characters.iter().take(DEEPEST).enumerate() {
        key = mixed(key, c);
        found[place + 1] = (key >> 40) as u32;
    }
    found
}

const SEED: u64 = 0x51_7C_C1;

#[inline(always)]
fn mixed(key: u64, c: u32) -> u64 {
    (key.rotate_left(7) ^ u64::from(c)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// What a match can begin with: texts of some lengths, as bits of their hashes.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    first: [u64; 2], // ASCII characters that it can begin with; all others are the character 0
    free: [u64; 2],  // those of them behind which anything may follow
    from: u32,       // among all bits, in words
    mask: u32,
    lengths: u32, // a bit for each length
}

pub const LOOK: usize = 11; // numbers of one

impl Look {
    pub fn numbers(&self) -> [u32; LOOK] {
        let halves = |word: u64| [word as u32, (word >> 32) as u32];
        let [a, b, c, d] = [self.first[0], self.first[1], self.free[0], self.free[1]].map(halves);
        [a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1], self.from, self.mask, self.lengths]
    }
}

/// A look that rules nothing out.
pub const ANYTHING: Look = Look { first: [u64::MAX; 2], free: [u64::MAX; 2], from: 0, mask: 0, lengths: 1 };

/// Whether a set has a character; all beyond ASCII are the character 0.
#[inline(always)]
fn has(set: &[u64; 2], c: u32) -> bool {
    let c = if c < 128 { c } else { 0 };
    set[(c >> 6) as usize] >> (c & 63) & 1 != 0
}

fn add(set: &mut [u64; 2], c: u32) {
    let c = if c < 128 { c } else { 0 };
    set[(c >> 6) as usize] |= 1 << (c & 63);
}

/// Looks, and the bits of all of them.
#[derive(Default)]
pub struct Looks {
    bits: Vec<u64>,
}

impl Looks {
    pub fn put_into(&self, image: &mut Image) {
        image.put_words(&self.bits);
    }

    pub fn load(sections: &mut Sections) -> Result<Self, Problem> {
        Ok(Self { bits: sections.next("looks")?.words()? })
    }

    /// A look from its numbers.
    pub fn look(&self, numbers: &[u32; LOOK]) -> Result<Look, Problem> {
        let word = |at: usize| u64::from(numbers[at]) | u64::from(numbers[at + 1]) << 32;
        let [from, mask, lengths] = [numbers[8], numbers[9], numbers[10]];
        let look = Look { first: [word(0), word(2)], free: [word(4), word(6)], from, mask, lengths };
        let is_inside = (look.from as usize + look.mask as usize / 64) < self.bits.len();
        let is_sane = (look.mask as u64 + 1).is_power_of_two() && look.lengths >> (DEEPEST + 1) == 0;
        let is_used = look.lengths & 1 == 0;
        if is_sane && (is_inside || !is_used) { Ok(look) } else { Err("a look leads nowhere".into()) }
    }

    /// The look at the beginning of a word, for a pattern.
    pub fn of_word(&mut self, code: &Code, op: usize) -> Look {
        self.add(code, op, &OF_WORDS)
    }

    /// The look at any place, before an instruction.
    pub fn of_place(&mut self, code: &Code, op: usize) -> Look {
        self.add(code, op, &OF_PLACES)
    }

    fn add(&mut self, code: &Code, op: usize, limits: &[(usize, usize)]) -> Look {
        let found = limits.iter().find_map(|&(deepest, most)| Beginnings::of(code, op, deepest, most));
        let Some(Beginnings { texts, free }) = found.filter(|found| !found.texts.iter().any(Vec::is_empty)) else {
            return ANYTHING;
        };
        let size = (texts.len() * BITS_OF_ONE).next_power_of_two().clamp(64, MOST_BITS);
        let mut look = Look { first: free, free, from: self.bits.len() as u32, mask: size as u32 - 1, lengths: 0 };
        self.bits.resize(self.bits.len() + size / 64, 0);
        for text in texts {
            add(&mut look.first, text[0]);
            look.lengths |= 1 << text.len();
            let bit = hashes(&text)[text.len()] & look.mask;
            self.bits[look.from as usize + (bit >> 6) as usize] |= 1 << (bit & 63);
        }
        look
    }

    #[inline(always)]
    fn has(&self, look: &Look, hash: u32) -> bool {
        let bit = hash & look.mask;
        self.bits[look.from as usize + (bit >> 6) as usize] >> (bit & 63) & 1 != 0
    }

    /// Whether a match may begin where characters have these hashes.
    #[inline(always)]
    pub fn may_begin(&self, look: &Look, hashes: &Hashes) -> bool {
        if !has(&look.first, hashes[0]) {
            return false;
        }
        if has(&look.free, hashes[0]) {
            return true;
        }
        let mut lengths = look.lengths;
        while lengths != 0 {
            let length = lengths.trailing_zeros() as usize;
            if self.has(look, hashes[length % (DEEPEST + 1)]) {
                return true;
            }
            lengths &= lengths - 1;
        }
        false
    }

    /// Whether what follows may begin at a place of a text, which ends at `high`.
    #[inline(always)]
    pub fn may_follow(&self, look: &Look, text: &[u32], at: usize, high: usize) -> bool {
        if look.lengths & 1 != 0 {
            return true;
        }
        if at >= high || !has(&look.first, text[at]) {
            return false;
        }
        if has(&look.free, text[at]) {
            return true;
        }
        let mut key = SEED;
        for length in 1..=3 {
            if at + length > high {
                return false;
            }
            key = mixed(key, text[at + length - 1]);
            if look.lengths >> length & 1 != 0 && self.has(look, (key >> 40) as u32) {
                return true;
            }
        }
        false
    }
}

/// A way through the code: the next instruction, what was read on it, and where calls return to.
type Way = (usize, Vec<u32>, Vec<usize>);

/// What a match can begin with, as far as it is followed.
#[derive(Default)]
struct Beginnings {
    texts: HashSet<Vec<u32>>,
    free: [u64; 2], // first characters behind which anything may follow
}

impl Beginnings {
    /// None if there are too many ways.
    fn of(code: &Code, op: usize, deepest: usize, most: usize) -> Option<Self> {
        let mut seen: HashSet<Way> = HashSet::new();
        let mut waiting: Vec<Way> = vec![(op, Vec::new(), Vec::new())];
        let mut found = Self::default();
        while let Some(way) = waiting.pop() {
            if way.1.len() >= deepest {
                found.texts.insert(way.1[..deepest].to_vec());
            } else if seen.insert(way.clone()) {
                if seen.len() > most {
                    return None;
                }
                follow(code, way, &mut waiting, &mut found)?;
            }
        }
        Some(found)
    }

    /// A class of many characters is not followed.
    fn end(&mut self, read: Vec<u32>, class: &Class) {
        if !read.is_empty() {
            self.texts.insert(read);
            return;
        }
        (0..128).filter(|&c| class.has(c)).for_each(|c| add(&mut self.free, c));
        if class.ranges.iter().any(|range| range.1 >= 128) {
            add(&mut self.free, 128);
        }
    }
}

/// One instruction further: more ways, or the end of what can be followed.
fn follow(code: &Code, (op, read, calls): Way, waiting: &mut Vec<Way>, found: &mut Beginnings) -> Option<()> {
    let with = |more: &[u32]| [&read[..], more].concat();
    match code.ops[op] {
        Op::Char(c) => waiting.push((op + 1, with(&[c]), calls)),
        Op::Literal { at, length } => waiting.push((op + 1, with(code.literal(at, length)), calls)),
        Op::Class(class) => match few(&code.classes[class as usize]) {
            Some(characters) => waiting.extend(characters.iter().map(|&c| (op + 1, with(&[c]), calls.clone()))),
            None => found.end(read, &code.classes[class as usize]),
        },
        Op::Greedy { class, low, high, .. } | Op::Lazy { class, low, high, .. } => {
            match few(&code.classes[class as usize]).filter(|_| high <= LONG) {
                Some(characters) => {
                    let ways = repeated(&read, &characters, low, high);
                    waiting.extend(ways.into_iter().map(|read| (op + 1, read, calls.clone())));
                }
                None => {
                    if low == 0 && read.is_empty() {
                        waiting.push((op + 1, read.clone(), calls));
                    }
                    found.end(read, &code.classes[class as usize]);
                }
            }
        }
        Op::Edge | Op::Loop(_) => waiting.push((op + 1, read, calls)),
        Op::Split { other, .. } | Op::Until { exit: other, .. } => {
            waiting.push((other as usize, read.clone(), calls.clone()));
            waiting.push((op + 1, read, calls));
        }
        Op::Jump(target) => waiting.push((target as usize, read, calls)),
        Op::Switch { at, count } => {
            let targets = code.switch(at, count).iter();
            waiting.extend(targets.map(|&(_, target)| (target as usize, read.clone(), calls.clone())));
        }
        Op::Call { target, .. } => {
            let calls = [&calls[..], &[op + 1]].concat();
            if calls.len() > MOST_CALLS {
                return None;
            }
            waiting.push((target as usize, read, calls));
        }
        Op::Return => {
            let (&back, calls) = calls.split_last()?;
            waiting.push((back, read, calls.to_vec()));
        }
        Op::Match => {
            found.texts.insert(read);
        }
    }
    Some(())
}

fn repeated(read: &[u32], characters: &[u32], low: u16, high: u16) -> Vec<Vec<u32>> {
    let mut found = if low == 0 { vec![read.to_vec()] } else { Vec::new() };
    let mut level = vec![read.to_vec()];
    for count in 1..=high {
        level = level.iter().flat_map(|read| characters.iter().map(move |&c| [&read[..], &[c]].concat())).collect();
        if count >= low {
            found.extend_from_slice(&level);
        }
    }
    found
}

fn few(class: &Class) -> Option<Vec<u32>> {
    let count: u64 = class.ranges.iter().map(|range| u64::from(range.1 - range.0) + 1).sum();
    (count <= FEW).then(|| class.ranges.iter().flat_map(|range| range.0..=range.1).collect())
}
