//! What of a reply is said to the person: code, quoted text, tables and addresses are not. As `rules/prose.py` says it.
//!
//! What is left out becomes blank in a text of the same length. Every step goes through the text once and changes it in
//! place: what a step has left blank lies behind it, and no step looks back at what it changed itself.

use crate::blocks::{is_blank, Blocks, LINE_FEED};
use crate::characters::{Characters, LETTER, SPACE};
use crate::marks::Marks;
use crate::repeated::{closing_mark, Repeated};
use crate::text::{Declined, Span};

pub const NAMED: u32 = 0xA78F; // a letter of no language, where something was named in code or by its address
const BREAK: u32 = 0x964; // ends a sentence by itself, in every language
const INVISIBLE: u32 = 0x200B; // drops out of the normal form
const BLANK: u32 = b' ' as u32;

const BACKTICK: u32 = b'`' as u32;
const LESS: u32 = b'<' as u32;
const GREATER: u32 = b'>' as u32;
const COMMENT: [u32; 4] = [LESS, b'!' as u32, b'-' as u32, b'-' as u32];
const COMMENT_END: [u32; 3] = [b'-' as u32, b'-' as u32, GREATER];
const SCHEME_END: [u32; 3] = [b':' as u32, b'/' as u32, b'/' as u32];
const WWW: [u32; 4] = [b'w' as u32, b'w' as u32, b'w' as u32, b'.' as u32];
const LONGEST_SCHEME: usize = 15; // characters behind its first
const LONGEST_BREAK: usize = 10; // of the names of tags that end a line

/// Bits: what a text has in it that may lead to a part that is left out.
mod holds {
    pub const BACKTICK: u32 = 1;
    pub const TAG: u32 = 2;
    pub const COMMENT: u32 = 4;
    pub const TARGET: u32 = 8;
    pub const ADDRESS: u32 = 16;
    pub const BLOCK: u32 = 32; // a table, a quotation, a fence of tildes, code by its indentation
    pub const QUOTATION: u32 = 64;
    pub const LINES: u32 = BACKTICK | COMMENT | BLOCK; // what depends on the lines around it
}

/// The characters that `held_at` knows.
static MARKS: Marks = Marks::of(&['`', '|', '<', '>', '~', ':', '.', ']', '\n', '"', '«', '“', '「', '『']);

/// The buffers that texts are read with, one after the other.
#[derive(Default)]
pub struct Prose {
    text: Vec<u32>,
    blocks: Blocks,
    code: CodeSpans,
    repeated: Repeated,
}

impl Prose {
    /// The text with what is not said to the person left blank; None where nothing is.
    ///
    /// `answers` is the message that it replies to: its words between quotation marks are the user's.
    pub fn read(
        &mut self, text: &[u32], answers: &[u32], characters: &Characters,
    ) -> Result<Option<&[u32]>, Declined> {
        let mut held = held_in(text);
        if answers.is_empty() {
            held &= !holds::QUOTATION;
        }
        if held == 0 {
            return Ok(None);
        }
        self.text.clear();
        let mut is_changed = held & !holds::QUOTATION != 0 && self.leave_out_marked(text, held, characters);
        if held & holds::QUOTATION != 0 {
            is_changed |= self.leave_out_repeated(text, answers, characters)?;
        }
        Ok(is_changed.then_some(&self.text))
    }

    /// What its marks tell to be no prose.
    fn leave_out_marked(&mut self, text: &[u32], held: u32, characters: &Characters) -> bool {
        self.text.extend_from_slice(text);
        let is_changed = held & holds::LINES != 0 && self.leave_out_blocks(characters);
        is_changed | self.leave_out_inline(held, characters)
    }

    /// The user's own words between quotation marks; the text is copied only where there are any.
    fn leave_out_repeated(
        &mut self, text: &[u32], answers: &[u32], characters: &Characters,
    ) -> Result<bool, Declined> {
        let is_copied = self.text.len() == text.len();
        let found = self.repeated.find(if is_copied { &self.text } else { text }, answers, characters)?;
        if !is_copied && !found.is_empty() {
            self.text.extend_from_slice(text);
        }
        for &(start, end) in found {
            name(&mut self.text[start..end]);
        }
        Ok(!found.is_empty())
    }

