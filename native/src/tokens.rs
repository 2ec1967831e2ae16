//! Tokens of a text and the pieces of a token, for the learned reader; `reader/tokens.py` says what they are.

use crate::input::Problem;

pub const FOLDED: usize = 0x250;
pub const MOST_TOKENS: usize = FIRST + LAST;
const FIRST: usize = 384;
const LAST: usize = 128;
const APOSTROPHE: u32 = 0x27;
const SOFT_HYPHEN: usize = 0xAD;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Ignored,
    Space,
    Digit,
    Single,
    Letter,
    Symbol,
}

/// The class of a folded code point.
fn kind_of(c: u32) -> Kind {
    match c {
        0xAD | 0x300..=0x36F | 0x200B..=0x200F | 0x2060 | 0xFE00..=0xFE0F | 0xFEFF => Kind::Ignored,
        0..=0x20 | 0x7F..=0xA0 | 0x1680 | 0x2000..=0x200A | 0x2028 | 0x2029 | 0x202F | 0x205F | 0x3000 => Kind::Space,
        0x30..=0x39 => Kind::Digit,
        0x1100..=0x11FF | 0x3040..=0x30FF | 0x31F0..=0x31FF | 0x3400..=0x4DBF => Kind::Single,
        0x4E00..=0x9FFF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF | 0x20000..=0x3FFFF => Kind::Single,
        0xF7 | 0x964 | 0x965 => Kind::Symbol,
        APOSTROPHE | 0x61..=0x7A | 0xDF..=0x1FFF | 0x2C00..=0x2DFF | 0xA640..=0xABFF => Kind::Letter,
        _ => Kind::Symbol,
    }
}

/// Folds code points, by the table of some weights.
pub struct Alphabet {
    near: Vec<(u32, Kind)>, // of the code points that the table has
}

impl Alphabet {
    pub fn new(fold: &[u16]) -> Result<Self, Problem> {
        let near: Vec<_> = fold.iter().map(|&c| (u32::from(c), kind_of(u32::from(c)))).collect();
        let is_sane = |(place, found): (usize, &(u32, Kind))| (found.1 == Kind::Ignored) == (place == SOFT_HYPHEN);
        if near.len() != FOLDED || near[APOSTROPHE as usize].0 != APOSTROPHE || !near.iter().enumerate().all(is_sane) {
            return Err("the folding changes an apostrophe, or which characters are ignored".into());
        }
        Ok(Self { near })
    }

    #[inline(always)]
    fn look(&self, c: u32) -> (u32, Kind) {
        self.near.get(c as usize).copied().unwrap_or_else(|| self.far(c))
    }

    fn far(&self, c: u32) -> (u32, Kind) {
        match c {
            0x2018 | 0x2019 | 0x2BC => self.near[APOSTROPHE as usize],
            0xFF01..=0xFF5E => self.near[(c - 0xFEE0) as usize],
            _ => (c, kind_of(c)),
        }
    }
}

/// A token; its letters are in the sequence that has it.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub kind: Kind,
    pub start: u32,
    pub end: u32,
    first: u32,
    last: u32,
    state: u32, // of the hash of the whole token
}

/// The tokens that are used of a text.
#[derive(Default)]
pub struct Sequence {
    pub tokens: Vec<Token>,
    letters: Vec<u32>,
}

impl Sequence {
    pub fn read(&mut self, text: &[u32], alphabet: &Alphabet) {
        self.tokens.clear();
        self.letters.clear();
        let mut running = Kind::Space; // the class of the run that the next character may continue
        for (place, &c) in text.iter().enumerate() {
            let (code, kind) = alphabet.look(c);
            if kind == Kind::Ignored {
                continue;
            }
            if kind == running && matches!(kind, Kind::Letter | Kind::Digit) {
                if let Some(token) = self.tokens.last_mut() {
                    token.end = place as u32 + 1;
                    token.last += 1;
                    token.state = step(token.state, code);
                    self.letters.push(code);
                }
            } else if kind != Kind::Space {
                self.begin(kind, code, place as u32);
            }
            running = kind;
        }
        self.cut(MOST_TOKENS);
    }

