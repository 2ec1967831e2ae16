//! The functions that Python calls through ctypes. No panic leaves them, and every number that comes in is checked.
//!
//! Handles are pointers that Python gets here, gives back unchanged, and frees once: `rules/native/reader.py` keeps
//! each in one object that lives as long as anything refers to it.

#![allow(unsafe_code)]

mod probes;

use crate::cases::{Asked, Origin};
use crate::characters::{Characters, LAST};
use crate::detection::{Detector, Memory};
use crate::input::{Problem, Section};
use crate::kernel::{Answer, Form, Kernel, LineAnswer, Options, Status};
use crate::learned::Model;
use crate::matcher::{Matcher, Side};
use crate::program::Program;
use crate::required::hash_of_bytes;
use crate::text::Text;
use crate::verdicts::RANKS;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Arc;

const INTERFACE: u32 = 7;
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

/// # Safety
/// `data` points at `length` bytes, or `length` is 0.
unsafe fn bytes<'a>(data: *const u8, length: usize) -> &'a [u8] {
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

/// What the images that this library makes depend on beside their programs: a number made of the code that makes them.
#[no_mangle]
pub extern "C" fn synthesis_build() -> u64 {
    const SOURCES: [&[u8]; 7] = [
        include_bytes!("../code.rs"),
        include_bytes!("../image.rs"),
        include_bytes!("../looks.rs"),
        include_bytes!("../machine.rs"),
        include_bytes!("../program.rs"),
        include_bytes!("../required.rs"),
        include_bytes!("../selection.rs"),
    ];
    SOURCES.iter().fold(0, |build, source| build ^ hash_of_bytes(source).rotate_left(9))
}

/// # Safety
/// `data` and `length` as for `numbers`; `made` and `answer` point at places to write to.
#[no_mangle]
pub unsafe extern "C" fn synthesis_characters(
    data: *const u32, length: usize, made: *mut *mut Arc<Characters>, answer: *mut Numbers,
) -> i32 {
    answered(&mut *answer, || Ok(handle(Arc::new(Characters::load(numbers(data, length))?), &mut *made)))
}

/// The image of a program, as numbers; `sides` are the rules of messages, of replies and of messages in cases, as lists.
///
/// # Safety
/// As above; `characters` is a handle, `sides` has `count` numbers.
#[no_mangle]
pub unsafe extern "C" fn synthesis_image(
    characters: *const Arc<Characters>, data: *const u32, length: usize, sides: *const u32, count: usize,
    answer: *mut Numbers,
) -> i32 {
    let (data, sides) = (numbers(data, length), numbers(sides, count));
    answered(&mut *answer, || {
        let mut section = Section::of(sides);
        let sides = [section.list()?, section.list()?, section.list()?];
        section.end()?;
        Program::load(data, &*characters)?.image(sides, &*characters)
    })
}

/// What reads the texts of a language, from its image.
///
/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn synthesis_matcher(
    characters: *const Arc<Characters>, data: *const u32, length: usize, made: *mut *mut Arc<Matcher>, answer: *mut Numbers,
) -> i32 {
    answered(&mut *answer, || Ok(handle(Arc::new(Matcher::load(numbers(data, length), &*characters)?), &mut *made)))
}

/// Reads texts that stand one behind the other; `ends` says where each ends.
///
/// The answer has five numbers for each text (what became of it, how many hits, how many sentences, its anchor's start
/// and end), then four for each hit (rule, wording, start, end), then two for each sentence.
///
/// # Safety
/// As above; `matcher` is a handle, `text` has `length` and `ends` has `count` numbers.
#[no_mangle]
pub unsafe extern "C" fn synthesis_read(
    characters: *const Arc<Characters>, matcher: *const Arc<Matcher>, is_reply: u32,
    text: *const u32, length: usize, ends: *const u32, count: usize, answer: *mut Numbers,
) -> i32 {
    let (text, ends) = (numbers(text, length), numbers(ends, count));
    let side = if is_reply != 0 { Side::Reply } else { Side::Message };
    answered(&mut *answer, || read(&*characters, &*matcher, side, text, ends))
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
    characters: &Characters, matcher: &Matcher, side: Side, text: &[u32], ends: &[u32],
) -> Result<Vec<u32>, Problem> {
    let texts = split(text, ends)?;
    let (mut scratch, mut read) = (matcher.scratch(), Text::default());
    let (mut heads, mut hits, mut sentences) = (Vec::with_capacity(ends.len() * 5), Vec::new(), Vec::new());
    for original in texts {
        if scratch.steps() > STEPS_OF_CALL {
            heads.extend([NOT_REACHED, 0, 0, 0, 0]);
            continue;
        }
        scratch.add_steps(original.len() as u64);
        if read.read(original, &matcher.language, characters).is_err() {
            heads.extend([DECLINED, 0, 0, 0, 0]);
            continue;
        }
        if matcher.read(&mut read, side, characters, &mut scratch).is_err() {
            heads.extend([EXHAUSTED, 0, 0, 0, 0]);
            continue;
        }
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
    heads.append(&mut hits);
    heads.append(&mut sentences);
    Ok(heads)
}

/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn synthesis_detector(
    data: *const u32, length: usize, made: *mut *mut Arc<Detector>, answer: *mut Numbers,
) -> i32 {
    answered(&mut *answer, || Ok(handle(Arc::new(Detector::load(numbers(data, length))?), &mut *made)))
}

/// The language of each text and how it was decided, two numbers each; `sizes` says how many texts each conversation
/// has. Twice u32::MAX for all texts of one that Python must look at.
///
/// # Safety
/// As above; `detector` is a handle, `sizes` has `number` numbers.
#[no_mangle]
pub unsafe extern "C" fn synthesis_detect(
    characters: *const Arc<Characters>, detector: *const Arc<Detector>, text: *const u32, length: usize,
    ends: *const u32, count: usize, sizes: *const u32, number: usize, answer: *mut Numbers,
) -> i32 {
    let (text, ends, sizes) = (numbers(text, length), numbers(ends, count), numbers(sizes, number));
    answered(&mut *answer, || detect(&*characters, &*detector, text, ends, sizes))
}

fn detect(
    characters: &Characters, detector: &Detector, text: &[u32], ends: &[u32], sizes: &[u32],
) -> Result<Vec<u32>, Problem> {
    let mut texts = &split(text, ends)?[..];
    let (mut memory, mut found) = (Memory::default(), Vec::with_capacity(ends.len() * 2));
    for &size in sizes {
        let own = texts.get(..size as usize).ok_or("a conversation has more texts than there are")?;
        texts = &texts[own.len()..];
        match detector.conversation(own.iter().copied(), characters, &mut memory) {
            Some(detected) => found.extend(detected.into_iter().flat_map(|(language, how)| [language, how as u32])),
            None => found.extend(std::iter::repeat(u32::MAX).take(own.len() * 2)),
        }
    }
    Ok(found)
}

/// A model of the learned reader from the content of a file of weights; `numbers` say what is where.
///
/// # Safety
/// As above; `content` points at `size` bytes, which stay there unchanged as long as the handle.
#[no_mangle]
pub unsafe extern "C" fn synthesis_model(
    data: *const u32, length: usize, content: *const u8, size: usize, made: *mut *mut Arc<Model<'static>>, answer: *mut Numbers,
) -> i32 {
    let content = bytes(content, size);
    answered(&mut *answer, || Ok(handle(Arc::new(Model::load(numbers(data, length), content)?), &mut *made)))
}

/// The scores of each text as 64-bit numbers: two for each head, or one where `replies` has a 1.
///
/// # Safety
/// As above; `model` is a handle, `replies` has `number` numbers.
#[no_mangle]
pub unsafe extern "C" fn synthesis_scores(
    model: *const Arc<Model<'static>>, text: *const u32, length: usize, ends: *const u32, count: usize,
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
    model: *const Arc<Model<'static>>, text: *const u32, length: usize, segment: u32, head: u32, answer: *mut Numbers,
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

/// A kernel from its set-up; `model` may be null. The answer names the checks whose tables only Python can run, one a line.
///
/// # Safety
/// As above; `setup` points at `size` bytes.
#[no_mangle]
pub unsafe extern "C" fn synthesis_kernel(
    setup: *const u8, size: usize, characters: *const Arc<Characters>, detector: *const Arc<Detector>,
    model: *const Arc<Model<'static>>, made: *mut *mut Kernel, answer: *mut Numbers,
) -> i32 {
    let (setup, model) = (bytes(setup, size), model.as_ref().cloned());
    answered(&mut *answer, || {
        let kernel = Kernel::load(setup, (*characters).clone(), (*detector).clone(), model)?;
        let undecided = kernel.undecided.chars().map(u32::from).collect();
        handle(kernel, &mut *made);
        Ok(undecided)
    })
}

/// Takes a language into a kernel; `rules` says what is to be known of the rules of the matcher.
///
/// # Safety
/// As above; `kernel` and `matcher` are handles, `rules` points at `size` bytes.
#[no_mangle]
pub unsafe extern "C" fn synthesis_add_language(
    kernel: *const Kernel, number: u32, matcher: *const Arc<Matcher>, rules: *const u8, size: usize, answer: *mut Numbers,
) -> i32 {
    let rules = bytes(rules, size);
    answered(&mut *answer, || (*kernel).add_language(number as usize, (*matcher).clone(), rules).map(|()| Vec::new()))
}

const READY: u32 = 1; // flags of a call
const KEEPS_TEXT: u32 = 2;
const FAILURES: u32 = 4;
const ONLY_FAILURES: u32 = 8;
const EXAMPLES: u32 = 16;
const RECORDS: u32 = 32;
const AS_LINES: u32 = 64;
const RESULTS: u32 = 128;

/// What came of a block, as Python reads it: `synthesis_parts` tells where each part is.
pub struct Answered {
    answer: Answer,
    summary: Vec<u64>,
    hashes: Vec<u64>,
    lines: Vec<u64>,
}

const PARTS: usize = 10 + RANKS;

/// Evaluates a block of lines. `data` are numbers: flags, the first line in two halves, the language of texts that do
/// not say theirs and 1, or 0; then checks to ask for in place of those that cases name, and of which alone, as lists.
///
/// # Safety
/// As above; `content` and `file` point at so many bytes. May be called by several threads at once.
#[no_mangle]
pub unsafe extern "C" fn synthesis_block(
    kernel: *const Kernel, content: *const u8, size: usize, file: *const u8, file_size: usize,
    data: *const u32, length: usize, made: *mut *mut Answered, answer: *mut Numbers,
) -> i32 {
    let (content, file, data) = (bytes(content, size), bytes(file, file_size), numbers(data, length));
    answered(&mut *answer, || Ok(handle(block(&*kernel, content, file, data)?, &mut *made)))
}

fn block(kernel: &Kernel, content: &[u8], file: &[u8], data: &[u32]) -> Result<Answered, Problem> {
    let mut section = Section::of(data);
    let flags = section.number()?;
    let has = |flag: u32| flags & flag != 0;
    let first_line = u64::from(section.number()?) | u64::from(section.number()?) << 32;
    let language = (section.below(kernel.tongues.len() + 1)? as usize).checked_sub(1);
    let mut checks = || Ok::<_, Problem>(section.list_below(kernel.checks.len())?.iter().map(|&check| check as usize).collect());
    let asked = Asked { instead: checks()?, only: checks()? };
    let (before, after): (&[u8], &[u8]) = if has(AS_LINES) { (b"", b"\n") } else { (b",\n    ", b"") };
    let options = Options {
        origin: Origin { file, is_ready: has(READY), asked: &asked },
        form: if has(RECORDS) { Form::Record } else if has(RESULTS) { Form::Result } else { Form::None },
        before,
        after,
        keeps_text: has(KEEPS_TEXT),
        failures: has(FAILURES),
        only_failures: has(ONLY_FAILURES),
        examples: has(EXAMPLES),
        language,
        first_line,
    };
    Ok(packed(kernel.block(content, &options)))
}

/// The summary: where the call stopped, how many lines it reached, a language that is missing and 1, or 0; how many lines
/// were deferred, each with the place where its record would be; then the lines whose labels are odd.
fn packed(answer: Answer) -> Answered {
    let is_deferred = |line: &&LineAnswer| line.status == Status::Deferred;
    let deferred: Vec<&LineAnswer> = answer.lines.iter().filter(is_deferred).collect();
    let missing = answer.missing.map_or(0, |language| language as u64 + 1);
    let mut summary = vec![answer.reached as u64, answer.reached_lines, missing, deferred.len() as u64];
    summary.extend(deferred.iter().flat_map(|line| [line.line, line.end as u64]));
    summary.extend(answer.lines.iter().filter(|line| line.is_odd).map(|line| line.line));
    let cases = answer.lines.iter().filter(|line| line.status != Status::Deferred);
    let (hashes, lines) = cases.map(|line| (line.hash, line.line)).unzip();
    Answered { answer, summary, hashes, lines }
}

/// A part of an answer: where it is in memory, and how many bytes it has.
#[repr(C)]
pub struct Part {
    start: *const u8,
    length: usize,
}

impl Part {
    fn of<T>(items: &[T]) -> Self {
        Self { start: items.as_ptr().cast(), length: std::mem::size_of_val(items) }
    }
}

/// The parts of an answer: summary, hashes of ids, their lines, records, ids, counts, examples, their lines and kinds,
/// places of deferred lines in the failures, and these by rank.
///
/// # Safety
/// `answered` is a handle; `parts` has room for all of them. They live as long as the handle.
#[no_mangle]
pub unsafe extern "C" fn synthesis_parts(answered: *const Answered, parts: *mut [Part; PARTS]) {
    let Answered { answer, summary, hashes, lines } = &*answered;
    let found = [
        Part::of(summary),
        Part::of(hashes),
        Part::of(lines),
        Part::of(&answer.records),
        Part::of(&answer.ids),
        Part::of(&answer.counts),
        Part::of(&answer.examples),
        Part::of(&answer.example_lines),
        Part::of(&answer.example_kinds),
        Part::of(&answer.gaps),
    ];
    let mut all = found.into_iter().chain(answer.failures.iter().map(|own| Part::of(own)));
    *parts = std::array::from_fn(|_| all.next().expect("there are as many"));
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
pub unsafe extern "C" fn synthesis_free_characters(handle: *mut Arc<Characters>) {
    drop(Box::from_raw(handle));
}

/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn synthesis_free_matcher(handle: *mut Arc<Matcher>) {
    drop(Box::from_raw(handle));
}

/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn synthesis_free_detector(handle: *mut Arc<Detector>) {
    drop(Box::from_raw(handle));
}

/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn synthesis_free_model(handle: *mut Arc<Model<'static>>) {
    drop(Box::from_raw(handle));
}

/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn synthesis_free_kernel(handle: *mut Kernel) {
    drop(Box::from_raw(handle));
}

/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn synthesis_free_block(handle: *mut Answered) {
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
