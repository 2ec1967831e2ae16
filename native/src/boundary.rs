//! The functions that Python calls through ctypes. No panic leaves them, and every number that comes in is checked.
//!
//! Handles are pointers that Python gets here, gives back unchanged, and frees once: `rules/native/reader.py` keeps
//! each in one object that lives as long as anything refers to it.

#![allow(unsafe_code)]

use crate::characters::{Characters, LAST};
use crate::cosine::Counter;
use crate::detection::Detector;
use crate::input::Problem;
use crate::learned::Model;
use crate::matcher::{Matcher, Refused, Selection};
use std::panic::{catch_unwind, AssertUnwindSafe};

const INTERFACE: u32 = 4;
const DONE: u32 = 0;
const DECLINED: u32 = 1; // a character that Python must normalise
const EXHAUSTED: u32 = 2; // more steps than a text may take
const NOT_REACHED: u32 = 3; // the call had its share of steps: Python asks again
const STEPS_OF_CALL: u64 = 50_000_000; // about a quarter of a second

const OK: i32 = 0;
const FAILED: i32 = 1;
const PANICKED: i32 = 2;

/// Numbers that go to Python, which gives them back to `synthesis_free`.
#[repr(C)]
pub struct Numbers {
    data: *mut u32,
    length: usize,
    capacity: usize,
}

impl Numbers {
    fn put(&mut self, numbers: Vec<u32>) {
        let mut numbers = std::mem::ManuallyDrop::new(numbers);
        (self.data, self.length, self.capacity) = (numbers.as_mut_ptr(), numbers.len(), numbers.capacity());
    }

    fn put_text(&mut self, text: &str) {
        self.put(text.chars().map(u32::from).collect());
    }
}

/// Runs `work` and puts what it returns into `answer`: numbers, or in words what went wrong.
fn answered(answer: &mut Numbers, work: impl FnOnce() -> Result<Vec<u32>, Problem>) -> i32 {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(numbers)) => {
            answer.put(numbers);
            OK
        }
        Ok(Err(problem)) => {
            answer.put_text(&problem);
            FAILED
        }
        Err(payload) => {
            let text = payload.downcast_ref::<String>().map(String::as_str);
            answer.put_text(text.or(payload.downcast_ref::<&str>().copied()).unwrap_or("a panic"));
            PANICKED
        }
    }
}

/// # Safety
/// `data` points at `length` numbers, or `length` is 0.
unsafe fn numbers<'a>(data: *const u32, length: usize) -> &'a [u32] {
    if length == 0 { &[] } else { std::slice::from_raw_parts(data, length) }
}

fn handle<T>(made: T, place: &mut *mut T) -> Vec<u32> {
    *place = Box::into_raw(Box::new(made));
    Vec::new()
}

/// The version of this interface; Python compares it before anything else.
#[no_mangle]
pub extern "C" fn synthesis_interface() -> u32 {
    // A panic becomes an exception in Python, so the usual message on standard error would only disturb.
    std::panic::set_hook(Box::new(|_| {}));
    INTERFACE
}

/// # Safety
/// `data` and `length` as for `numbers`; `made` and `answer` point at places to write to.
#[no_mangle]
pub unsafe extern "C" fn synthesis_characters(
    data: *const u32, length: usize, made: *mut *mut Characters, answer: *mut Numbers,
) -> i32 {
    answered(&mut *answer, || Ok(handle(Characters::load(numbers(data, length))?, &mut *made)))
}

/// # Safety
/// As above; `characters` is a handle.
#[no_mangle]
pub unsafe extern "C" fn synthesis_matcher(
    characters: *const Characters, data: *const u32, length: usize, made: *mut *mut Matcher, answer: *mut Numbers,
) -> i32 {
    answered(&mut *answer, || Ok(handle(Matcher::load(numbers(data, length), &*characters)?, &mut *made)))
}

/// # Safety
/// As above; `matcher` is a handle.
#[no_mangle]
pub unsafe extern "C" fn synthesis_select(
    matcher: *const Matcher, data: *const u32, length: usize, made: *mut *mut Selection, answer: *mut Numbers,
) -> i32 {
    answered(&mut *answer, || Ok(handle((*matcher).select(numbers(data, length))?, &mut *made)))
}

