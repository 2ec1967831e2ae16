//! How a text is built, and which telling words it shares with another; as `checks/facts.py` says it.

use crate::characters::{Characters, SPACE};
use crate::marks::Marks;
use crate::text::Span;

const LINE_FEED: u32 = 10;
const KEYWORDS: [&[u8]; 10] =
    [b"def", b"class", b"import", b"from", b"SELECT", b"#include", b"function", b"const", b"let", b"var"];

/// What can be told of a text by its marks alone.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shape {
    pub holds_code: bool,
    pub pasted: Option<usize>, // where material begins that stands under an instruction
    pub quotes: usize,
    pub questions: usize,
}

impl Shape {
    pub fn of(text: &[u32], characters: &Characters) -> Self {
        let first = characters_up_to(text, 0, |c| characters.is(c, SPACE));
        let mut look = Look { text, characters, found: Self::default(), has_tag: false };
        look.found.holds_code = look.is_keyword_line(first);
        let mut at = 0;
        while let Some(place) = MARKS.next(text, at) {
            at = look.take(place);
        }
        look.found
    }
}

/// The characters that `Look` knows.
static MARKS: Marks =
    Marks::of(&['\n', '$', '(', ':', '<', '=', '>', '`', '"', '«', '»', '“', '”', '「', '」', '『', '』', '?', '？']);

fn is_quote(c: u32) -> bool {
    matches!(c, 0x22 | 0xAB | 0xBB | 0x201C | 0x201D | 0x300C..=0x300F)
}

fn characters_up_to(text: &[u32], start: usize, fits: impl Fn(u32) -> bool) -> usize {
    start + text.get(start..).map_or(0, |rest| rest.iter().take_while(|&&c| fits(c)).count())
}

/// Goes from mark to mark.
struct Look<'a> {
    text: &'a [u32],
    characters: &'a Characters,
    found: Shape,
    has_tag: bool, // one that began, and that the next `>` ends
}

impl Look<'_> {
    /// Notes what a mark means; returns where to go on.
    fn take(&mut self, at: usize) -> usize {
        let c = self.text[at];
        if c == LINE_FEED {
            return self.take_lines(at);
        }
        if c == u32::from('?') || c == u32::from('？') {
            self.found.questions += 1;
        } else if is_quote(c) {
            self.found.quotes += 1;
        } else if !self.found.holds_code {
            self.found.holds_code = self.is_code(at);
        }
        at + 1
    }

    fn is(&self, at: usize, wanted: char) -> bool {
        self.text.get(at) == Some(&u32::from(wanted))
    }

    fn is_word(&self, at: usize) -> bool {
        self.text.get(at).is_some_and(|&c| self.characters.is_alphanumeric_or_underscore(c))
    }

    fn is_code(&mut self, at: usize) -> bool {
        match char::from_u32(self.text[at]) {
            Some('`') => self.is(at + 1, '`') && self.is(at + 2, '`'),
            Some('$') => self.is(at + 1, '('),
            Some('=') => self.is(at + 1, '>'),
            Some('(') => at > 0 && self.is_word(at - 1) && self.is_call(at),
            Some(':') => self.is_namespace(at),
            Some('>') => self.has_tag,
            Some('<') => {
                let name = at + 1 + usize::from(self.is(at + 1, '/'));
                self.has_tag |= self.text.get(name).is_some_and(|&c| matches!(c, 0x61..=0x7A));
                false
            }
            _ => false,
        }
    }

    /// Whether one word at most stands in brackets, and the statement ends behind them.
    fn is_call(&self, open: usize) -> bool {
        let close = characters_up_to(self.text, open + 1, |c| self.characters.is_alphanumeric_or_underscore(c));
        self.is(close, ')') && (self.is(close + 1, ';') || self.is(close + 1, ':'))
    }

    fn is_namespace(&self, colon: usize) -> bool {
        let std = [u32::from('s'), u32::from('t'), u32::from('d')];
        self.is(colon + 1, ':') && self.text[..colon].ends_with(&std) && !(colon > 3 && self.is_word(colon - 4))
    }

    /// White space with a line break in it: what stands before and behind it tells code and pasted material.
    fn take_lines(&mut self, first_break: usize) -> usize {
        let is_space = |c: u32| self.characters.is(c, SPACE);
        let start = first_break - self.text[..first_break].iter().rev().take_while(|&&c| is_space(c)).count();
        let end = characters_up_to(self.text, first_break, is_space);
        let before = start.checked_sub(1).map(|at| self.text[at]).and_then(char::from_u32);
        let ends_statement = matches!(before, Some('{' | '}' | ';'));
        self.found.holds_code = self.found.holds_code || ends_statement || self.is_keyword_line(end);
        if self.found.pasted.is_none() && end < self.text.len() {
            let is_second = self.text[first_break + 1..end].contains(&LINE_FEED) || self.is_listed(end);
            let after_colon = matches!(before, Some(':' | '：')).then(|| start - 1);
            self.found.pasted = after_colon.or(is_second.then_some(first_break));
        }
        end
    }

    fn is_listed(&self, at: usize) -> bool {
        match char::from_u32(self.text[at]) {
            Some('>' | '|') => true,
            Some('-' | '*' | '•' | '+') => self.is(at + 1, ' '),
            _ => false,
        }
    }

    /// Whether a line of code begins at a place, by its first word and a mark behind it.
    fn is_keyword_line(&self, at: usize) -> bool {
        let rest = self.text.get(at..).unwrap_or(&[]);
        let Some(word) = KEYWORDS.iter().find(|word| begins_with(rest, word)) else { return false };
        let mut line = rest[word.len()..].iter().take_while(|&&c| c != LINE_FEED);
        !self.is_word(at + word.len()) && line.any(|&c| matches!(char::from_u32(c), Some('(' | ':' | ';' | '{')))
    }
}

