//! The instructions of patterns, checked and made ready when a program is loaded.

use crate::characters::{Characters, LAST};
use crate::image::Image;
use crate::input::{Problem, Sections};

pub const MOST_REGISTERS: usize = 1 << 16;
const WORDS: usize = 4; // numbers of one instruction

/// One step of a pattern. Targets are numbers of instructions, `set` numbers of what can be at the next place, and `look`
/// of what the next few characters can be.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    Match,
    Char(u32),
    Literal { at: u32, length: u32 },
    Class(u32),
    Edge,
    Split { other: u32, here_set: u32, other_set: u32 },
    Jump(u32),
    Switch { at: u32, count: u32 },
    Greedy { class: u16, low: u16, high: u16, set: u32, look: u32 },
    Lazy { class: u16, low: u16, high: u16, set: u32, look: u32 },
    Call { target: u32, look: u32 },
    Return,
    Loop(u32),
    Until { register: u16, low: u16, high: u16, exit: u32 },
}

/// A set of characters: ASCII at one look, others by search.
pub struct Class {
    is_words: bool, // what belongs to words, as the tables of characters say it
    ascii: [bool; 128],
    pub ranges: Vec<(u32, u32)>,
}

impl Class {
    #[inline(always)]
    pub fn has(&self, c: u32) -> bool {
        if c < 128 { self.ascii[c as usize] } else { self.has_beyond_ascii(c) }
    }

    fn has_beyond_ascii(&self, c: u32) -> bool {
        let after = self.ranges.partition_point(|range| range.1 < c);
        self.ranges.get(after).is_some_and(|range| range.0 <= c)
    }

    fn has_one_apart(&self, characters: &Characters) -> bool {
        self.ranges.iter().any(|&(first, last)| (first..=last).any(|c| !characters.is_word(c)))
    }
}

/// The code of all patterns of a language.
pub struct Code {
    pub ops: Vec<Op>,
    pub letters: Vec<u32>,
    pub cases: Vec<(u32, u32)>, // of switches: a character and where to go for it, in rising order
    pub classes: Vec<Class>,
    pub registers: usize,
}

impl Code {
    /// The code of a program.
    pub fn load(sections: &mut Sections, characters: &Characters) -> Result<Self, Problem> {
        Self::read(sections, characters, |code, words, count| code.decoded(words, count))
    }

    /// The code of an image, with `sets` and `looks` that instructions may name.
    pub fn load_image(sections: &mut Sections, characters: &Characters, sets: usize, looks: usize) -> Result<Self, Problem> {
        Self::read(sections, characters, |code, words, count| code.decoded_image(words, count, sets, looks))
    }

    fn read(
        sections: &mut Sections, characters: &Characters, decoded: impl Fn(&Self, &[u32], usize) -> Result<Op, Problem>,
    ) -> Result<Self, Problem> {
        let classes = load_classes(sections, characters)?;
        let letters = sections.next("letters")?.rest().to_vec();
        check_characters(&letters)?;
        let table = sections.next("cases")?.rest();
        let registers = sections.next("registers")?.below(MOST_REGISTERS + 1)? as usize;
        let numbers = sections.next("code")?.rest();
        let count = numbers.len() / WORDS;
        if numbers.len() % WORDS != 0 || table.len() % 2 != 0 || count == 0 {
            return Err("the code is cut off".into());
        }
        let cases: Vec<(u32, u32)> = table.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        if cases.iter().any(|&(c, target)| c > LAST || target as usize >= count) {
            return Err("a switch leads out of the code".into());
        }
        let mut code = Self { ops: Vec::with_capacity(count), letters, cases, classes, registers };
        for (number, words) in numbers.chunks_exact(WORDS).enumerate() {
            let op = decoded(&code, words, count)?;
            let goes_on = !matches!(op, Op::Match | Op::Jump(_) | Op::Return | Op::Switch { .. });
            if goes_on && number + 1 == count {
                return Err("the code runs off its end".into());
            }
            code.ops.push(op);
        }
        Ok(code)
    }

