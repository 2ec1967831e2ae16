//! Sentences, quotations and the items of lists, found in the normal form; the same as `rules/text.py` finds.

use crate::characters::{Characters, DECIMAL, SPACE};
use crate::text::{is_bullet, is_one_of, Span};

const LINE_FEED: u32 = 10;
const LONGEST_QUOTATION: usize = 400;
const LONGEST_PART: usize = 200; // of a quotation in single quotes, between apostrophes
const MOST_APOSTROPHES: usize = 3;

/// Start and end of each sentence, its end mark included.
pub fn find(normal: &[u32], spaced: bool, characters: &Characters, found: &mut Vec<Span>) {
    found.clear();
    let is_stop = |c: u32| c == u32::from('।') || (!spaced && is_one_of(c, "。!?"));
    let run = |start: usize, fits: &dyn Fn(u32) -> bool| start + normal[start..].iter().take_while(|&&c| fits(c)).count();
    let mut at = 0;
    while at < normal.len() {
        if normal[at] == LINE_FEED {
            at += 1;
            continue;
        }
        let start = at;
        let words = run(start, &|c| c != LINE_FEED && !is_stop(c));
        at = run(words, &is_stop);
        if words > start {
            at = run(at, &|c| is_one_of(c, "\"')"));
        }
        if !normal[start..at].iter().all(|&c| characters.is(c, SPACE)) {
            found.push(stripped(&normal[..at], start, characters));
        }
    }
}

/// Without white space, and without a list mark or an opening quote in front.
fn stripped(normal: &[u32], start: usize, characters: &Characters) -> Span {
    let is_space = |at: usize| normal.get(at).is_some_and(|&c| characters.is(c, SPACE));
    let mut begins = start;
    while is_space(begins) {
        begins += 1;
    }
    begins = item_mark(normal, begins, characters).unwrap_or(begins);
    while normal.get(begins).is_some_and(|&c| is_one_of(c, "\"'(¿¡")) {
        begins += 1;
    }
    let begins = if begins < normal.len() { begins } else { start };
    let mut end = normal.len();
    while end > begins && is_space(end - 1) {
        end -= 1;
    }
    (begins, end)
}

/// Where the mark of a list item or a heading ends, with the space behind it.
fn item_mark(normal: &[u32], start: usize, characters: &Characters) -> Option<usize> {
    let up_to = |from: usize, most: usize, fits: &dyn Fn(u32) -> bool| {
        from + normal[from..].iter().take(most).take_while(|&&c| fits(c)).count()
    };
    let spaces = |from: usize| Some(up_to(from, usize::MAX, &|c| characters.is(c, SPACE))).filter(|&to| to > from);
    let bullets = up_to(start, usize::MAX, &is_bullet);
    if bullets > start {
        return spaces(bullets);
    }
    let heading = up_to(start, 6, &|c| c == u32::from('#'));
    if heading > start {
        return spaces(heading);
    }
    let bracket = up_to(start, 1, &|c| c == u32::from('('));
    let digits = up_to(bracket, 2, &|c| characters.is(c, DECIMAL));
    let behind = up_to(digits, 1, &|c| is_one_of(c, ".)"));
    if digits > bracket && behind > digits { spaces(behind) } else { None }
}

/// Spans inside quotation marks; a reply that is quoted as a whole quotes nobody.
pub fn quotations(normal: &[u32], characters: &Characters) -> Vec<Span> {
    let blank = |c: &&u32| characters.is(**c, SPACE);
    let in_front = normal.iter().take_while(blank).count();
    let behind = normal[in_front..].iter().rev().take_while(blank).count();
    let whole = (normal.len() - in_front - behind).saturating_sub(2);
    let mut found = Vec::new();
    let mut at = 0;
    while at < normal.len() {
        let end = match char::from_u32(normal[at]) {
            Some('"') => double_quoted(normal, at),
            Some('\'') => single_quoted(normal, at, characters),
            _ => None,
        };
        if let Some(end) = end.filter(|&end| end - at < whole) {
            found.push((at, end));
        }
        at = end.unwrap_or(at + 1);
    }
    found
}

fn double_quoted(normal: &[u32], start: usize) -> Option<usize> {
    let end = start + 1 + inside(normal, start + 1, u32::from('"'))?;
    (end > start + 1 && end - start - 1 <= LONGEST_QUOTATION).then_some(end + 1)
}

/// An apostrophe with a letter behind it belongs to the words quoted; any other ends the quotation.
fn single_quoted(normal: &[u32], start: usize, characters: &Characters) -> Option<usize> {
    let is_letter = |at: usize| normal.get(at).is_some_and(|&c| characters.is_alphanumeric_or_underscore(c));
    if (start > 0 && is_letter(start - 1)) || !is_letter(start + 1) {
        return None;
    }
    let mut at = start + 1;
    for apostrophes in 0..=MOST_APOSTROPHES {
        let length = inside(normal, at, u32::from('\''))?;
        if length > LONGEST_PART + usize::from(apostrophes > 0) {
            return None;
        }
        at += length + 1;
        if !is_letter(at) {
            return Some(at);
        }
    }
    None
}

/// How many characters stand before the mark that closes a quotation on the same line.
fn inside(normal: &[u32], start: usize, mark: u32) -> Option<usize> {
    let length = normal[start..].iter().take_while(|&&c| c != mark && c != LINE_FEED).count();
    (normal.get(start + length) == Some(&mark)).then_some(length)
}

/// The first sentence of each item of a bulleted or numbered list.
pub fn list_items(normal: &[u32], characters: &Characters) -> Vec<Span> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in normal.split(|&c| c == LINE_FEED) {
        if is_item(line, characters) {
            found.push((start, start + line.len()));
        }
        start += line.len() + 1;
    }
    found
}

fn is_item(line: &[u32], characters: &Characters) -> bool {
    let up_to = |from: usize, most: usize, fits: &dyn Fn(u32) -> bool| {
        from + line[from..].iter().take(most).take_while(|&&c| fits(c)).count()
    };
    let is = |at: usize, wanted: &str| line.get(at).is_some_and(|&c| is_one_of(c, wanted));
    let goes_on = |at: usize| line.get(at).is_some_and(|&c| !characters.is(c, SPACE));
    let Some(&first) = line.first() else { return false };
    if is_bullet(first) {
        return is(1, " ") && goes_on(2);
    }
    if first == u32::from('・') {
        return goes_on(1);
    }
    let bracket = up_to(0, 1, &|c| c == u32::from('('));
    let digits = up_to(bracket, 2, &|c| characters.is(c, DECIMAL));
    if digits > bracket {
        let spaced = is(digits, ".)") && is(digits + 1, " ") && goes_on(digits + 2);
        return spaced || (is(digits, "、)") && goes_on(digits + 1));
    }
    let numeral = up_to(0, 2, &|c| is_one_of(c, "一二三四五六七八九十"));
    numeral > 0 && is(numeral, "、") && goes_on(numeral + 1)
}