    fn begin(&mut self, kind: Kind, code: u32, place: u32) {
        // What cannot be used any more goes early: a long text has many tokens.
        self.cut(MOST_TOKENS + LAST);
        let first = self.letters.len() as u32;
        self.letters.push(code);
        let state = step(step(START, WORD), code);
        self.tokens.push(Token { kind, start: place, end: place + 1, first, last: first + 1, state });
    }

    /// If there are more than so many, the first and the last ones stay.
    fn cut(&mut self, most: usize) {
        if self.tokens.len() > most {
            self.tokens.drain(FIRST..self.tokens.len() - LAST);
        }
    }

    #[inline(always)]
    pub fn letters(&self, token: &Token) -> &[u32] {
        &self.letters[token.first as usize..token.last as usize]
    }

    fn single(&self, place: usize) -> Option<u32> {
        let token = self.tokens.get(place).filter(|token| token.kind == Kind::Single)?;
        Some(self.letters[token.first as usize])
    }

    /// What the pieces of a token depend on, if that is little; what two tokens differ in is in their keys.
    #[inline(always)]
    pub fn key(&self, place: usize) -> Option<Key> {
        let token = &self.tokens[place];
        let mut key = Key { kind: token.kind as u32, state: token.state, codes: [u32::MAX; KEPT] };
        if token.kind == Kind::Single {
            key.codes[0] = self.letters[token.first as usize];
            // In the order in which they are asked for: the second one ahead counts only if the first does.
            let ahead = self.single(place + 1);
            let beyond = ahead.and_then(|_| self.single(place + 2));
            let before = place.checked_sub(1).and_then(|before| self.single(before));
            for (code, near) in key.codes[1..].iter_mut().zip([ahead, beyond, before]) {
                *code = near.unwrap_or(u32::MAX);
                key.state = step(key.state, *code);
            }
        } else {
            let letters = self.letters(token);
            key.codes.get_mut(..letters.len())?.copy_from_slice(letters);
        }
        Some(key)
    }

    /// The rows of the embedding that a token is made of, behind what was found before.
    pub fn pieces(&self, place: usize, most: usize, buckets: usize, found: &mut Vec<u32>) {
        let token = &self.tokens[place];
        let mask = buckets as u32 - 1;
        match token.kind {
            Kind::Letter => {
                found.push(finish(token.state) & mask);
                grams(self.letters(token), most - 1, mask, found);
            }
            Kind::Digit => {
                found.push(finish(token.state) & mask);
                found.push(finish(step(step(START, LENGTH), token.last - token.first)) & mask);
            }
            Kind::Single => self.neighbours(place, mask, found),
            _ => found.push(finish(token.state) & mask),
        }
    }

    fn neighbours(&self, place: usize, mask: u32, found: &mut Vec<u32>) {
        let own = self.letters[self.tokens[place].first as usize];
        let mut state = step(step(START, NEAR), own);
        found.push(finish(state) & mask);
        for code in (place + 1..place + 3).map_while(|ahead| self.single(ahead)) {
            state = step(state, code);
            found.push(finish(state) & mask);
        }
        if let Some(before) = place.checked_sub(1).and_then(|before| self.single(before)) {
            found.push(finish(step(step(step(START, BEFORE), before), own)) & mask);
        }
    }
}

const KEPT: usize = 13;

/// A short token, told apart from every other by all of its letters.
#[derive(Clone, Copy, PartialEq)]
pub struct Key {
    state: u32,
    kind: u32,
    codes: [u32; KEPT],
}

impl Key {
    #[inline(always)]
    pub fn hash(&self) -> u32 {
        finish(self.state)
    }

    /// Equal to the key of no token.
    pub const NONE: Self = Self { state: 0, kind: u32::MAX, codes: [u32::MAX; KEPT] };
}

