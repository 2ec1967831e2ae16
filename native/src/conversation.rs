//! A conversation that has been read: its messages, the hits of rules in them, and what steps of tables found so far.

use crate::matcher::Matcher;
use crate::facts::Taken;
use crate::marks::Marks;
use crate::message::Message;
use crate::shape::{Shape, Words};
use crate::tables::Name;
use crate::text::Span;
use std::sync::Arc;

pub const USER: usize = 0;
pub const REPLY: usize = 1;
pub const LEARNED: u16 = u16::MAX; // in place of a language: a finding of the learned reader

/// Something that rules find, by the number of its name in the order of names.
pub struct Signal {
    pub name: Box<[u8]>,
    pub side: usize,
    pub role: Role,
    pub anchor: bool, // counts in the first two sentences of a reply only, unless a formula asks
    pub whole: bool,  // counts in all of a reply, not only in what is said to the person
}

#[derive(Clone, Copy, PartialEq)]
pub enum Role {
    For,
    Against,
    Context,
}

/// How a rule's hits count.
#[derive(Clone, Copy, PartialEq)]
pub enum Weight {
    Plain,         // as bad as the table says
    Warning,       // shown, and counts for nothing
    Said(usize),   // as bad as the rule says: the place among the severities
}

/// What is to be known of a rule beside its patterns.
pub struct Rule {
    pub id: Box<[u8]>,
    pub name: Name, // of the id
    pub group: Box<[u8]>,
    pub group_name: Name,
    pub signal: usize,
    pub weight: Weight,
    pub is_bundled: bool,
    pub head: Box<[u8]>, // of a finding as JSON, up to the turn
    pub tail: Box<[u8]>, // from behind the text up to `counted`
}

/// A language whose texts can be read.
pub struct Language {
    pub matcher: Arc<Matcher>,
    pub rules: Vec<Option<Rule>>, // by their numbers; None: not in force
}

/// How the words of a language tell something; known of every language, also of those without rules.
pub struct Tongue {
    pub code: Box<[u8]>,
    pub is_ours: bool, // it has a pack
    pub spaced: bool,
    pub single_ideographs: bool,
    pub everyday: Words,    // that any talk holds
    pub everyday_marks: Marks, // the same where no space shows the words
}

/// Where a rule matched, in code points of the original message.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    pub language: u16,
    pub signal: u16,
    pub side: u8,
    pub warns: bool,
    pub rule: u32,
    pub turn: u32,
    pub start: u32,
    pub end: u32,
}

/// A finding of the learned reader: what it says beside its place.
#[derive(Clone, Copy)]
pub struct Share {
    pub hit: u32,
    pub score: f64,
    pub head: u32,
    pub language: u32,
    pub share: f64,
}

/// A list in the arena of its conversation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct List {
    pub start: u32,
    pub end: u32,
}

impl List {
    pub fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}

/// A text of evidence, by where its bytes are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Str {
    Constant(Name),
    Part { turn: u32, side: u8, start: u32, end: u32 },
    Group(u32), // of the rule of a hit
    Id(u32),
    Made(u32),
}

/// What a formula gives.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    Nothing,
    Omitted,
    Unknown, // evidence that a result does not have
    Truth(bool),
    Whole(i64),
    Number(f64),
    Text(Str),
    Hits(List),
    Texts(List),
    Wholes(List),
    Mapping(List),
}

/// A message and its reply.
#[derive(Default)]
pub struct Exchange {
    pub sides: [Message; 2],
    pub sentences: [Option<Vec<(u32, u32)>>; 2], // in the original, once they are asked for
    pub hits: (u32, u32),                        // those that count or are shown, of both sides
    pub drafts: Vec<Span>,                       // where the user asked for a text, parts of the reply that can be it
    pub anchor: (u32, u32),
    pub similarity: Option<f64>,
    pub shape: Option<Shape>, // of the message
    pub taken_up: Option<Taken>,
    pub values: Vec<Option<Value>>, // of the steps that all tables share
    pub learned: Vec<Option<List>>, // hits by head, once they are asked for
    pub totals: Vec<i64>,           // scores by head, once they are asked for
}

impl Exchange {
    pub fn clear(&mut self) {
        self.sides.iter_mut().for_each(Message::clear);
        self.sentences = [None, None];
        self.drafts.clear();
        (self.similarity, self.shape, self.taken_up) = (None, None, None);
        (self.hits, self.anchor) = ((0, 0), (0, 0));
        self.values.clear();
        self.learned.clear();
        self.totals.clear();
    }

    /// Where the sentences of a side are in the original.
    pub fn sentences(&mut self, side: usize) -> &[(u32, u32)] {
        let normal = &self.sides[side].normal;
        self.sentences[side].get_or_insert_with(|| {
            let spans = normal.sentences.iter().map(|&(start, end)| normal.span(start, end));
            spans.map(|(start, end)| (start as u32, end as u32)).collect()
        })
    }
}

/// A case while it is decided. Its buffers serve one case after the other.
#[derive(Default)]
pub struct Conversation {
    pub exchanges: Vec<Exchange>, // the first `turns` of them
    pub turns: usize,
    pub tags: Vec<Vec<u8>>,
    pub hits: Vec<Hit>,
    pub shares: Vec<Share>,
    pub lists: Vec<u32>,
    pub texts: Vec<Str>,
    pub wholes: Vec<i64>,
    pub fields: Vec<(Str, Value)>,
    pub made: Vec<Vec<u8>>,
    pub seen: usize,      // bytes of what the learned reader saw
    pub is_refused: bool, // a formula came to something that only Python can say
}

impl Conversation {
    pub fn clear(&mut self) {
        self.turns = 0;
        self.tags.clear();
        self.hits.clear();
        self.shares.clear();
        self.lists.clear();
        self.texts.clear();
        self.wholes.clear();
        self.fields.clear();
        self.made.clear();
        (self.seen, self.is_refused) = (0, false);
    }

    /// Room for another exchange.
    pub fn add(&mut self) -> &mut Exchange {
        if self.turns == self.exchanges.len() {
            self.exchanges.push(Exchange::default());
        }
        self.turns += 1;
        let exchange = &mut self.exchanges[self.turns - 1];
        exchange.clear();
        exchange
    }

    pub fn message(&self, turn: usize, side: usize) -> &Message {
        &self.exchanges[turn].sides[side]
    }

    pub fn words(&self, hit: u32) -> &[u8] {
        let hit = &self.hits[hit as usize];
        self.message(hit.turn as usize, hit.side as usize).part(hit.start, hit.end)
    }

    pub fn words_of(&self, hit: u32) -> Str {
        let Hit { turn, side, start, end, .. } = self.hits[hit as usize];
        Str::Part { turn, side, start, end }
    }

    pub fn hits(&self, list: List) -> &[u32] {
        &self.lists[list.start as usize..list.end as usize]
    }

    pub fn texts(&self, list: List) -> &[Str] {
        &self.texts[list.start as usize..list.end as usize]
    }

    /// A list of the hits that were added since it had this length.
    pub fn hits_from(&self, start: usize) -> Value {
        if start == self.lists.len() {
            return Value::Nothing;
        }
        Value::Hits(List { start: start as u32, end: self.lists.len() as u32 })
    }

    pub fn texts_from(&self, start: usize) -> Value {
        if start == self.texts.len() {
            return Value::Nothing;
        }
        Value::Texts(List { start: start as u32, end: self.texts.len() as u32 })
    }

    pub fn make(&mut self, text: Vec<u8>) -> Str {
        self.made.push(text);
        Str::Made(self.made.len() as u32 - 1)
    }
}