/// Reads texts that stand one behind the other; `ends` says where each ends.
///
/// The answer has five numbers for each text (what became of it, how many hits, how many sentences, its anchor's start
/// and end), then four for each hit (rule, wording, start, end), then two for each sentence.
///
/// # Safety
/// As above; `selection` was made from `matcher`, `text` has `length` and `ends` has `count` numbers.
#[no_mangle]
pub unsafe extern "C" fn synthesis_read(
    characters: *const Characters, matcher: *const Matcher, selection: *const Selection,
    text: *const u32, length: usize, ends: *const u32, count: usize, answer: *mut Numbers,
) -> i32 {
    let (text, ends) = (numbers(text, length), numbers(ends, count));
    answered(&mut *answer, || read(&*characters, &*matcher, &*selection, text, ends))
}

/// The texts one by one, after every place and character was checked.
fn split<'t>(text: &'t [u32], ends: &[u32]) -> Result<Vec<&'t [u32]>, Problem> {
    if text.len() > u32::MAX as usize / 2 || text.iter().any(|&c| c > LAST) {
        return Err("the texts are not code points".into());
    }
    let mut start = 0;
    let parts = ends.iter().map(|&end| {
        let part = text.get(start..end as usize).ok_or("a text ends before it begins, or beyond all texts")?;
        start = end as usize;
        Ok(part)
    });
    parts.collect()
}

fn read(
    characters: &Characters, matcher: &Matcher, selection: &Selection, text: &[u32], ends: &[u32],
) -> Result<Vec<u32>, Problem> {
    let texts = split(text, ends)?;
    let mut scratch = matcher.scratch();
    let (mut heads, mut hits, mut sentences) = (Vec::with_capacity(ends.len() * 5), Vec::new(), Vec::new());
    for original in texts {
        if scratch.steps() > STEPS_OF_CALL {
            heads.extend([NOT_REACHED, 0, 0, 0, 0]);
            continue;
        }
        match matcher.read(original, selection, characters, &mut scratch) {
            Ok(()) => {
                let read = &scratch.text;
                let anchor = read.span(0, read.anchor_end());
                let counts = [scratch.hits.len(), read.sentences.len(), anchor.0, anchor.1].map(|number| number as u32);
                heads.push(DONE);
                heads.extend(counts);
                for hit in &scratch.hits {
                    hits.extend([hit.rule, hit.wording, hit.start as u32, hit.end as u32]);
                }
                for &(first, last) in &read.sentences {
                    let span = read.span(first, last);
                    sentences.extend([span.0 as u32, span.1 as u32]);
                }
            }
            Err(Refused::Character) => heads.extend([DECLINED, 0, 0, 0, 0]),
            Err(Refused::Steps) => heads.extend([EXHAUSTED, 0, 0, 0, 0]),
        }
    }
    heads.append(&mut hits);
    heads.append(&mut sentences);
    Ok(heads)
}

/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn synthesis_detector(
    data: *const u32, length: usize, made: *mut *mut Detector, answer: *mut Numbers,
) -> i32 {
    answered(&mut *answer, || Ok(handle(Detector::load(numbers(data, length))?, &mut *made)))
}

/// The language of each text and how it was decided: two numbers each, or twice u32::MAX where Python must say.
///
/// # Safety
/// As above; `detector` is a handle.
#[no_mangle]
pub unsafe extern "C" fn synthesis_detect(
    characters: *const Characters, detector: *const Detector,
    text: *const u32, length: usize, ends: *const u32, count: usize, answer: *mut Numbers,
) -> i32 {
    let (text, ends) = (numbers(text, length), numbers(ends, count));
    answered(&mut *answer, || {
        let texts = split(text, ends)?;
        let found = texts.iter().flat_map(|text| match (*detector).detect(text, &*characters) {
            Some((language, how)) => [language, how as u32],
            None => [u32::MAX; 2],
        });
        Ok(found.collect())
    })
}

/// How alike each text and the one before it are, for every second text: four numbers each, what they share, the square
/// of each, and whether they are equal (0 or 1; 2 where Python must say).
///
/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn synthesis_compare(
    characters: *const Characters, text: *const u32, length: usize, ends: *const u32, count: usize, answer: *mut Numbers,
) -> i32 {
    let (text, ends) = (numbers(text, length), numbers(ends, count));
    answered(&mut *answer, || {
        let mut counter = Counter::new(&*characters);
        let texts = split(text, ends)?;
        let found = texts.chunks_exact(2).flat_map(|pair| match counter.count(pair[0], pair[1]) {
            Ok(counted) => [counted.shared, counted.left, counted.right, counted.equal as u32],
            Err(_) => [0, 0, 0, 2],
        });
        Ok(found.collect())
    })
}

