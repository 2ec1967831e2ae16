//! What Python's own Unicode data says about characters, as tables that Python writes: the two makers cannot differ.

use crate::input::{Problem, Section, Sections};
use crate::required::Mixing;
use std::collections::HashMap;

pub const SPACE: u32 = 1;
pub const WORD: u32 = 2; // belongs to a word, as rules see words
pub const ALPHANUMERIC: u32 = 4;
pub const LETTER: u32 = 8;
pub const LOWER: u32 = 16;
pub const DECIMAL: u32 = 32;
pub const DIGIT: u32 = 64;
pub const INVISIBLE: u32 = 128;
pub const DECLINED: u32 = 256; // Python must normalise a text that has one of these
pub const ENDING: u32 = 512; // white space behind it may end a sentence
pub const EDITED: u32 = 1024; // white space and marks: may become something else, by what is around them
pub const COMBINES: u32 = 2048; // may become one character with a letter before it
pub const COMBINING: u32 = 4096; // a mark that belongs to the letter before it

pub const LAST: u32 = 0x10_FFFF;
const PAGES: usize = (LAST as usize + 1) / PAGE;
const PAGE: usize = 256;
const MAGIC: u32 = 0x5359_4E43;
const FORMAT: u32 = 3;

/// A letter and a mark, composed as far as they can be.
#[derive(Debug, PartialEq)]
pub enum Composed {
    One(u32),
    Both,
}

const UNSTABLE: u32 = 255; // class of a character that changes by itself

/// Per character: flags, its lower case, and its form in the normal form of a text (both as differences).
pub struct Characters {
    pages: Vec<u16>,
    flags: Vec<u16>,
    lower: Vec<u32>,
    normal: Vec<u32>,
    ascii: [(u16, u8); 128], // flags and normal form, at one look
    plain: Vec<u16>, // by which of the texts in `plainer` it is replaced
    plainer: Vec<Box<[u32]>>,
    composed: HashMap<(u32, u32), u32, Mixing>, // a letter and a mark as one character
    unsettled: HashMap<u32, u32, Mixing>,       // the highest class of the marks that a character has
}

impl Characters {
    pub fn load(numbers: &[u32]) -> Result<Self, Problem> {
        let mut sections = Sections::new(numbers);
        sections.expect(MAGIC, FORMAT)?;
        let pages = sections.next("pages")?.rest();
        let [flags, lower, normal, plain] = [
            sections.next("flags")?.rest(),
            sections.next("lower")?.rest(),
            sections.next("normal")?.rest(),
            sections.next("plain")?.rest(),
        ];
        let plainer = load_plainer(sections.next("plainer")?)?;
        let composed = sections.next("composed")?.rows::<3>()?;
        let unsettled = sections.next("unsettled")?.rows::<2>()?;
        sections.end()?;
        let sizes_fit = flags.len() % PAGE == 0 && [lower, normal, plain].iter().all(|table| table.len() == flags.len());
        let count = flags.len() / PAGE;
        if pages.len() != PAGES || !sizes_fit || count > PAGES || pages.iter().any(|&page| page as usize >= count) {
            return Err("the pages of the character tables do not fit together".into());
        }
        if flags.iter().any(|&flags| flags > u16::MAX as u32) {
            return Err("a character has unknown flags".into());
        }
        if plain.iter().any(|&number| number as usize >= plainer.len()) {
            return Err("a character becomes a text that is missing".into());
        }
        let mut found = Self {
            ascii: [(0, 0); 128],
            pages: pages.iter().map(|&page| page as u16).collect(),
            flags: flags.iter().map(|&flags| flags as u16).collect(),
            lower: lower.to_vec(),
            normal: normal.to_vec(),
            plain: plain.iter().map(|&number| number as u16).collect(),
            plainer,
            composed: composed.into_iter().map(|[letter, mark, both]| ((letter, mark), both)).collect(),
            unsettled: unsettled.into_iter().map(|[c, class]| (c, class)).collect(),
        };
        if !found.stays_inside() {
            return Err("a character becomes something that is none".into());
        }
        for c in 0..128 {
            // One that is not ASCII in normal form has to be looked up like any other.
            let normal = u8::try_from(found.normal(c)).ok().filter(u8::is_ascii);
            let declined = if normal.is_none() { DECLINED as u16 } else { 0 };
            found.ascii[c as usize] = (found.flags(c) as u16 | declined, normal.unwrap_or(0));
        }
        Ok(found)
    }