    fn decoded(&self, words: &[u32], count: usize) -> Result<Op, Problem> {
        let (a, b, c) = (words[1], words[2], words[3]);
        let target = |number: u32| within(number, count, "target");
        let class = || within(a, self.classes.len(), "class");
        let bounds = || match (u16::try_from(b), u16::try_from(c)) {
            (Ok(low), Ok(high)) if low <= high => Ok((low, high)),
            _ => Err(format!("a repetition from {b} to {c}")),
        };
        Ok(match words[0] {
            0 => Op::Match,
            1 if a <= LAST => Op::Char(a),
            2 => {
                check_slice(a, b, self.letters.len())?;
                Op::Literal { at: a, length: b }
            }
            3 => Op::Class(class()?),
            4 => Op::Edge,
            5 => Op::Split { other: target(a)?, here_set: 0, other_set: 0 },
            6 => Op::Jump(target(a)?),
            7 => {
                check_slice(a, b, self.cases.len())?;
                if self.cases[a as usize..(a + b) as usize].windows(2).any(|pair| pair[0].0 >= pair[1].0) {
                    return Err("the cases of a switch are not in order".into());
                }
                Op::Switch { at: a, count: b }
            }
            8 => bounds().and_then(|(low, high)| Ok(Op::Greedy { class: class()? as u16, low, high, set: 0, look: 0 }))?,
            9 => bounds().and_then(|(low, high)| Ok(Op::Lazy { class: class()? as u16, low, high, set: 0, look: 0 }))?,
            10 => Op::Call { target: target(a)?, look: 0 },
            11 => Op::Return,
            12 => Op::Loop(within(a, self.registers, "register")?),
            13 => {
                // Both bounds in one number, so that every instruction has four.
                let (low, high) = ((b >> 16) as u16, b as u16);
                let register = within(a, self.registers, "register")? as u16;
                Op::Until { register, low, high, exit: target(c)? }
            }
            other => return Err(format!("there is no instruction {other} with {a}")),
        })
    }

    /// An instruction of an image: the same with what can be ahead, small numbers beside each other.
    fn decoded_image(&self, words: &[u32], count: usize, sets: usize, looks: usize) -> Result<Op, Problem> {
        let (kind, more) = (words[0] & 0xFF, words[0] >> 8);
        let (low, high) = (words[1] as u16, (words[1] >> 16) as u16);
        let set = |number: u32| within(number, sets, "set");
        let look = |number: u32| within(number, looks, "look");
        let repeated = || {
            if low > high {
                return Err(format!("a repetition from {low} to {high}"));
            }
            Ok((within(more, self.classes.len(), "class")? as u16, set(words[2])?, look(words[3])?))
        };
        Ok(match kind {
            5 => Op::Split { other: within(words[1], count, "target")?, here_set: set(words[2])?, other_set: set(words[3])? },
            8 => repeated().map(|(class, set, look)| Op::Greedy { class, low, high, set, look })?,
            9 => repeated().map(|(class, set, look)| Op::Lazy { class, low, high, set, look })?,
            10 => Op::Call { target: within(words[1], count, "target")?, look: look(words[2])? },
            13 => {
                let register = within(more, self.registers, "register")? as u16;
                Op::Until { register, low, high, exit: within(words[2], count, "target")? }
            }
            _ => self.decoded(words, count)?,
        })
    }

    pub fn put_into(&self, image: &mut Image) {
        let ranges = |class: &Class| -> Vec<u32> {
            let ranges = if class.is_words { &[][..] } else { &class.ranges };
            ranges.iter().flat_map(|&(first, last)| [first, last]).collect()
        };
        image.put_from(self.classes.iter().map(ranges).flat_map(|own| std::iter::once(own.len() as u32).chain(own)));
        image.put(&self.letters);
        image.put_from(self.cases.iter().flat_map(|&(c, target)| [c, target]));
        image.put(&[self.registers as u32]);
        image.put_from(self.ops.iter().flat_map(|&op| encoded(op)));
    }

    pub fn switch(&self, at: u32, count: u32) -> &[(u32, u32)] {
        &self.cases[at as usize..(at + count) as usize]
    }

    pub fn literal(&self, at: u32, length: u32) -> &[u32] {
        &self.letters[at as usize..(at + length) as usize]
    }
}