    /// A reply that quotes and does nothing else quotes nobody.
    fn leave_out_blocks(&mut self, characters: &Characters) -> bool {
        let Self { text, blocks, .. } = self;
        blocks.find(text, characters);
        let mut is_changed = leave_out(text, &blocks.left_out);
        if speaks_outside(text, &blocks.quoted, characters) {
            is_changed |= leave_out(text, &blocks.quoted);
        }
        is_changed
    }

    /// Code, addresses and tags inside lines.
    fn leave_out_inline(&mut self, held: u32, characters: &Characters) -> bool {
        let Self { text, blocks, code, .. } = self;
        let mut is_changed = held & holds::BACKTICK != 0 && code.leave_out(text, &blocks.begins, characters);
        is_changed |= held & holds::COMMENT != 0 && leave_out_comments(text, &blocks.begins);
        is_changed |= held & holds::TAG != 0 && leave_out_tags(text, characters);
        is_changed |= held & holds::TARGET != 0 && leave_out_targets(text, characters);
        // Addresses in capitals count only beside one that is still there in small letters.
        is_changed | (held & holds::ADDRESS != 0 && holds_address(text) && leave_out_addresses(text))
    }
}

fn held_in(text: &[u32]) -> u32 {
    let mut held = if is_indented(text) { holds::BLOCK } else { 0 };
    let mut at = 0;
    while let Some(place) = MARKS.next(text, at) {
        held |= held_at(text, place);
        at = place + 1;
    }
    held
}

fn held_at(text: &[u32], at: usize) -> u32 {
    let next_is = |wanted: char| text.get(at + 1) == Some(&u32::from(wanted));
    let found = match char::from_u32(text[at]) {
        Some('`') => Some(holds::BACKTICK),
        Some('|' | '>') => Some(holds::BLOCK),
        Some('<') if text[at..].starts_with(&COMMENT) => Some(holds::TAG | holds::COMMENT),
        Some('<') => Some(holds::TAG),
        Some('~') => (next_is('~') && text.get(at + 2) == Some(&text[at])).then_some(holds::BLOCK),
        Some(':') => text[at..].starts_with(&SCHEME_END).then_some(holds::ADDRESS),
        Some('.') => text[..=at].ends_with(&WWW).then_some(holds::ADDRESS),
        Some(']') => next_is('(').then_some(holds::TARGET),
        Some('\n') => is_indented(&text[at + 1..]).then_some(holds::BLOCK),
        _ => closing_mark(text[at]).map(|_| holds::QUOTATION),
    };
    found.unwrap_or(0)
}

/// Whether a line begins with white space that is four columns wide.
fn is_indented(line: &[u32]) -> bool {
    let spaces = line.iter().take(4).take_while(|&&c| c == BLANK).count();
    spaces == 4 || line.get(spaces) == Some(&u32::from('\t'))
}

/// Makes parts of a text blank, which are in order; returns whether there were any.
pub fn leave_out(text: &mut [u32], spans: &[Span]) -> bool {
    for &(start, end) in spans {
        text[start..end].fill(BLANK);
    }
    spans.iter().any(|(start, end)| start < end)
}

/// Whether there are words beside these parts, which are in order.
fn speaks_outside(text: &[u32], spans: &[Span], characters: &Characters) -> bool {
    let mut reached = 0;
    spans.iter().chain([&(text.len(), text.len())]).any(|&(start, end)| {
        let before = &text[reached..start];
        reached = end;
        before.iter().any(|&c| characters.is_word(c))
    })
}

/// Leaves a word in place of a part.
fn name(part: &mut [u32]) {
    part.fill(BLANK);
    part[0] = NAMED;
}

/// Leaves nothing in place of a part: not even white space.
fn hide(part: &mut [u32]) {
    for c in part.iter_mut().filter(|c| **c != LINE_FEED) {
        *c = INVISIBLE;
    }
}

fn find(text: &[u32], start: usize, wanted: u32) -> Option<usize> {
    Some(start + text.get(start..)?.iter().position(|&c| c == wanted)?)
}

fn find_all(text: &[u32], start: usize, end: usize, wanted: &[u32]) -> Option<usize> {
    Some(start + text.get(start..end)?.windows(wanted.len()).position(|part| part == wanted)?)
}

/// Where a run of characters ends that begins at a place.
fn run(text: &[u32], start: usize, fits: impl Fn(u32) -> bool) -> usize {
    start + text.get(start..).map_or(0, |rest| rest.iter().take_while(|&&c| fits(c)).count())
}

fn is_one_of(c: u32, characters: &[u8]) -> bool {
    u8::try_from(c).is_ok_and(|c| characters.contains(&c))
}

