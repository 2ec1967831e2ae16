//! Single steps of the kernel, which Python calls to compare them with its own; nothing else calls them.

use super::{answered, halves, handle, numbers, split, Numbers};
use crate::characters::Characters;
use crate::drafts::Drafts;
use crate::helplines::Helplines;
use crate::marks::Marks;
use crate::matcher::{Matcher, Side};
use crate::prose::Prose;
use crate::shape::{self, Shape, TakenUp, Telling, Words};
use crate::spans::{Spans, Token};
use crate::text::{Span, Text};
use std::sync::Arc;

/// What of each first text is said to the person, where the second is the message that it replies to.
///
/// One number for each two texts: 0 where all of it is, 1 and then the text with blanks, 2 where Python must say.
///
/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn synthesis_prose(
    characters: *const Arc<Characters>, text: *const u32, length: usize, ends: *const u32, count: usize, answer: *mut Numbers,
) -> i32 {
    let (text, ends) = (numbers(text, length), numbers(ends, count));
    answered(&mut *answer, || {
        let (mut prose, mut found) = (Prose::default(), Vec::new());
        for pair in split(text, ends)?.chunks_exact(2) {
            match prose.read(pair[0], pair[1], &*characters) {
                Ok(None) => found.push(0),
                Ok(Some(text)) => {
                    found.push(1);
                    found.extend_from_slice(text);
                }
                Err(_) => found.push(2),
            }
        }
        Ok(found)
    })
}

/// The steps that each pattern takes on some texts: its number among all of the language, and its steps in two halves.
///
/// # Safety
/// As above; `matcher` is a handle.
#[no_mangle]
pub unsafe extern "C" fn synthesis_steps(
    characters: *const Arc<Characters>, matcher: *const Arc<Matcher>, is_reply: u32,
    text: *const u32, length: usize, ends: *const u32, count: usize, answer: *mut Numbers,
) -> i32 {
    let (text, ends) = (numbers(text, length), numbers(ends, count));
    let side = if is_reply != 0 { Side::Reply } else { Side::Message };
    answered(&mut *answer, || {
        let matcher: &Matcher = &*matcher;
        let (mut scratch, mut read) = (matcher.scratch(), Text::default());
        scratch.watch();
        for original in split(text, ends)? {
            if read.read(original, &matcher.language, &*characters).is_ok() {
                let _ = matcher.read(&mut read, side, &*characters, &mut scratch); // what it took until it was given up counts
            }
        }
        let found = matcher.steps_by_wording(side, &scratch).into_iter();
        Ok(found.flat_map(|(number, steps)| [number, steps as u32, (steps >> 32) as u32]).collect())
    })
}

/// The parts of a text that can be one to send: two numbers each. `spans` are openings and then closings.
///
/// # Safety
/// As above; `spans` has `size` numbers, of which the first `of_openings` are of openings.
#[no_mangle]
pub unsafe extern "C" fn synthesis_drafts(
    characters: *const Arc<Characters>, text: *const u32, length: usize, spans: *const u32, size: usize, of_openings: usize,
    answer: *mut Numbers,
) -> i32 {
    let (text, spans) = (numbers(text, length), numbers(spans, size));
    answered(&mut *answer, || {
        split(text, &[])?;
        let pairs = |part: &[u32]| part.chunks_exact(2).map(|span| (span[0] as usize, span[1] as usize)).collect::<Vec<Span>>();
        let (openings, closings) = spans.split_at(of_openings.min(size));
        let mut drafts = Drafts::default();
        let found = drafts.read(text, &pairs(openings), &pairs(closings), &*characters);
        Ok(found.iter().flat_map(|&(start, end)| [start as u32, end as u32]).collect())
    })
}

/// How each text is built: whether it holds code, from where on it is pasted (counted from 1; 0: nowhere), its
/// quotation marks and its question marks.
///
/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn synthesis_shape(
    characters: *const Arc<Characters>, text: *const u32, length: usize, ends: *const u32, count: usize, answer: *mut Numbers,
) -> i32 {
    let (text, ends) = (numbers(text, length), numbers(ends, count));
    answered(&mut *answer, || {
        let shapes = split(text, ends)?.into_iter().map(|text| Shape::of(text, &*characters)).flat_map(|shape| {
            let pasted = shape.pasted.map_or(0, |place| place + 1);
            [shape.holds_code as u32, pasted as u32, shape.quotes as u32, shape.questions as u32]
        });
        Ok(shapes.collect())
    })
}