fn encoded(op: Op) -> [u32; WORDS] {
    let bounds = |low: u16, high: u16| u32::from(low) | u32::from(high) << 16;
    match op {
        Op::Match => [0, 0, 0, 0],
        Op::Char(c) => [1, c, 0, 0],
        Op::Literal { at, length } => [2, at, length, 0],
        Op::Class(class) => [3, class, 0, 0],
        Op::Edge => [4, 0, 0, 0],
        Op::Split { other, here_set, other_set } => [5, other, here_set, other_set],
        Op::Jump(target) => [6, target, 0, 0],
        Op::Switch { at, count } => [7, at, count, 0],
        Op::Greedy { class, low, high, set, look } => [8 | u32::from(class) << 8, bounds(low, high), set, look],
        Op::Lazy { class, low, high, set, look } => [9 | u32::from(class) << 8, bounds(low, high), set, look],
        Op::Call { target, look } => [10, target, look, 0],
        Op::Return => [11, 0, 0, 0],
        Op::Loop(register) => [12, register, 0, 0],
        Op::Until { register, low, high, exit } => [13 | u32::from(register) << 8, bounds(low, high), exit, 0],
    }
}

fn within(number: u32, bound: usize, what: &str) -> Result<u32, Problem> {
    if (number as usize) < bound { Ok(number) } else { Err(format!("there is no {what} {number}")) }
}

fn check_slice(at: u32, length: u32, bound: usize) -> Result<(), Problem> {
    match at.checked_add(length) {
        Some(end) if end as usize <= bound && length > 0 => Ok(()),
        _ => Err(format!("{length} numbers at {at}, and there are {bound}")),
    }
}

pub fn check_characters(text: &[u32]) -> Result<(), Problem> {
    if text.iter().all(|&c| c <= LAST) { Ok(()) } else { Err("a number is not a character".into()) }
}

fn load_classes(sections: &mut Sections, characters: &Characters) -> Result<Vec<Class>, Problem> {
    let mut section = sections.next("classes")?;
    let mut classes = Vec::new();
    while !section.is_empty() {
        let numbers = section.list()?;
        check_characters(numbers)?;
        let mut ranges: Vec<(u32, u32)> = numbers.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        if numbers.is_empty() {
            // Letters of words: another version of Python may know more of them than the one that wrote the program.
            ranges = word_ranges(characters);
        }
        if numbers.len() % 2 != 0 || ranges.iter().any(|range| range.0 > range.1) {
            return Err("a class has half a range".into());
        }
        if ranges.windows(2).any(|pair| pair[0].1 >= pair[1].0) {
            return Err("the ranges of a class are not in order".into());
        }
        let ascii = std::array::from_fn(|c| ranges.iter().any(|&(first, last)| (first..=last).contains(&(c as u32))));
        classes.push(Class { is_words: numbers.is_empty(), ascii, ranges });
    }
    if classes.len() > u16::MAX as usize { Err("there are too many classes".into()) } else { Ok(classes) }
}

fn word_ranges(characters: &Characters) -> Vec<(u32, u32)> {
    let mut found: Vec<(u32, u32)> = Vec::new();
    for c in (0..=LAST).filter(|&c| characters.is_word(c)) {
        match found.last_mut() {
            Some(range) if range.1 + 1 == c => range.1 = c,
            _ => found.push((c, c)),
        }
    }
    found
}

/// What can be at a place: ASCII exactly, other characters by some bits of their number, and the end of the text.
pub type Ahead = [u64; 3];
const END: usize = 191;
const EVERYTHING: Ahead = [u64::MAX; 3];

#[inline(always)]
fn bit_of(c: u32) -> usize {
    // 63 kinds of characters beyond ASCII; the last bit is for the end.
    if c < 128 { c as usize } else { 128 + (c.wrapping_mul(0x9E37_79B1) >> 16) as usize % 63 }
}

#[inline(always)]
pub fn may_be(ahead: &Ahead, next: Option<u32>) -> bool {
    let bit = next.map_or(END, bit_of);
    ahead[bit >> 6] >> (bit & 63) & 1 != 0
}

fn add(ahead: &mut Ahead, c: u32) {
    let bit = bit_of(c);
    ahead[bit >> 6] |= 1 << (bit & 63);
}

fn united(left: Ahead, right: Ahead) -> Ahead {
    std::array::from_fn(|word| left[word] | right[word])
}

/// What can be at the next place before each instruction; fills in the sets of the instructions that choose.
pub fn look_ahead(code: &mut Code) -> (Vec<Ahead>, Vec<Ahead>) {
    let of_class: Vec<Ahead> = code.classes.iter().map(ahead_of_class).collect();
    let before = settled(code.ops.len(), [0; 3], |number, before| ahead_of(code, number, before, &of_class));
    let sets = fill_in(code, &before);
    (before, sets)
}

