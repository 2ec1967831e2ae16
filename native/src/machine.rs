//! Runs patterns: ordered backtracking, so that of several ways through a text the one that `re` takes is found.

use crate::code::{begins_apart, look_ahead, may_be, Ahead, Code, Op};
use crate::characters::Characters;
use crate::image::Image;
use crate::input::{Problem, Sections};
use crate::looks::{Look, Looks, ANYTHING};
use std::collections::HashMap;

/// Steps at one place. The loader allows 100,000 by its own count; this stops what got past it.
const MOST_STEPS: u64 = 4_000_000;
/// Steps in one text, about a second, and in a long one, about five: a longer search is for Python, which can be
/// interrupted. They grow with the length, or a long text full of hits would be given up for its length alone and read
/// twice, the second time ten times as slowly.
const MOST_STEPS_IN_TEXT: u64 = 200_000_000;
const MOST_STEPS_IN_LONG_TEXT: u64 = 1_000_000_000;
const STEPS_OF_A_CHARACTER: u64 = 1_000;
const NOWHERE: u32 = u32::MAX;

/// A pattern took more steps than any that the loader accepts.
#[derive(Debug)]
pub struct Exhausted;

/// The part of a text that a pattern sees: nothing before `low`, nothing from `high` on.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub text: &'a [u32],
    pub is_word: &'a [bool],
    pub low: usize,
    pub high: usize,
}

impl View<'_> {
    #[inline(always)]
    fn next(&self, at: usize) -> Option<u32> {
        if at < self.high { Some(self.text[at]) } else { None }
    }

    #[inline(always)]
    pub fn is_inside_word(&self, at: usize) -> bool {
        at > self.low && at < self.high && self.is_word[at - 1] && self.is_word[at]
    }
}

/// How a match must end: anywhere, or before at most two marks at the end of the view.
#[derive(Clone, Copy, PartialEq)]
pub enum Ending {
    Anywhere,
    AtEnd,
}

#[derive(Clone, Copy)]
enum Frame {
    /// Another way, from a place.
    Resume { op: u32, at: u32, calls: u32 },
    /// A repetition that took as much as it could: one less.
    Fewer { op: u32, at: u32, least: u32, calls: u32 },
    /// A gap that took as little as it could: one more.
    More { op: u32, at: u32, most: u32, calls: u32 },
    /// A counter as it was before.
    Restore { register: u32, turns: u32, last: u32 },
}

/// What a run needs beside the code; kept from one to the next.
#[derive(Default)]
pub struct Machine {
    frames: Vec<Frame>,
    calls: Vec<(u32, u32)>, // where a call returns to, and the call around it
    registers: Vec<(u32, u32)>,
    pub steps: u64, // so far, in all texts
    limit: u64,     // for this text
    pub spent: Option<HashMap<usize, u64>>, // steps by the first instruction of a pattern, where somebody asks
}

impl Machine {
    pub fn begin_text(&mut self, length: usize) {
        let by_length = length as u64 * STEPS_OF_A_CHARACTER;
        self.limit = self.steps + by_length.clamp(MOST_STEPS_IN_TEXT, MOST_STEPS_IN_LONG_TEXT);
    }
}

/// The code of all patterns of a language, ready to run.
pub struct Patterns {
    code: Code,
    sets: Vec<Ahead>,
    looks: Looks,
    known: Vec<Look>, // that instructions name
}

/// What is known of the code while an image of it is made.
pub struct Beginnings {
    before: Vec<Ahead>,
    apart: Vec<bool>,
}

impl Beginnings {
    /// Whether every match of the pattern that begins with instruction `op` begins with a letter of a word.
    pub fn are_words(&self, op: usize) -> bool {
        !self.apart[op]
    }

    /// What the first character of a match can be.
    pub fn first(&self, op: usize) -> Ahead {
        self.before[op]
    }
}

impl Patterns {
    pub fn new(mut code: Code, characters: &Characters) -> (Self, Beginnings) {
        let (before, sets) = look_ahead(&mut code);
        let apart = begins_apart(&code, characters);
        let mut made = Self { code, sets, looks: Looks::default(), known: vec![ANYTHING] };
        made.look_around();
        (made, Beginnings { before, apart })
    }