fn begins_with(text: &[u32], word: &[u8]) -> bool {
    text.len() >= word.len() && text.iter().zip(word).all(|(&c, &letter)| c == u32::from(letter))
}

// The user's own words that a reply takes up are a sign that both speak of the same thing.

const SHORTEST: usize = 3;
const ENDING: usize = 3; // letters that may differ between kindred forms of a long word
const PARROT: usize = 5; // so many telling words and none of its own: the reply only repeats
const FEW: usize = 32; // words that are looked through one by one

/// A word that tells something: its place in its text, and where the part ends that kindred words share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Telling {
    pub start: u32,
    pub end: u32,
    pub family_end: u32,
}

impl Telling {
    fn family<'t>(&self, text: &'t [u32]) -> &'t [u32] {
        &text[self.start as usize..self.family_end as usize]
    }
}

/// How many letters of a word kindred forms share: `lonely` and `loneliness`, `depressed` and `depression`.
pub fn family_length(length: usize) -> usize {
    length.min((SHORTEST + 1).max(length.saturating_sub(ENDING)))
}

/// Words in a set that is made once and asked often.
pub struct Words {
    letters: Vec<u32>,
    places: Vec<(u32, u32)>, // by a number made of the letters, or the next that is free; an empty one: none
    longest: usize,
}

impl Words {
    pub fn new<'w>(words: impl Iterator<Item = &'w [u32]> + Clone) -> Self {
        let size = (words.clone().count() * 4 + 1).next_power_of_two();
        let longest = words.clone().map(<[u32]>::len).max().unwrap_or(0);
        let mut made = Self { letters: Vec::new(), places: vec![(0, 0); size], longest };
        for word in words.filter(|word| !word.is_empty()) {
            let place = made.place(word);
            if made.places[place] == (0, 0) {
                made.places[place] = (made.letters.len() as u32, (made.letters.len() + word.len()) as u32);
                made.letters.extend_from_slice(word);
            }
        }
        made
    }

    /// Where a word is, or would be put.
    fn place(&self, word: &[u32]) -> usize {
        let mask = self.places.len() - 1;
        let mut place = number_of(word) as usize & mask;
        while self.places[place] != (0, 0) && self.at(place) != word {
            place = (place + 1) & mask;
        }
        place
    }

    fn at(&self, place: usize) -> &[u32] {
        let (start, end) = self.places[place];
        &self.letters[start as usize..end as usize]
    }

    pub fn has(&self, word: &[u32]) -> bool {
        word.len() <= self.longest && self.places[self.place(word)] != (0, 0)
    }
}

/// A number that different words seldom share: made of the length and a few letters, so that long ones take no time.
fn number_of(word: &[u32]) -> u32 {
    let letter = |at: usize| word.get(at).copied().unwrap_or(0);
    let [first, second, third, last] = [letter(0), letter(1), letter(2), letter(word.len().wrapping_sub(1))];
    let mixed = first.wrapping_mul(0x9E37_79B1) ^ second.wrapping_mul(0x85EB_CA77) ^ third.wrapping_mul(0xC2B2_AE3D);
    let mixed = mixed ^ last.wrapping_mul(0x27D4_EB2F).rotate_left(9) ^ word.len() as u32;
    mixed ^ mixed >> 15
}

/// The telling words among the words of a normal form.
pub fn telling_words(normal: &[u32], words: impl Iterator<Item = Span>, everyday: &Words, found: &mut Vec<Telling>) {
    found.clear();
    let is_telling = |&(start, end): &Span| end - start >= SHORTEST && !everyday.has(&normal[start..end]);
    found.extend(words.filter(is_telling).map(|(start, end)| Telling {
        start: start as u32,
        end: end as u32,
        family_end: (start + family_length(end - start)) as u32,
    }));
}