/// Whether a match can begin, at each instruction, with something that belongs to no word.
pub fn begins_apart(code: &Code, characters: &Characters) -> Vec<bool> {
    let of_class: Vec<bool> = code.classes.iter().map(|class| class.has_one_apart(characters)).collect();
    settled(code.ops.len(), false, |number, before| {
        let next = |number: usize| before.get(number).copied().unwrap_or(true);
        match code.ops[number] {
            Op::Char(c) => !characters.is_word(c),
            Op::Literal { at, length } => !characters.is_word(code.literal(at, length)[0]),
            Op::Class(class) => of_class[class as usize],
            Op::Greedy { class, low, .. } | Op::Lazy { class, low, .. } => {
                of_class[class as usize] || (low == 0 && next(number + 1))
            }
            Op::Edge | Op::Loop(_) => next(number + 1),
            Op::Jump(target) | Op::Call { target, .. } => next(target as usize),
            Op::Split { other, .. } => next(number + 1) || next(other as usize),
            Op::Until { exit, .. } => next(number + 1) || next(exit as usize),
            Op::Switch { at, count } => code.switch(at, count).iter().any(|&(c, _)| !characters.is_word(c)),
            Op::Match | Op::Return => true,
        }
    })
}

/// Facts about instructions that depend on those of others: asked again until none changes.
fn settled<T: Copy + PartialEq>(count: usize, none: T, fact: impl Fn(usize, &[T]) -> T) -> Vec<T> {
    let mut facts = vec![none; count];
    loop {
        let mut changed = false;
        for number in (0..count).rev() {
            let found = fact(number, &facts);
            changed |= found != facts[number];
            facts[number] = found;
        }
        if !changed {
            return facts;
        }
    }
}

fn ahead_of(code: &Code, number: usize, before: &[Ahead], of_class: &[Ahead]) -> Ahead {
    let next = |number: usize| before.get(number).copied().unwrap_or(EVERYTHING);
    let mut found = [0; 3];
    match code.ops[number] {
        Op::Char(c) => add(&mut found, c),
        Op::Literal { at, length } => add(&mut found, code.literal(at, length)[0]),
        Op::Class(class) => found = of_class[class as usize],
        Op::Greedy { class, low, .. } | Op::Lazy { class, low, .. } => {
            found = of_class[class as usize];
            if low == 0 {
                found = united(found, next(number + 1));
            }
        }
        Op::Edge | Op::Loop(_) => found = next(number + 1),
        Op::Jump(target) | Op::Call { target, .. } => found = next(target as usize),
        Op::Split { other, .. } => found = united(next(number + 1), next(other as usize)),
        Op::Until { exit, .. } => found = united(next(number + 1), next(exit as usize)),
        Op::Switch { at, count } => code.switch(at, count).iter().for_each(|&(c, _)| add(&mut found, c)),
        Op::Match | Op::Return => found = EVERYTHING,
    }
    found
}

fn ahead_of_class(class: &Class) -> Ahead {
    let mut found = [0; 3];
    for &(first, last) in &class.ranges {
        // Beyond some thousand characters every kind is met anyway.
        for c in first..=last.min(first.saturating_add(4096)) {
            add(&mut found, c);
        }
        if last - first > 4096 {
            found[2] |= u64::MAX >> 1;
        }
    }
    found
}

fn fill_in(code: &mut Code, before: &[Ahead]) -> Vec<Ahead> {
    let mut numbers = std::collections::HashMap::new();
    let mut sets: Vec<Ahead> = Vec::new();
    let mut number_of = |ahead: Ahead| {
        *numbers.entry(ahead).or_insert_with(|| {
            sets.push(ahead);
            sets.len() as u32 - 1
        })
    };
    for number in 0..code.ops.len() {
        let next = before.get(number + 1).copied().unwrap_or(EVERYTHING);
        match &mut code.ops[number] {
            Op::Split { other, here_set, other_set } => {
                *here_set = number_of(next);
                *other_set = number_of(before[*other as usize]);
            }
            Op::Greedy { set, .. } | Op::Lazy { set, .. } => *set = number_of(next),
            _ => {}
        }
    }
    sets
}