    /// Finds what calls of lists, gaps and repetitions can be followed by.
    fn look_around(&mut self) {
        let mut numbers = HashMap::new();
        for number in 0..self.code.ops.len() {
            let ahead = match self.code.ops[number] {
                Op::Call { target, .. } => target as usize,
                Op::Lazy { .. } | Op::Greedy { .. } => number + 1,
                _ => continue,
            };
            let found = *numbers.entry(ahead).or_insert_with(|| {
                self.known.push(self.looks.of_place(&self.code, ahead));
                self.known.len() as u32 - 1
            });
            if let Op::Call { look, .. } | Op::Lazy { look, .. } | Op::Greedy { look, .. } = &mut self.code.ops[number] {
                *look = found;
            }
        }
    }

    pub fn put_into(&self, image: &mut Image) {
        image.put_from(self.sets.iter().flatten().flat_map(|&word| [word as u32, (word >> 32) as u32]));
        self.looks.put_into(image);
        image.put_from(self.known.iter().flat_map(Look::numbers));
        self.code.put_into(image);
    }

    pub fn load(sections: &mut Sections, characters: &Characters) -> Result<Self, Problem> {
        let sets = sections.next("sets")?.words()?;
        if sets.len() % 3 != 0 {
            return Err("the sets are cut off".into());
        }
        let sets: Vec<Ahead> = sets.chunks_exact(3).map(|set| [set[0], set[1], set[2]]).collect();
        let looks = Looks::load(sections)?;
        let known = sections.next("looks of the code")?.rows()?;
        let known = known.iter().map(|numbers| looks.look(numbers)).collect::<Result<Vec<_>, _>>()?;
        let code = Code::load_image(sections, characters, sets.len(), known.len())?;
        Ok(Self { code, sets, looks, known })
    }

    pub fn code(&self) -> &Code {
        &self.code
    }

    /// Whether what follows may begin at a place.
    #[inline(always)]
    fn may_follow(&self, look: u32, view: View, at: usize) -> bool {
        self.looks.may_follow(&self.known[look as usize], view.text, at, view.high)
    }

    pub fn len(&self) -> usize {
        self.code.ops.len()
    }

    pub fn machine(&self) -> Machine {
        Machine { registers: vec![(0, NOWHERE); self.code.registers], ..Machine::default() }
    }

    /// The end of the match that begins at `start`.
    pub fn run(
        &self, machine: &mut Machine, op: usize, view: View, start: usize, ending: Ending,
    ) -> Result<Option<usize>, Exhausted> {
        let before = machine.steps;
        let found = self.step_by_step(machine, op, view, start, ending);
        if let Some(spent) = &mut machine.spent {
            *spent.entry(op).or_insert(0) += machine.steps - before;
        }
        found
    }