    /// `c` must be a code point; texts and programs are checked for that when they come in.
    #[inline(always)]
    fn entry(&self, c: u32) -> usize {
        self.pages[(c >> 8) as usize] as usize * PAGE + (c & 255) as usize
    }

    /// Whether every character becomes one again; most pages change nothing.
    fn stays_inside(&self) -> bool {
        let is_still = |table: &[u32], page: u16| table[page as usize * PAGE..][..PAGE].iter().all(|&change| change == 0);
        let changes = |page: &u16| !is_still(&self.lower, *page) || !is_still(&self.normal, *page);
        let stays = |c: u32| self.lower(c) <= LAST && self.normal(c) <= LAST;
        let pages = self.pages.iter().enumerate().filter(|(_, page)| changes(page));
        { pages }.all(|(number, _)| (number as u32 * PAGE as u32..(number as u32 + 1) * PAGE as u32).all(stays))
    }

    /// Flags and normal form of an ASCII character.
    #[inline(always)]
    pub fn ascii(&self, c: u32) -> Option<(u32, u32)> {
        self.ascii.get(c as usize).map(|&(flags, normal)| (u32::from(flags), u32::from(normal)))
    }

    #[inline(always)]
    pub fn flags(&self, c: u32) -> u32 {
        self.flags[self.entry(c)] as u32
    }

    #[inline(always)]
    pub fn is(&self, c: u32, wanted: u32) -> bool {
        self.flags(c) & wanted != 0
    }

    #[inline(always)]
    pub fn lower(&self, c: u32) -> u32 {
        c.wrapping_add(self.lower[self.entry(c)])
    }

    /// In lower case, with plain quotes and hyphens, and of normal width.
    #[inline(always)]
    pub fn normal(&self, c: u32) -> u32 {
        c.wrapping_add(self.normal[self.entry(c)])
    }

    /// What NFKC makes of a character, where that has something plain in it: ASCII, white space, a hyphen; else nothing.
    #[inline(always)]
    pub fn plain(&self, c: u32) -> &[u32] {
        &self.plainer[self.plain[self.entry(c)] as usize]
    }

    /// The characters of which NFKC makes something plain.
    pub fn replaced(&self) -> impl Iterator<Item = u32> + '_ {
        let is_any: Vec<bool> = self.plain.chunks_exact(PAGE).map(|page| page.iter().any(|&number| number != 0)).collect();
        let pages = (0..PAGES as u32).filter(move |&page| is_any[self.pages[page as usize] as usize]);
        pages.flat_map(|page| page << 8..(page + 1) << 8).filter(|&c| !self.plain(c).is_empty())
    }

    /// What a letter and a mark behind it become; None where more than these two have to be looked at.
    pub fn with_mark(&self, letter: u32, mark: u32) -> Option<Composed> {
        if let Some(&both) = self.composed.get(&(letter, mark)).filter(|&&both| both <= LAST) {
            return Some(Composed::One(both));
        }
        let of_letter = self.unsettled.get(&letter).copied().unwrap_or(0);
        let of_mark = self.unsettled.get(&mark).copied().unwrap_or(0);
        (of_letter <= of_mark && of_mark < UNSTABLE).then_some(Composed::Both)
    }

    /// Characters in lower case, as UTF-8 behind what is there.
    pub fn write_lower(&self, points: &[u32], out: &mut Vec<u8>) {
        let mut bytes = [0; 4];
        for c in points.iter().filter_map(|&c| char::from_u32(self.lower(c))) {
            out.extend_from_slice(c.encode_utf8(&mut bytes).as_bytes());
        }
    }

    #[inline(always)]
    pub fn is_word(&self, c: u32) -> bool {
        self.is(c, WORD)
    }

    /// `\w` of Python's expressions.
    #[inline(always)]
    pub fn is_alphanumeric_or_underscore(&self, c: u32) -> bool {
        c == u32::from('_') || self.is(c, ALPHANUMERIC)
    }
}

/// The texts that characters are replaced by; the first is empty and stands for "it stays as it is".
fn load_plainer(mut section: Section) -> Result<Vec<Box<[u32]>>, Problem> {
    let mut found: Vec<Box<[u32]>> = vec![Box::default()];
    while !section.is_empty() {
        found.push(section.list_below(LAST as usize + 1)?.into());
    }
    if found.len() > u16::MAX as usize { Err("too many texts that replace a character".into()) } else { Ok(found) }
}
