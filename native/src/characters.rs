//! What Python's own Unicode data says about characters, as tables that Python writes: the two makers cannot differ.

use crate::input::{Problem, Sections};

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

pub const LAST: u32 = 0x10_FFFF;
const PAGES: usize = (LAST as usize + 1) / PAGE;
const PAGE: usize = 256;
const MAGIC: u32 = 0x5359_4E43;
const FORMAT: u32 = 1;

/// Per character: flags, its lower case, and its form in the normal form of a text (both as differences).
pub struct Characters {
    pages: Vec<u16>,
    flags: Vec<u16>,
    lower: Vec<u32>,
    normal: Vec<u32>,
}

impl Characters {
    pub fn load(numbers: &[u32]) -> Result<Self, Problem> {
        let mut sections = Sections::new(numbers);
        sections.expect(MAGIC, FORMAT)?;
        let pages = sections.next("pages")?.rest();
        let [flags, lower, normal] =
            [sections.next("flags")?.rest(), sections.next("lower")?.rest(), sections.next("normal")?.rest()];
        sections.end()?;
        let sizes_fit = flags.len() % PAGE == 0 && lower.len() == flags.len() && normal.len() == flags.len();
        let count = flags.len() / PAGE;
        if pages.len() != PAGES || !sizes_fit || count > PAGES || pages.iter().any(|&page| page as usize >= count) {
            return Err("the pages of the character tables do not fit together".into());
        }
        if flags.iter().any(|&flags| flags > u16::MAX as u32) {
            return Err("a character has unknown flags".into());
        }
        let found = Self {
            pages: pages.iter().map(|&page| page as u16).collect(),
            flags: flags.iter().map(|&flags| flags as u16).collect(),
            lower: lower.to_vec(),
            normal: normal.to_vec(),
        };
        if (0..=LAST).any(|c| found.lower(c) > LAST || found.normal(c) > LAST) {
            return Err("a character becomes something that is none".into());
        }
        Ok(found)
    }

    /// `c` must be a code point; texts and programs are checked for that when they come in.
    #[inline(always)]
    fn entry(&self, c: u32) -> usize {
        self.pages[(c >> 8) as usize] as usize * PAGE + (c & 255) as usize
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

    pub fn is_word(&self, c: u32) -> bool {
        self.is(c, WORD)
    }

    /// `\w` of Python's expressions.
    pub fn is_alphanumeric_or_underscore(&self, c: u32) -> bool {
        c == u32::from('_') || self.is(c, ALPHANUMERIC)
    }
}