/// Runs of backticks in one stretch of text, and what pairs them.
#[derive(Default)]
struct CodeSpans {
    runs: Vec<Span>,
    closes: Vec<usize>,  // of each run: the next one of its length
    nearest: Vec<usize>, // by length: the run of it that was met last
}

const NONE: usize = usize::MAX;

impl CodeSpans {
    fn leave_out(&mut self, text: &mut [u32], begins: &[usize], characters: &Characters) -> bool {
        self.runs.clear();
        let (mut is_changed, mut begun, mut at) = (false, 0, 0);
        while let Some(start) = find(text, at, BACKTICK) {
            let reached = begun + begins[begun..].iter().take_while(|&&begin| begin <= start).count();
            if reached > begun {
                is_changed |= self.leave_out_pairs(text);
                begun = reached;
            }
            at = run(text, start, |c| c == BACKTICK);
            if !is_apostrophe(text, start, at, characters) {
                self.runs.push((start, at));
            }
        }
        is_changed | self.leave_out_pairs(text)
    }

    /// Each run of backticks with the next one of its length in the same stretch of text.
    fn leave_out_pairs(&mut self, text: &mut [u32]) -> bool {
        self.pair();
        let (mut is_changed, mut number) = (false, 0);
        while number < self.runs.len() {
            let close = self.closes[number];
            if close != NONE {
                name(&mut text[self.runs[number].0..self.runs[close].1]);
                is_changed = true;
                number = close;
            }
            number += 1;
        }
        self.runs.clear();
        is_changed
    }

    fn pair(&mut self) {
        let longest = self.runs.iter().map(|(start, end)| end - start).max().unwrap_or(0);
        self.nearest.clear();
        self.nearest.resize(longest + 1, NONE);
        self.closes.clear();
        self.closes.resize(self.runs.len(), NONE);
        for (number, (start, end)) in self.runs.iter().enumerate().rev() {
            self.closes[number] = std::mem::replace(&mut self.nearest[end - start], number);
        }
    }
}

/// Many type "don`t": one mark with a letter on either side.
fn is_apostrophe(text: &[u32], start: usize, end: usize, characters: &Characters) -> bool {
    let is_letter = |at: usize| text.get(at).is_some_and(|&c| characters.is(c, LETTER));
    end - start == 1 && start > 0 && is_letter(start - 1) && is_letter(end)
}

/// Comments end in the stretch of text that they begin in.
fn leave_out_comments(text: &mut [u32], begins: &[usize]) -> bool {
    let (mut is_changed, mut at) = (false, 0);
    while let Some(start) = find_all(text, at, text.len(), &COMMENT) {
        let end = begins.get(begins.partition_point(|&begin| begin <= start)).map_or(text.len(), |&begin| begin);
        at = match find_all(text, start + COMMENT.len(), end, &COMMENT_END) {
            Some(close) => {
                hide(&mut text[start..close + COMMENT_END.len()]);
                is_changed = true;
                close + COMMENT_END.len()
            }
            None => end,
        };
    }
    is_changed
}

/// What stands between angle brackets.
enum Bracketed {
    Tag { ends_line: bool },
    Address,
}

fn leave_out_tags(text: &mut [u32], characters: &Characters) -> bool {
    let (mut is_changed, mut at) = (false, 0);
    while let Some(start) = find(text, at, LESS) {
        at = start + 1;
        if let Some((end, what)) = bracketed(text, start, characters) {
            match what {
                Bracketed::Address => name(&mut text[start..end]),
                Bracketed::Tag { .. } => hide(&mut text[start..end]),
            }
            if matches!(what, Bracketed::Tag { ends_line: true }) {
                text[start] = BREAK;
            }
            (is_changed, at) = (true, end);
        }
    }
    is_changed
}

fn bracketed(text: &[u32], start: usize, characters: &Characters) -> Option<(usize, Bracketed)> {
    let first = start + 1 + usize::from(text.get(start + 1) == Some(&u32::from('/')));
    if text.get(first).is_some_and(|&c| is_ascii_letter(c)) {
        let last = run(text, first, |c| c == u32::from('-') || characters.is_alphanumeric_or_underscore(c));
        if let Some(end) = attributes_end(text, last).or_else(|| tag_end(text, last)) {
            return Some((end, Bracketed::Tag { ends_line: ends_line(&text[first..last]) }));
        }
    }
    Some((mail_end(text, start, characters)?, Bracketed::Address))
}