/// The same where no space shows the words: single ideographs beside kana, or else pairs of them.
pub fn telling_characters(spoken: &[u32], everyday: &Marks, single: bool, found: &mut Vec<Telling>) {
    found.clear();
    let mut is_shown_before = false;
    for (at, &c) in spoken.iter().enumerate() {
        let is_shown = matches!(c, 0x4E00..=0x9FFF) && !everyday.may_have(c);
        if is_shown && (single || is_shown_before) {
            let (start, end) = (at - usize::from(!single), at + 1);
            found.push(Telling { start: start as u32, end: end as u32, family_end: end as u32 });
        }
        is_shown_before = is_shown;
    }
}

/// The words of a normal form.
pub fn words<'t>(normal: &'t [u32], characters: &'t Characters) -> impl Iterator<Item = Span> + 't {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = characters_up_to(normal, at, |c| !characters.is_word(c));
        at = characters_up_to(normal, start, |c| characters.is_word(c));
        (at > start).then_some((start, at))
    })
}

/// What a reply takes up of a message. Its buffers serve one exchange after the other.
#[derive(Default)]
pub struct TakenUp {
    pub words: Vec<Span>, // in the reply: each word once, in the order in which it comes first
    pub only_repeats: bool,
    sorted: Vec<Telling>, // of the message, by their families
    seen: u64,            // bits of what the families are made of, by which most others are told at once
    order: Vec<u32>,
}

impl TakenUp {
    /// Compares a message and its reply, each the text in which its telling words stand and these.
    pub fn compare(&mut self, user: (&[u32], &[Telling]), reply: (&[u32], &[Telling])) {
        self.sort(user);
        self.words.clear();
        let mut own = 0;
        for telling in reply.1 {
            if self.is_taken_up(user.0, telling.family(reply.0)) {
                self.words.push((telling.start as usize, telling.end as usize));
            } else {
                own += 1;
            }
        }
        self.only_repeats = own == 0 && reply.1.len() >= PARROT;
        if self.only_repeats {
            self.words.clear();
        }
        self.keep_first(reply.0);
    }

    fn sort(&mut self, (text, telling): (&[u32], &[Telling])) {
        self.sorted.clear();
        self.sorted.extend_from_slice(telling);
        self.seen = telling.iter().fold(0, |seen, telling| seen | bit_of(telling.family(text)));
        if telling.len() > FEW {
            self.sorted.sort_unstable_by(|one, other| one.family(text).cmp(other.family(text)));
        }
    }

    fn is_taken_up(&self, text: &[u32], family: &[u32]) -> bool {
        if self.seen & bit_of(family) == 0 {
            return false;
        }
        if self.sorted.len() > FEW {
            return self.sorted.binary_search_by(|telling| telling.family(text).cmp(family)).is_ok();
        }
        self.sorted.iter().any(|telling| telling.family(text) == family)
    }

    /// Keeps the first of equal words.
    fn keep_first(&mut self, text: &[u32]) {
        let words = &self.words;
        let word = |number: u32| &text[words[number as usize].0..words[number as usize].1];
        self.order.clear();
        if words.len() <= FEW {
            let is_first = |&number: &u32| !(0..number).any(|earlier| word(earlier) == word(number));
            self.order.extend((0..words.len() as u32).filter(is_first));
        } else {
            self.order.extend(0..words.len() as u32);
            self.order.sort_by(|&one, &other| word(one).cmp(word(other)));
            self.order.dedup_by(|later, earlier| word(*later) == word(*earlier));
            self.order.sort_unstable();
        }
        for (kept, &number) in self.order.iter().enumerate() {
            self.words[kept] = self.words[number as usize];
        }
        self.words.truncate(self.order.len());
    }

    /// How many families of kindred words were taken up.
    pub fn families(&mut self, text: &[u32], spaced: bool) -> usize {
        let words = &self.words;
        let family = |number: &u32| {
            let (start, end) = words[*number as usize];
            &text[start..if spaced { start + family_length(end - start) } else { end }]
        };
        if words.len() <= FEW {
            let is_first = |number: &u32| !(0..*number).any(|earlier| family(&earlier) == family(number));
            return (0..words.len() as u32).filter(is_first).count();
        }
        self.order.clear();
        self.order.extend(0..words.len() as u32);
        self.order.sort_unstable_by(|one, other| family(one).cmp(family(other)));
        self.order.chunk_by(|one, other| family(one) == family(other)).count()
    }
}

/// One bit of 64 that stands for the letters of a family.
fn bit_of(family: &[u32]) -> u64 {
    let [first, second, .., last] = *family else { return family.first().map_or(0, |&c| 1 << (c & 63)) };
    let mixed = first.wrapping_mul(7) ^ second.wrapping_mul(13) ^ last.wrapping_mul(29) ^ family.len() as u32;
    1 << (mixed % 64)
}