/// A model of the learned reader from the content of a file of weights; `numbers` say what is where.
///
/// # Safety
/// As above; `content` points at `size` bytes, which stay there unchanged as long as the handle.
#[no_mangle]
pub unsafe extern "C" fn synthesis_model(
    data: *const u32, length: usize, content: *const u8, size: usize, made: *mut *mut Model<'static>, answer: *mut Numbers,
) -> i32 {
    let content = if size == 0 { &[] } else { std::slice::from_raw_parts(content, size) };
    answered(&mut *answer, || Ok(handle(Model::load(numbers(data, length), content)?, &mut *made)))
}

/// The scores of each text as 64-bit numbers: two for each head, or one where `replies` has a 1.
///
/// # Safety
/// As above; `model` is a handle, `replies` has `number` numbers.
#[no_mangle]
pub unsafe extern "C" fn synthesis_scores(
    model: *const Model<'static>, text: *const u32, length: usize, ends: *const u32, count: usize,
    replies: *const u32, number: usize, answer: *mut Numbers,
) -> i32 {
    let (text, ends, replies) = (numbers(text, length), numbers(ends, count), numbers(replies, number));
    answered(&mut *answer, || {
        let texts = split(text, ends)?;
        if texts.len() != replies.len() {
            return Err(format!("{} texts and {} sides", texts.len(), replies.len()));
        }
        let (mut scratch, mut found) = ((*model).scratch(), Vec::new());
        for (text, &is_reply) in texts.into_iter().zip(replies) {
            (*model).scores(text, is_reply != 0, &mut scratch, &mut found);
        }
        (*model).put_back(scratch);
        Ok(found.into_iter().flat_map(halves).collect())
    })
}

/// For each token of a text what it adds to the score of a head, as 64-bit numbers: its start, its end, the amount.
///
/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn synthesis_contributions(
    model: *const Model<'static>, text: *const u32, length: usize, segment: u32, head: u32, answer: *mut Numbers,
) -> i32 {
    let text = numbers(text, length);
    answered(&mut *answer, || {
        split(text, &[])?;
        let mut scratch = (*model).scratch();
        let found = (*model).contributions(text, segment as usize, head as usize, &mut scratch)?;
        (*model).put_back(scratch);
        Ok(found.into_iter().flat_map(|(start, end, amount)| [start.into(), end.into(), amount]).flat_map(halves).collect())
    })
}

/// A 64-bit number as two of 32 bits, which stand in memory as it would.
fn halves(number: i64) -> [u32; 2] {
    let (low, high) = (number as u32, (number >> 32) as u32);
    if cfg!(target_endian = "little") { [low, high] } else { [high, low] }
}

/// # Safety
/// `numbers` came from this library and is not used after.
#[no_mangle]
pub unsafe extern "C" fn synthesis_free(numbers: *mut Numbers) {
    let Numbers { data, length, capacity } = &mut *numbers;
    if !data.is_null() {
        drop(Vec::from_raw_parts(*data, *length, *capacity));
        *data = std::ptr::null_mut();
    }
}

/// # Safety
/// Each pointer is a handle that is not used after.
#[no_mangle]
pub unsafe extern "C" fn synthesis_free_characters(handle: *mut Characters) {
    drop(Box::from_raw(handle));
}

/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn synthesis_free_matcher(handle: *mut Matcher) {
    drop(Box::from_raw(handle));
}

/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn synthesis_free_detector(handle: *mut Detector) {
    drop(Box::from_raw(handle));
}

/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn synthesis_free_selection(handle: *mut Selection) {
    drop(Box::from_raw(handle));
}

/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn synthesis_free_model(handle: *mut Model<'static>) {
    drop(Box::from_raw(handle));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_words() {
        let mut answer = Numbers { data: std::ptr::null_mut(), length: 0, capacity: 0 };
        let status = answered(&mut answer, || panic!("out of range"));
        let text: String = unsafe { numbers(answer.data, answer.length) }.iter().filter_map(|&c| char::from_u32(c)).collect();
        unsafe { synthesis_free(&mut answer) };
        assert_eq!((status, text.as_str()), (PANICKED, "out of range"));
    }
}