    fn step_by_step(
        &self, machine: &mut Machine, op: usize, view: View, start: usize, ending: Ending,
    ) -> Result<Option<usize>, Exhausted> {
        let Machine { frames, calls, registers, steps, limit, .. } = machine;
        frames.clear();
        calls.clear();
        let ops = &self.code.ops[..];
        let (mut op, mut at, mut call) = (op, start, NOWHERE);
        let limit = (*steps + MOST_STEPS).min(*limit);
        loop {
            *steps += 1;
            if *steps > limit {
                return Err(Exhausted);
            }
            let fits = match ops[op] {
                Op::Char(c) => {
                    let fits = view.next(at) == Some(c);
                    at += 1;
                    op += 1;
                    fits
                }
                Op::Literal { at: from, length } => {
                    let letters = self.code.literal(from, length);
                    let end = at + letters.len();
                    let fits = end <= view.high && view.text[at..end].iter().zip(letters).all(|(one, other)| one == other);
                    at = end;
                    op += 1;
                    fits
                }
                Op::Class(class) => {
                    let fits = view.next(at).is_some_and(|c| self.code.classes[class as usize].has(c));
                    at += 1;
                    op += 1;
                    fits
                }
                Op::Edge => {
                    op += 1;
                    !view.is_inside_word(at)
                }
                Op::Split { other, here_set, other_set } => {
                    let next = view.next(at);
                    let here = may_be(&self.sets[here_set as usize], next);
                    let there = may_be(&self.sets[other_set as usize], next);
                    if here && there {
                        frames.push(Frame::Resume { op: other, at: at as u32, calls: call });
                    }
                    op = if here { op + 1 } else { other as usize };
                    here || there
                }
                Op::Jump(target) => {
                    op = target as usize;
                    true
                }
                Op::Switch { at: from, count } => {
                    let cases = self.code.switch(from, count);
                    match view.next(at).and_then(|c| target(cases, c)) {
                        Some(target) => {
                            op = target as usize;
                            true
                        }
                        None => false,
                    }
                }
                Op::Greedy { class, low, high, set, look } => {
                    let class = &self.code.classes[class as usize];
                    let (least, limit) = (at + low as usize, view.high.min(at + high as usize));
                    let mut end = at;
                    while end < limit && class.has(view.text[end]) {
                        end += 1;
                    }
                    op += 1;
                    match self.last_that_fits(view, least, end, set, look) {
                        Some(end) => {
                            if end > least {
                                let frame = Frame::Fewer { op: op as u32, at: end as u32, least: least as u32, calls: call };
                                frames.push(frame);
                            }
                            at = end;
                            true
                        }
                        None => false,
                    }
                }
                Op::Lazy { class, low, high, set, look } => {
                    let (least, most) = (at + low as usize, at + high as usize);
                    let has = |at: usize| view.next(at).is_some_and(|c| self.code.classes[class as usize].has(c));
                    let mut end = at;
                    while end < least && has(end) {
                        end += 1;
                    }
                    op += 1;
                    let found = if end < least { None } else { self.first_that_fits(view, end, most, set, look, has) };
                    if let Some(end) = found {
                        if end < most {
                            frames.push(Frame::More { op: op as u32, at: end as u32, most: most as u32, calls: call });
                        }
                        at = end;
                    }
                    found.is_some()
                }
                Op::Call { target, look } => {
                    let fits = self.may_follow(look, view, at);
                    if fits {
                        calls.push((op as u32 + 1, call));
                        call = calls.len() as u32 - 1;
                        op = target as usize;
                    }
                    fits
                }
                Op::Return => match calls.get(call as usize) {
                    Some(&(back, around)) => {
                        op = back as usize;
                        call = around;
                        true
                    }
                    None => false,
                },
                Op::Loop(register) => {
                    let (turns, last) = registers[register as usize];
                    frames.push(Frame::Restore { register, turns, last });
                    registers[register as usize] = (0, NOWHERE);
                    op += 1;
                    true
                }
                Op::Until { register, low, high, exit } => {
                    let register = u32::from(register);
                    let (turns, last) = registers[register as usize];
                    if turns < u32::from(low) {
                        frames.push(Frame::Restore { register, turns, last });
                        registers[register as usize] = (turns + 1, last);
                        op += 1;
                    } else if turns < u32::from(high) && at as u32 != last {
                        // One more turn, unless the last one took nothing; else out of it.
                        frames.push(Frame::Resume { op: exit, at: at as u32, calls: call });
                        frames.push(Frame::Restore { register, turns, last });
                        registers[register as usize] = (turns + 1, at as u32);
                        op += 1;
                    } else {
                        op = exit as usize;
                    }
                    true
                }
                Op::Match => {
                    if ending == Ending::Anywhere || is_at_end(view, at) {
                        return Ok(Some(at));
                    }
                    false
                }
            };
            if fits {
                continue;
            }
            // Back to the last place with another way.
            loop {
                let Some(frame) = frames.pop() else { return Ok(None) };
                match frame {
                    Frame::Resume { op: its, at: place, calls: open } => {
                        (op, at, call) = (its as usize, place as usize, open);
                        break;
                    }
                    Frame::Restore { register, turns, last } => registers[register as usize] = (turns, last),
                    Frame::Fewer { op: its, at: place, least, calls: open } => {
                        let Op::Greedy { set, look, .. } = ops[its as usize - 1] else { return Err(Exhausted) };
                        let Some(end) = self.last_that_fits(view, least as usize, place as usize - 1, set, look) else { continue };
                        if end > least as usize {
                            frames.push(Frame::Fewer { op: its, at: end as u32, least, calls: open });
                        }
                        (op, at, call) = (its as usize, end, open);
                        break;
                    }
                    Frame::More { op: its, at: place, most, calls: open } => {
                        let Op::Lazy { class, set, look, .. } = ops[its as usize - 1] else { return Err(Exhausted) };
                        let has = |at: usize| view.next(at).is_some_and(|c| self.code.classes[class as usize].has(c));
                        if !has(place as usize) {
                            continue;
                        }
                        let found = self.first_that_fits(view, place as usize + 1, most as usize, set, look, has);
                        let Some(end) = found else { continue };
                        if end < most as usize {
                            frames.push(Frame::More { op: its, at: end as u32, most, calls: open });
                        }
                        (op, at, call) = (its as usize, end, open);
                        break;
                    }
                }
            }
        }
    }