const WORD: u32 = 1;
const GRAM: u32 = 2;
const NEAR: u32 = 3;
const LENGTH: u32 = 4;
const BEFORE: u32 = 5;
const OPENING: u32 = 60;
const CLOSING: u32 = 62;
const START: u32 = 2_166_136_261;
const SHORTEST: usize = 3; // grams have 3, 4 or 5 letters
const LONGEST: usize = 5;
const MOST_FRAMED: usize = 64 + LONGEST; // letters from which the most pieces that weights may ask for are made

#[inline(always)]
fn step(state: u32, number: u32) -> u32 {
    (state ^ number).wrapping_mul(16_777_619)
}

#[inline(always)]
fn finish(state: u32) -> u32 {
    let mixed = (state ^ (state >> 16)).wrapping_mul(0x85EB_CA6B);
    mixed ^ (mixed >> 13)
}

/// At most so many grams of a word. A longer one goes on from the state of the shorter one that it begins with.
fn grams(letters: &[u32], most: usize, mask: u32, found: &mut Vec<u32>) {
    let mut framed = [0; MOST_FRAMED];
    let kept = letters.len().min(MOST_FRAMED - 2);
    framed[0] = OPENING;
    framed[1..=kept].copy_from_slice(&letters[..kept]);
    framed[kept + 1] = CLOSING; // behind the letters that were kept of a long word, where no gram reaches it
    let framed = &framed[..kept + 2];
    let mut states = [0; MOST_FRAMED];
    let mut made = 0;
    for size in SHORTEST..=LONGEST {
        if framed.len() < size {
            return;
        }
        let count = (framed.len() - size + 1).min(most - made);
        made += count;
        for (state, gram) in states[..count].iter_mut().zip(framed.windows(size)) {
            *state = if size == SHORTEST {
                gram.iter().fold(step(START, GRAM), |state, &code| step(state, code))
            } else {
                step(*state, gram[size - 1])
            };
        }
        found.extend(states[..count].iter().map(|&state| finish(state) & mask));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn alphabet() -> Alphabet {
        let fold: Vec<u16> = (0..FOLDED as u16).map(|c| if (0x41..=0x5A).contains(&c) { c + 32 } else { c }).collect();
        Alphabet::new(&fold).unwrap()
    }

    fn spans(text: &str) -> Vec<(u32, u32)> {
        let mut sequence = Sequence::default();
        sequence.read(&text.chars().map(u32::from).collect::<Vec<_>>(), &alphabet());
        sequence.tokens.iter().map(|token| (token.start, token.end)).collect()
    }

    #[test]
    fn words_numbers_and_symbols_are_tokens() {
        assert_eq!(spans("I’m 12a\u{301}b.."), [(0, 3), (4, 6), (6, 9), (9, 10), (10, 11)]);
        assert_eq!(spans("日本 \u{200B}"), [(0, 1), (1, 2)]);
    }

    #[test]
    fn of_a_long_text_the_first_and_the_last_tokens_are_used() {
        let found = spans(&"a ".repeat(5000));
        assert_eq!((found.len(), found[383], found[384]), (512, (766, 767), (2 * (5000 - 128), 2 * (5000 - 128) + 1)));
        assert_eq!(spans(&"a ".repeat(513)).len(), 512);
        assert_eq!(spans(&"a ".repeat(641))[384], (2 * (641 - 128), 2 * (641 - 128) + 1));
    }

    #[test]
    fn a_word_has_itself_and_its_grams() {
        let mut sequence = Sequence::default();
        let mut found = Vec::new();
        for (word, count) in [("a", 2), ("ab", 4), ("abc", 7), ("abcdefghijklmnopqrstuvwxyz", 20)] {
            sequence.read(&word.chars().map(u32::from).collect::<Vec<_>>(), &alphabet());
            found.clear();
            sequence.pieces(0, 20, 1 << 16, &mut found);
            assert_eq!(found.len(), count, "{word}");
        }
    }
}