fn is_ascii_letter(c: u32) -> bool {
    u8::try_from(c).is_ok_and(|c| c.is_ascii_alphabetic())
}

/// Where a tag with attributes ends, which have an equals sign.
fn attributes_end(text: &[u32], start: usize) -> Option<usize> {
    text.get(start).filter(|&&c| is_blank(c))?;
    let end = run(text, start + 1, |c| !matches!(c, LESS | GREATER | LINE_FEED));
    let is_tag = text.get(end) == Some(&GREATER) && text[start + 1..end].contains(&u32::from('='));
    is_tag.then_some(end + 1)
}

fn tag_end(text: &[u32], start: usize) -> Option<usize> {
    let end = run(text, start, is_blank);
    let end = end + usize::from(text.get(end) == Some(&u32::from('/')));
    (text.get(end) == Some(&GREATER)).then_some(end + 1)
}

fn mail_end(text: &[u32], start: usize, characters: &Characters) -> Option<usize> {
    let is_part = |c: u32| !is_one_of(c, b"<>@") && !characters.is(c, SPACE);
    let at = run(text, start + 1, is_part);
    let end = run(text, at + 1, is_part);
    let is_mail = at > start + 1 && text.get(at) == Some(&u32::from('@')) && end > at + 1;
    (is_mail && text.get(end) == Some(&GREATER)).then_some(end + 1)
}

const BREAKS: [&[u8]; 11] =
    [b"br", b"p", b"div", b"li", b"ul", b"ol", b"tr", b"table", b"hr", b"blockquote", b"section"];

/// Whether a tag of this name begins a new line.
fn ends_line(name: &[u32]) -> bool {
    let mut folded = [0; LONGEST_BREAK];
    let Some(folded) = folded.get_mut(..name.len()) else { return false };
    for (small, &c) in folded.iter_mut().zip(name) {
        *small = ignoring_case(c);
    }
    match &*folded {
        [b'h', b'1'..=b'6'] => true,
        [b't', b'd' | b'h'] => true,
        name => BREAKS.contains(&name),
    }
}

/// The characters that `re.IGNORECASE` takes for ASCII letters.
pub const LIKE_ASCII: [u32; 4] = [0x130, 0x131, 0x17F, 0x212A];

/// The small ASCII letter that a character is to `re.IGNORECASE`, or itself; 0 for others.
pub fn ignoring_case(c: u32) -> u8 {
    match c {
        0x130 | 0x131 => b'i',
        0x17F => b's',
        0x212A => b'k',
        0..=127 => (c as u8).to_ascii_lowercase(),
        _ => 0,
    }
}

/// The targets of links, in brackets.
fn leave_out_targets(text: &mut [u32], characters: &Characters) -> bool {
    let (mut is_changed, mut at) = (false, 0);
    while let Some(close) = find(text, at, u32::from(']')) {
        at = close + 1;
        if let Some(end) = target_end(text, at, characters) {
            text[at..end].fill(BLANK);
            (is_changed, at) = (true, end);
        }
    }
    is_changed
}

fn target_end(text: &[u32], start: usize, characters: &Characters) -> Option<usize> {
    text.get(start).filter(|&&c| c == u32::from('('))?;
    let end = run(text, start + 1, |c| !is_one_of(c, b"()") && c != NAMED && !characters.is(c, SPACE));
    let end = title_end(text, end).unwrap_or(end);
    (text.get(end) == Some(&u32::from(')'))).then_some(end + 1)
}

/// Where a title between quotation marks ends, which has white space in front.
fn title_end(text: &[u32], start: usize) -> Option<usize> {
    let is_quote = |at: usize| text.get(at) == Some(&u32::from('"'));
    let open = run(text, start, is_blank);
    if open == start || !is_quote(open) {
        return None;
    }
    let close = run(text, open + 1, |c| c != u32::from('"') && c != LINE_FEED);
    is_quote(close).then_some(close + 1)
}

fn holds_address(text: &[u32]) -> bool {
    text.windows(3).any(|part| part == SCHEME_END) || text.windows(4).any(|part| part == WWW)
}