/// What a reply takes up of a message: whether it only repeats it, how many families, and the places of the words.
///
/// The texts are the message in its normal form, or as spoken where no spaces part its words, the reply in the same
/// way, the everyday words of the message, as many as `everyday` says, and those of the reply.
///
/// # Safety
/// As above; `kinds` has four numbers: of message and reply whether they have spaces, and whether single ideographs tell.
#[no_mangle]
pub unsafe extern "C" fn synthesis_taken_up(
    characters: *const Arc<Characters>, text: *const u32, length: usize, ends: *const u32, count: usize,
    kinds: *const u32, number: usize, everyday: usize, answer: *mut Numbers,
) -> i32 {
    let (text, ends, kinds) = (numbers(text, length), numbers(ends, count), numbers(kinds, number));
    answered(&mut *answer, || {
        let texts = split(text, ends)?;
        if texts.len() < 2 + everyday || kinds.len() != 4 {
            return Err("these are no two texts with their everyday words".into());
        }
        let (of_user, of_reply) = texts[2..].split_at(everyday);
        let user = telling(texts[0], of_user, kinds[0] != 0, kinds[1] != 0, &*characters);
        let reply = telling(texts[1], of_reply, kinds[2] != 0, kinds[3] != 0, &*characters);
        let mut taken_up = TakenUp::default();
        taken_up.compare((texts[0], &user), (texts[1], &reply));
        let head = [taken_up.only_repeats as u32, taken_up.families(texts[1], kinds[2] != 0) as u32];
        Ok(head.into_iter().chain(taken_up.words.iter().flat_map(|&(start, end)| [start as u32, end as u32])).collect())
    })
}

fn telling(text: &[u32], everyday: &[&[u32]], spaced: bool, single: bool, characters: &Characters) -> Vec<Telling> {
    let mut found = Vec::new();
    if spaced {
        let everyday = Words::new(everyday.iter().copied());
        shape::telling_words(text, shape::words(text, characters), &everyday, &mut found);
    } else {
        let everyday = everyday.iter().copied().flatten().fold(Marks::EMPTY, |marks, &c| marks.with(c));
        shape::telling_characters(text, &everyday, single, &mut found);
    }
    found
}

/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn synthesis_helplines(
    characters: *const Arc<Characters>, data: *const u32, length: usize, made: *mut *mut Helplines, answer: *mut Numbers,
) -> i32 {
    answered(&mut *answer, || Ok(handle(Helplines::load(numbers(data, length), &*characters)?, &mut *made)))
}

/// The lines that each text names: how many, and their numbers; u32::MAX where Python must say.
///
/// # Safety
/// As above; `helplines` is a handle.
#[no_mangle]
pub unsafe extern "C" fn synthesis_named(
    characters: *const Arc<Characters>, helplines: *const Helplines,
    text: *const u32, length: usize, ends: *const u32, count: usize, answer: *mut Numbers,
) -> i32 {
    let (text, ends) = (numbers(text, length), numbers(ends, count));
    answered(&mut *answer, || {
        let (mut lines, mut found) = (Vec::new(), Vec::new());
        for text in split(text, ends)? {
            match (*helplines).named_in(text, &*characters, &mut lines) {
                Ok(()) => {
                    found.push(lines.len() as u32);
                    found.extend_from_slice(&lines);
                }
                Err(_) => found.push(u32::MAX),
            }
        }
        Ok(found)
    })
}

/// The words that a finding of the learned reader marks: start, end, and the amount in two halves, as 64-bit numbers.
///
/// # Safety
/// As above; `tokens` has `size` numbers, which are of 64 bits in two halves each: the total in two halves, then start,
/// end and amount of each token.
#[no_mangle]
pub unsafe extern "C" fn synthesis_spans(
    characters: *const Arc<Characters>, text: *const u32, length: usize, tokens: *const u32, size: usize, answer: *mut Numbers,
) -> i32 {
    let (text, tokens) = (numbers(text, length), numbers(tokens, size));
    answered(&mut *answer, || {
        split(text, &[])?;
        let wholes: Vec<i64> = tokens.chunks_exact(2).map(|pair| whole([pair[0], pair[1]])).collect();
        let Some((&[low, high], tokens)) = wholes.split_first_chunk() else { return Err("there is no total".into()) };
        let total = i128::from(high) << 64 | i128::from(low as u64);
        let tokens: Vec<Token> = tokens.chunks_exact(3).map(|token| (token[0] as u32, token[1] as u32, token[2])).collect();
        let mut spans = Spans::default();
        let found = spans.find(&tokens, text, total, &*characters).iter();
        Ok(found.flat_map(|&(start, end, amount)| [start.into(), end.into(), amount as i64, (amount >> 64) as i64]).flat_map(halves).collect())
    })
}


/// The other way round.
fn whole([first, second]: [u32; 2]) -> i64 {
    let [low, high] = if cfg!(target_endian = "little") { [first, second] } else { [second, first] };
    i64::from(low) | i64::from(high) << 32
}

/// # Safety
/// As above.
#[no_mangle]
pub unsafe extern "C" fn synthesis_free_helplines(handle: *mut Helplines) {
    drop(Box::from_raw(handle));
}