    /// From `end` back to `least`: the first place where what follows can begin.
    #[inline(always)]
    fn last_that_fits(&self, view: View, least: usize, end: usize, set: u32, look: u32) -> Option<usize> {
        let ahead = &self.sets[set as usize];
        (least..=end).rev().find(|&end| may_be(ahead, view.next(end)) && self.may_follow(look, view, end))
    }

    /// From `at` on, as far as the gap reaches: the first place where what follows can begin.
    #[inline(always)]
    fn first_that_fits(
        &self, view: View, mut at: usize, most: usize, set: u32, look: u32, has: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let ahead = &self.sets[set as usize];
        loop {
            if may_be(ahead, view.next(at)) && self.may_follow(look, view, at) {
                return Some(at);
            }
            if at >= most || !has(at) {
                return None;
            }
            at += 1;
        }
    }
}

#[inline(always)]
fn target(cases: &[(u32, u32)], c: u32) -> Option<u32> {
    if cases.len() <= 6 {
        return cases.iter().find(|case| case.0 == c).map(|case| case.1);
    }
    cases.binary_search_by_key(&c, |case| case.0).ok().map(|found| cases[found].1)
}

fn is_at_end(view: View, at: usize) -> bool {
    let behind = &view.text[at..view.high];
    behind.len() <= 2 && behind.iter().all(|&c| crate::text::is_one_of(c, " ,:\"'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(ops: Vec<Op>, registers: usize) -> Patterns {
        let mut code = Code { ops, letters: vec![], cases: vec![], classes: vec![], registers };
        let (_, sets) = look_ahead(&mut code);
        Patterns { code, sets, looks: Looks::default(), known: vec![ANYTHING] }
    }

    fn end_of(patterns: &Patterns, text: &str) -> Result<Option<usize>, Exhausted> {
        let text: Vec<u32> = text.chars().map(u32::from).collect();
        let is_word = vec![true; text.len()];
        let view = View { text: &text, is_word: &is_word, low: 0, high: text.len() };
        let mut machine = patterns.machine();
        machine.begin_text(text.len());
        patterns.run(&mut machine, 0, view, 0, Ending::Anywhere)
    }

    #[test]
    fn a_program_that_never_ends_is_given_up() {
        assert!(end_of(&patterns(vec![Op::Jump(0)], 0), "a").is_err());
        assert!(end_of(&patterns(vec![Op::Call { target: 0, look: 0 }, Op::Match], 0), "a").is_err());
    }

    #[test]
    fn a_return_without_a_call_fails() {
        assert_eq!(end_of(&patterns(vec![Op::Return], 0), "a").unwrap(), None);
    }

    #[test]
    fn turns_of_a_loop_are_counted_and_taken_back() {
        // (?:a){1,2}ab
        let (a, b) = (Op::Char(u32::from('a')), Op::Char(u32::from('b')));
        let until = Op::Until { register: 0, low: 1, high: 2, exit: 4 };
        let patterns = patterns(vec![Op::Loop(0), until, a, Op::Jump(1), a, b, Op::Match], 1);
        assert_eq!(end_of(&patterns, "aab").unwrap(), Some(3));
        assert_eq!(end_of(&patterns, "aaab").unwrap(), Some(4));
        assert_eq!(end_of(&patterns, "ab").unwrap(), None);
        assert_eq!(end_of(&patterns, "aaaab").unwrap(), None);
    }
}
