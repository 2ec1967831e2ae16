//! What formulas ask about texts and about the learned reader; `checks/facts.py` and `checks/learned.py` say what each is.

use crate::conversation::{Conversation, Exchange, Hit, List, Role, Share, Str, Value, LEARNED, REPLY, USER};
use crate::cosine::Counter;
use crate::drafts::is_inside;
use crate::formulas::Interpreter;
use crate::json::rounded;
use crate::kernel::Kernel;
use crate::learned::Scratch;
use crate::message::Message;
use crate::shape::{telling_characters, telling_words, Shape, TakenUp, Telling};
use crate::spans::Spans;
use crate::tables::Fact;
use std::cmp::Reverse;

const LETTERS_OF_A_WORD: usize = 2; // in scripts without spaces
const FAMILY: usize = 4; // letters at least that kindred words share,
const ENDING: usize = 3; // and those that may differ
const EXACT: i64 = 1 << 53; // beyond it, a number of the learned reader is not exact as a float
const MOST_SEEN: usize = 8 << 20; // bytes of what is kept of a conversation to say what its words contribute
const MESSAGE: usize = 0; // segments of the learned reader
const ANSWER: usize = 1;
const EARLIER: usize = 2;

/// Buffers that facts are found with, kept from one conversation to the next.
#[derive(Default)]
pub struct Tools {
    pub counter: Counter,
    pub taken_up: TakenUp,
    pub telling: [Vec<Telling>; 2],
    pub spans: Spans,
    pub learned: Option<Box<Scratch>>,
}

/// What a reply takes up of its message.
#[derive(Clone, Copy)]
pub struct Taken {
    words: Value,
    only_repeats: bool,
}