fn leave_out_addresses(text: &mut [u32]) -> bool {
    let (mut is_changed, mut at) = (false, 0);
    let mut is_inside_word = false;
    while at < text.len() {
        let end = if is_inside_word { None } else { address_end(text, at) };
        if let Some(end) = end {
            let bare = bare_end(text, at, end);
            name(&mut text[at..bare]);
            (is_changed, at, is_inside_word) = (true, end, false);
        } else {
            is_inside_word = is_ascii_word(text[at]);
            at += 1;
        }
    }
    is_changed
}

fn is_ascii_word(c: u32) -> bool {
    u8::try_from(c).is_ok_and(|c| c.is_ascii_alphanumeric() || c == b'_')
}

fn address_end(text: &[u32], start: usize) -> Option<usize> {
    if !is_ascii_letter(text[start]) {
        return None;
    }
    [scheme_end(text, start), www_end(text, start)].into_iter().flatten().find_map(|from| {
        let end = run(text, from, is_of_address);
        (end > from).then_some(end)
    })
}

fn scheme_end(text: &[u32], start: usize) -> Option<usize> {
    let rest = &text[start + 1..];
    let is_part = |c: u32| is_ascii_letter(c) || is_one_of(c, b"0123456789+.-");
    let length = rest.iter().take(LONGEST_SCHEME).take_while(|&&c| is_part(c)).count();
    (length > 0 && rest[length..].starts_with(&SCHEME_END)).then_some(start + 1 + length + SCHEME_END.len())
}

fn www_end(text: &[u32], start: usize) -> Option<usize> {
    let part = text.get(start..start + WWW.len())?;
    let is_www = part.iter().zip(&WWW).all(|(&c, &wanted)| c < 128 && u32::from((c as u8).to_ascii_lowercase()) == wanted);
    is_www.then_some(start + WWW.len())
}

fn is_of_address(c: u32) -> bool {
    is_ascii_word(c) || is_one_of(c, b"-.~:/?#@!$&'()*+,;=%[]")
}

/// Where an address ends without the marks of the sentence around it.
fn bare_end(text: &[u32], start: usize, end: usize) -> usize {
    let address = &text[start..end];
    let opens = address.contains(&u32::from('('));
    let is_around = |c: u32| is_one_of(c, b".,;:!?'*_") || (c == u32::from(')') && !opens);
    end - address.iter().rev().take_while(|&&c| is_around(c)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(text: &str) -> Vec<u32> {
        text.chars().map(u32::from).collect()
    }

    #[test]
    fn every_mark_that_opens_a_quotation_is_known() {
        assert!((0..=crate::characters::LAST).filter(|&c| closing_mark(c).is_some()).all(|c| MARKS.may_have(c)));
    }

    #[test]
    fn only_what_may_be_left_out_is_looked_at() {
        let held = ["Rest. Eat: now; a~b [x] /y", "a\n   b\n \n", "w. ww. WWW."].map(|text| held_in(&points(text)));
        assert_eq!(held, [0, 0, 0]);
        let held = ["\ta", "a\n  \tb", "    ", "~~~", "a|"].map(|text| held_in(&points(text)));
        assert_eq!(held, [holds::BLOCK; 5]);
        let held = ["www.", "a://", "[a](b", "<!--", "«a"].map(|text| held_in(&points(text)));
        assert_eq!(held, [holds::ADDRESS, holds::ADDRESS, holds::TARGET, holds::TAG | holds::COMMENT, holds::QUOTATION]);
    }

    #[test]
    fn the_characters_that_are_like_ascii_are_listed() {
        let found: Vec<u32> = (128..=crate::characters::LAST).filter(|&c| ignoring_case(c) != 0).collect();
        assert_eq!(found, LIKE_ASCII);
    }

    #[test]
    fn names_of_tags_that_end_a_line_are_compared_as_python_does() {
        let found = ["BR", "h6", "h7", "Dıv", "dİv", "blocKquote", "tD", "table", "tables", "blockquotes", "b"];
        let expected = [true, true, false, true, true, true, true, true, false, false, false];
        assert_eq!(found.map(|name| ends_line(&points(name))), expected);
    }

    #[test]
    fn an_address_ends_before_the_marks_of_its_sentence() {
        let mut text = points("See http://a.b/c). WWW.x, xhttp://c www. aaaaaaaaaaaaaaaaa.bc://d");
        assert!(leave_out_addresses(&mut text));
        let shown: String = text.iter().map(|&c| if c == NAMED { 'N' } else { char::from_u32(c).unwrap() }).collect();
        assert_eq!(shown, "See N           ). N    , N         www. aaaaaaaaaaaaaaaaa.N     ");
    }
}