impl Interpreter<'_> {
    pub fn fact_about_words(&mut self, fact: Fact, turn: usize) -> Value {
        match fact {
            Fact::Length => Value::Whole(self.length(turn) as i64),
            Fact::TakenUp => self.taken_up(turn).words,
            Fact::OnlyRepeats => Value::Truth(self.taken_up(turn).only_repeats),
            Fact::SpeaksBesideText => Value::Truth(self.speaks_beside_text(turn)),
            Fact::Helplines => self.helplines(turn),
            Fact::QuestionMarks => Value::Whole(self.shape(turn).questions as i64),
            Fact::QuotationMarks => Value::Whole(self.shape(turn).quotes as i64),
            Fact::HoldsCode => Value::Truth(self.shape(turn).holds_code),
            Fact::HoldsMaterial => Value::Truth(self.holds_material(turn)),
            _ => self.refuse(),
        }
    }

    fn shape(&mut self, turn: usize) -> Shape {
        let characters = &self.kernel.characters;
        let exchange = &mut self.conversation.exchanges[turn];
        let Exchange { shape, sides, .. } = exchange;
        *shape.get_or_insert_with(|| Shape::of(&sides[USER].points, characters))
    }

    /// Material under an instruction. A person's own message has paragraphs, too, but speaks of them in the first.
    fn holds_material(&mut self, turn: usize) -> bool {
        let Some(start) = self.shape(turn).pasted else { return false };
        let Some(signal) = self.kernel.speaks_of_self else { return true };
        let Value::Hits(list) = self.hits_of(signal, turn) else { return true };
        let conversation = &self.conversation;
        !conversation.hits(list).iter().any(|&hit| (conversation.hits[hit as usize].start as usize) < start)
    }

    fn length(&self, turn: usize) -> usize {
        let reply = self.conversation.message(turn, REPLY);
        if self.kernel.tongues[reply.language].spaced {
            return reply.normal.words.len();
        }
        reply.normal.words.iter().map(|(start, end)| end - start).sum::<usize>() / LETTERS_OF_A_WORD
    }

    fn speaks_beside_text(&self, turn: usize) -> bool {
        let Exchange { drafts, sides, .. } = &self.conversation.exchanges[turn];
        let said = sides[REPLY].said().iter().enumerate();
        let characters = &self.kernel.characters;
        !drafts.is_empty() && { said }.any(|(at, &c)| characters.is_word(c) && !is_inside(drafts, at))
    }

    fn taken_up(&mut self, turn: usize) -> Taken {
        if let Some(known) = self.conversation.exchanges[turn].taken_up {
            return known;
        }
        for side in [USER, REPLY] {
            self.find_telling(turn, side);
        }
        let Tools { taken_up, telling, .. } = &mut *self.tools;
        let sides = &self.conversation.exchanges[turn].sides;
        let texts = [USER, REPLY].map(|side| text_of_telling(&sides[side], self.kernel));
        taken_up.compare((texts[USER], &telling[USER]), (texts[REPLY], &telling[REPLY]));
        let words: Vec<Vec<u8>> = taken_up.words.iter().map(|&(start, end)| utf8(&texts[REPLY][start..end])).collect();
        let words: Vec<Str> = words.into_iter().map(|word| self.conversation.make(word)).collect();
        let found = Taken { words: self.texts(&words), only_repeats: self.tools.taken_up.only_repeats };
        self.conversation.exchanges[turn].taken_up = Some(found);
        found
    }

    fn find_telling(&mut self, turn: usize, side: usize) {
        let message = &self.conversation.exchanges[turn].sides[side];
        let tongue = &self.kernel.tongues[message.language];
        let found = &mut self.tools.telling[side];
        if tongue.spaced {
            telling_words(&message.normal.normal, message.normal.words.iter().copied(), &tongue.everyday, found);
        } else {
            telling_characters(message.said(), &tongue.everyday_marks, tongue.single_ideographs, found);
        }
    }

    /// How many families of kindred words these are.
    pub fn families(&self, words: &[Str], turn: usize) -> i64 {
        let spaced = self.kernel.tongues[self.conversation.message(turn, REPLY).language].spaced;
        let mut families: Vec<&[u8]> = words.iter().map(|&word| family(self.bytes(word), spaced)).collect();
        families.sort_unstable();
        families.dedup();
        families.len() as i64
    }

    fn helplines(&mut self, turn: usize) -> Value {
        let mut found = Vec::new();
        let points = &self.conversation.message(turn, REPLY).points;
        if self.kernel.helplines.named_in(points, &self.kernel.characters, &mut found).is_err() {
            return self.refuse();
        }
        let label = |line: u32| Str::Constant(self.kernel.helpline_labels[line as usize]);
        let labels: Vec<Str> = found.into_iter().map(label).collect();
        self.texts(&labels)
    }

    pub fn similarity(&mut self, turn: usize) -> f64 {
        let Exchange { similarity, sides: [user, reply], .. } = &mut self.conversation.exchanges[turn];
        *similarity.get_or_insert_with(|| self.tools.counter.cosine(&user.normal, &reply.normal))
    }

    // The learned reader.

    /// The score of a head for an exchange; None where no reader is on.
    fn score(&mut self, head: usize, turn: usize) -> Option<f64> {
        let learned = self.kernel.learned.as_ref()?;
        if self.conversation.exchanges[turn].totals.is_empty() {
            self.add_up(turn);
        }
        let total = self.conversation.exchanges[turn].totals[learned.decisions[head].number];
        self.conversation.is_refused |= total.abs() >= EXACT;
        Some(total as f64 / learned.unit)
    }

    /// The scores of an exchange: the sum of its parts.
    fn add_up(&mut self, turn: usize) {
        let Some(learned) = &self.kernel.learned else { return };
        let count = learned.bias.len();
        let mut totals = learned.bias.clone();
        let mut add = |scores: &[i64]| totals.iter_mut().zip(scores).for_each(|(sum, score)| *sum += score);
        add(&self.scores_of(turn, USER)[..count]);
        add(self.scores_of(turn, REPLY));
        if turn > 0 {
            add(&self.scores_of(turn - 1, USER)[count..]);
        }
        self.conversation.exchanges[turn].totals = totals;
    }

    fn scores_of(&mut self, turn: usize, side: usize) -> &[i64] {
        let Conversation { exchanges, seen, .. } = &mut *self.conversation;
        let message = &mut exchanges[turn].sides[side];
        if let (true, Some(learned)) = (message.scores.is_empty(), &self.kernel.learned) {
            let scratch = self.tools.learned.get_or_insert_with(|| learned.model.scratch());
            learned.model.scores(&message.points, side == REPLY, scratch, &mut message.scores);
            if *seen < MOST_SEEN {
                *seen += message.seen.insert(scratch.seen()).size();
            }
        }
        &message.scores
    }

    /// Whether the learned reader leaves a decision to rules; in authored it always does.
    pub fn agrees(&mut self, head: usize, turn: usize) -> bool {
        let Some(learned) = self.kernel.learned.as_ref().filter(|_| self.kernel.is_traffic) else { return true };
        let decision = &learned.decisions[head];
        let language = self.conversation.message(turn, decision.side).language;
        let Some(least) = decision.agree[language] else { return true };
        self.score(head, turn).is_some_and(|score| score >= least)
    }

    /// The words that carried a score that decides alone; none where it does not. In authored it may only speak for.
    pub fn learned(&mut self, head: usize, signal: usize, turn: usize) -> Value {
        let kernel = self.kernel;
        let Some(learned) = &kernel.learned else { return Value::Nothing };
        if !kernel.is_traffic && kernel.signals[signal].role != Role::For {
            return Value::Nothing;
        }
        let known = &mut self.conversation.exchanges[turn].learned;
        if known.is_empty() {
            known.resize(learned.decisions.len(), None);
        }
        let list = match known[head] {
            Some(list) => list,
            None => {
                let list = self.learned_hits(head, signal, turn);
                self.conversation.exchanges[turn].learned[head] = Some(list);
                list
            }
        };
        if list.len() == 0 { Value::Nothing } else { Value::Hits(list) }
    }

    fn learned_hits(&mut self, head: usize, signal: usize, turn: usize) -> List {
        let empty = List { start: 0, end: 0 };
        let Some(learned) = &self.kernel.learned else { return empty };
        let decision = &learned.decisions[head];
        let language = self.conversation.message(turn, decision.side).language;
        let Some((threshold, _)) = &decision.alone[language] else { return empty };
        let Some(score) = self.score(head, turn).filter(|score| score >= threshold) else { return empty };
        let said = self.contributions(decision.number, turn);
        let total = said.iter().flatten().map(|one| i128::from(one.2.max(0))).sum::<i128>().max(0);
        let total = if total == 0 { 1 } else { total };
        let message = &self.conversation.exchanges[turn].sides[decision.side];
        let tokens = &said[if decision.side == USER { MESSAGE } else { ANSWER }];
        let mut found: Vec<_> = self.tools.spans.find(tokens, &message.points, total, &self.kernel.characters).to_vec();
        found.sort_by_key(|&(start, end, _)| (start, Reverse(end)));
        let first = self.conversation.lists.len() as u32;
        for (start, end, amount) in found {
            let hit = Hit {
                language: LEARNED,
                signal: signal as u16,
                side: decision.side as u8,
                warns: false,
                rule: head as u32,
                turn: turn as u32,
                start,
                end,
            };
            self.conversation.is_refused |= total >= i128::from(EXACT);
            let share = rounded(amount as f64 / total as f64, 3);
            let number = self.conversation.hits.len() as u32;
            let score = rounded(score, 3);
            self.conversation.shares.push(Share { hit: number, score, head: head as u32, language: language as u32, share });
            self.conversation.hits.push(hit);
            self.conversation.lists.push(number);
        }
        List { start: first, end: self.conversation.lists.len() as u32 }
    }

    /// What each word of message, reply and earlier message adds to the score of a head.
    fn contributions(&mut self, head: usize, turn: usize) -> [Vec<(u32, u32, i64)>; 3] {
        let Some(learned) = &self.kernel.learned else { return Default::default() };
        let earlier = turn.checked_sub(1).map(|before| (before, USER));
        let places = [(MESSAGE, Some((turn, USER))), (ANSWER, Some((turn, REPLY))), (EARLIER, earlier)];
        places.map(|(segment, place)| {
            let Some((turn, side)) = place else { return Vec::new() };
            let message = &self.conversation.exchanges[turn].sides[side];
            if let Some(seen) = &message.seen {
                return learned.model.contributed(seen, segment, head);
            }
            let scratch = self.tools.learned.get_or_insert_with(|| learned.model.scratch());
            learned.model.contributions(&message.points, segment, head, scratch).unwrap_or_default()
        })
    }
}

/// The text that telling words are places of: in normal form, or as it is spoken where no space shows the words.
fn text_of_telling<'m>(message: &'m Message, kernel: &Kernel) -> &'m [u32] {
    if kernel.tongues[message.language].spaced { &message.normal.normal } else { message.said() }
}

/// The beginning of a word that kindred forms share.
fn family(word: &[u8], spaced: bool) -> &[u8] {
    let is_start = |byte: &u8| byte & 0xC0 != 0x80;
    let letters = word.iter().filter(|byte| is_start(byte)).count();
    let kept = if spaced { FAMILY.max(letters.saturating_sub(ENDING)) } else { letters };
    let end = word.iter().enumerate().filter(|(_, byte)| is_start(byte)).nth(kept).map_or(word.len(), |(at, _)| at);
    &word[..end]
}

pub fn utf8(points: &[u32]) -> Vec<u8> {
    let mut out = Vec::with_capacity(points.len());
    let mut bytes = [0; 4];
    for c in points.iter().filter_map(|&c| char::from_u32(c)) {
        out.extend_from_slice(c.encode_utf8(&mut bytes).as_bytes());
    }
    out
}
