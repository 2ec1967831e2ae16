//! What formulas give for an exchange: the operators of `checks/operators.py` and the facts of `checks/facts.py`.
//!
//! Python is the reference. Where it would raise an error, the conversation is refused, and Python decides it.

use crate::conversation::{Conversation, Hit, List, Rule, Str, Value, LEARNED, REPLY, USER};
use crate::facts::Tools;
use crate::json::rounded;
use crate::kernel::{Kernel, Languages};
use crate::tables::{Before, Comparison, Fact, Name, Node, OfNames, Operator, Row, Table};
use std::cmp::{Ordering, Reverse};
use std::collections::{HashMap, HashSet};

const FEW: usize = 12; // items that are compared one by one; more go through a table

/// The steps of one table for one exchange, each computed when it is first asked for.
pub struct Frame<'t> {
    pub turn: usize,
    pub table: Option<&'t Table>, // None: the steps that all tables share
    pub values: Vec<Option<Value>>,
    pub applicable: bool,
    pub shown: Option<Vec<usize>>, // signals of a result, where a formula is about one
    row: Option<usize>,
}

impl<'t> Frame<'t> {
    pub fn of(turn: usize, table: &'t Table) -> Self {
        Self { table: Some(table), values: vec![None; table.steps.len()], ..Self::shared(turn) }
    }

    pub fn shared(turn: usize) -> Self {
        Self { turn, table: None, values: Vec::new(), applicable: false, shown: None, row: None }
    }
}

/// Computes formulas for one conversation.
pub struct Interpreter<'a> {
    pub kernel: &'a Kernel,
    pub languages: &'a Languages,
    pub conversation: &'a mut Conversation,
    pub tools: &'a mut Tools,
}

impl<'a> Interpreter<'a> {
    /// Something that only Python can say.
    pub fn refuse(&mut self) -> Value {
        self.conversation.is_refused = true;
        Value::Nothing
    }

    pub fn holds(&mut self, node: &Node, frame: &mut Frame) -> bool {
        let value = self.eval(node, frame);
        self.is_true(value)
    }

    /// Whether Python takes a value for true.
    pub fn is_true(&self, value: Value) -> bool {
        match value {
            Value::Nothing | Value::Unknown => false,
            Value::Omitted => true,
            Value::Truth(truth) => truth,
            Value::Whole(number) => number != 0,
            Value::Number(number) => number != 0.0,
            Value::Text(text) => !self.bytes(text).is_empty(),
            Value::Hits(list) | Value::Texts(list) | Value::Wholes(list) | Value::Mapping(list) => list.len() > 0,
        }
    }

    pub fn bytes(&self, text: Str) -> &[u8] {
        match text {
            Str::Constant(name) => &self.kernel.names[name as usize],
            Str::Part { turn, side, start, end } => {
                self.conversation.message(turn as usize, side as usize).part(start, end)
            }
            Str::Group(hit) => &self.rule(hit).group,
            Str::Id(hit) => &self.rule(hit).id,
            Str::Made(number) => &self.conversation.made[number as usize],
        }
    }

    pub fn rule(&self, hit: u32) -> &'a Rule {
        rule_of(self.kernel, self.languages, &self.conversation.hits[hit as usize])
    }

    pub fn eval(&mut self, node: &Node, frame: &mut Frame) -> Value {
        match node {
            Node::Nothing => Value::Nothing,
            Node::Omitted => Value::Omitted,
            Node::Truth(truth) => Value::Truth(*truth),
            Node::Whole(number) => Value::Whole(*number),
            Node::Number(number) => Value::Number(*number),
            Node::Text(name) => Value::Text(Str::Constant(*name)),
            Node::List(names) => self.constant_list(names),
            Node::Mapping(fields) => self.constant_mapping(fields, frame),
            Node::Step(step) => self.step(*step, frame),
            Node::Shared(step) => self.shared(*step, frame.turn),
            Node::Before(step, empty) => self.before(*step, *empty, frame.turn),
            Node::Applicable => Value::Truth(frame.applicable),
            Node::RowName => self.row(frame, |row| row.name),
            Node::RowStrength => self.row(frame, |row| row.strength),
            Node::Fact(fact) => self.fact(*fact, frame.turn),
            Node::Hits(signal) => self.hits_of(*signal, frame.turn),
            Node::Learned { head, signal } => self.learned(*head, *signal, frame.turn),
            Node::And(parts, as_truth) => self.all(parts, *as_truth, frame),
            Node::Or(parts, as_truth) => self.any(parts, *as_truth, frame),
            Node::Not(part) => Value::Truth(!self.holds(part, frame)),
            Node::Compare(sign, parts) => {
                let (one, other) = (self.eval(&parts[0], frame), self.eval(&parts[1], frame));
                self.compare(*sign, one, other)
            }
            Node::Add(parts) => {
                let (one, other) = (self.eval(&parts[0], frame), self.eval(&parts[1], frame));
                self.add(one, other)
            }
            Node::Subtract(parts) => match (self.eval(&parts[0], frame), self.eval(&parts[1], frame)) {
                (Value::Whole(one), Value::Whole(other)) => Value::Whole(one.saturating_sub(other)),
                (one, other) => match (number(one), number(other)) {
                    (Some(one), Some(other)) => Value::Number(one - other),
                    _ => self.refuse(),
                },
            },
            Node::Choice(parts) => {
                let holds = self.holds(&parts[0], frame);
                self.eval(&parts[if holds { 1 } else { 2 }], frame)
            }
            Node::Call(operator, parts) => self.call(*operator, parts, frame),
            Node::OfNames(operator, parts) => self.of_names(*operator, parts, frame),
            Node::Weighed(weights) => self.weighed(weights, frame),
            Node::Told(texts) => self.told(texts, frame),
            Node::OfHead(operator, head, hits) => self.of_head(*operator, *head, hits.as_deref(), frame),
            Node::OfSignal(operator, signal, hits) => self.of_signal(*operator, *signal, hits.as_deref(), frame),
        }
    }

    // Steps.

    fn step(&mut self, step: usize, frame: &mut Frame) -> Value {
        let Some(table) = frame.table else { return self.shared(step, frame.turn) };
        if let Some(value) = frame.values[step] {
            return value;
        }
        let value = self.eval(&table.steps[step], frame);
        frame.values[step] = Some(value);
        value
    }

    pub fn shared(&mut self, step: usize, turn: usize) -> Value {
        if let Some(value) = self.conversation.exchanges[turn].values[step] {
            return value;
        }
        let kernel = self.kernel;
        let value = self.eval(&kernel.shared.steps[step], &mut Frame::shared(turn));
        self.conversation.exchanges[turn].values[step] = Some(value);
        value
    }

    /// The step one turn earlier, followed from the first turn on: a loop, since a conversation may be long.
    fn before(&mut self, step: usize, empty: Before, turn: usize) -> Value {
        if turn == 0 {
            return match empty {
                Before::Nothing => Value::Nothing,
                Before::Zero => Value::Whole(0),
                Before::False => Value::Truth(false),
            };
        }
        let exchanges = &self.conversation.exchanges;
        let known = (0..turn).rev().find(|&one| exchanges[one].values[step].is_some());
        for one in known.map_or(0, |known| known + 1)..turn {
            self.shared(step, one);
        }
        self.shared(step, turn - 1)
    }

    fn row(&mut self, frame: &mut Frame, of: impl Fn(&Row) -> Name) -> Value {
        let Some(table) = frame.table else { return self.refuse() };
        let found = match frame.row {
            Some(row) => Some(row),
            None => (0..table.rows.len()).find(|&row| match &table.rows[row].when {
                Some(when) => self.holds(when, frame),
                None => true,
            }),
        };
        frame.row = found;
        match found {
            Some(row) => Value::Text(Str::Constant(of(&table.rows[row]))),
            None => self.refuse(),
        }
    }

    fn all(&mut self, parts: &[Node], as_truth: bool, frame: &mut Frame) -> Value {
        let mut found = Value::Truth(true);
        for part in parts {
            found = self.eval(part, frame);
            if !self.is_true(found) {
                break;
            }
        }
        if as_truth { Value::Truth(self.is_true(found)) } else { found }
    }

    fn any(&mut self, parts: &[Node], as_truth: bool, frame: &mut Frame) -> Value {
        let mut found = Value::Truth(false);
        for part in parts {
            found = self.eval(part, frame);
            if self.is_true(found) {
                break;
            }
        }
        if as_truth { Value::Truth(self.is_true(found)) } else { found }
    }

    // Values.

    fn constant_list(&mut self, names: &[Name]) -> Value {
        let start = self.conversation.texts.len();
        self.conversation.texts.extend(names.iter().map(|&name| Str::Constant(name)));
        self.conversation.texts_from(start)
    }

    fn constant_mapping(&mut self, fields: &[(Name, Node)], frame: &mut Frame) -> Value {
        let fields: Vec<_> = fields.iter().map(|(name, node)| (Str::Constant(*name), self.eval(node, frame))).collect();
        self.mapping(&fields)
    }

    fn mapping(&mut self, fields: &[(Str, Value)]) -> Value {
        let start = self.conversation.fields.len() as u32;
        self.conversation.fields.extend_from_slice(fields);
        Value::Mapping(List { start, end: self.conversation.fields.len() as u32 })
    }

    fn compare(&mut self, sign: Comparison, one: Value, other: Value) -> Value {
        if matches!(sign, Comparison::Equal | Comparison::Unequal) {
            return match self.equal(one, other) {
                Some(equal) => Value::Truth(equal == (sign == Comparison::Equal)),
                None => self.refuse(),
            };
        }
        let (Some(one), Some(other)) = (number(one), number(other)) else { return self.refuse() };
        Value::Truth(match sign {
            Comparison::AtLeast => one >= other,
            Comparison::Above => one > other,
            Comparison::Below => one < other,
            _ => one <= other,
        })
    }

    /// Whether Python takes two values for equal; None where it is not known here.
    pub fn equal(&self, one: Value, other: Value) -> Option<bool> {
        Some(match (one, other) {
            (Value::Text(one), Value::Text(other)) => self.bytes(one) == self.bytes(other),
            (Value::Texts(one), Value::Texts(other)) => {
                let (one, other) = (self.conversation.texts(one), self.conversation.texts(other));
                one.len() == other.len() && one.iter().zip(other).all(|(&one, &other)| self.bytes(one) == self.bytes(other))
            }
            (Value::Nothing, Value::Nothing) => true,
            (Value::Unknown, Value::Unknown) => true,
            (Value::Unknown, _) | (_, Value::Unknown) => false,
            (Value::Nothing, other) | (other, Value::Nothing) => {
                matches!(other, Value::Hits(list) | Value::Texts(list) if list.len() == 0)
            }
            (one, other) => number(one)? == number(other)?,
        })
    }

    fn add(&mut self, one: Value, other: Value) -> Value {
        match (one, other) {
            (Value::Nothing, value) | (value, Value::Nothing) => value,
            (Value::Hits(one), Value::Hits(other)) => {
                let start = self.conversation.lists.len();
                self.conversation.lists.extend_from_within(one.start as usize..one.end as usize);
                self.conversation.lists.extend_from_within(other.start as usize..other.end as usize);
                self.conversation.hits_from(start)
            }
            (Value::Texts(one), Value::Texts(other)) => {
                let start = self.conversation.texts.len();
                self.conversation.texts.extend_from_within(one.start as usize..one.end as usize);
                self.conversation.texts.extend_from_within(other.start as usize..other.end as usize);
                self.conversation.texts_from(start)
            }
            (Value::Text(one), Value::Text(other)) => {
                let made = [self.bytes(one), self.bytes(other)].concat();
                Value::Text(self.conversation.make(made))
            }
            (Value::Whole(one), Value::Whole(other)) => Value::Whole(one.saturating_add(other)),
            (one, other) => match (number(one), number(other)) {
                (Some(one), Some(other)) => Value::Number(one + other),
                _ => self.refuse(),
            },
        }
    }

    /// The hits of a value; a refusal where it has none.
    fn hits(&mut self, value: Value) -> Vec<u32> {
        match value {
            Value::Hits(list) => self.conversation.hits(list).to_vec(),
            Value::Nothing => Vec::new(),
            _ => {
                self.refuse();
                Vec::new()
            }
        }
    }

    fn strings(&mut self, value: Value) -> Vec<Str> {
        match value {
            Value::Texts(list) => self.conversation.texts(list).to_vec(),
            Value::Mapping(list) => {
                let fields = &self.conversation.fields[list.start as usize..list.end as usize];
                fields.iter().map(|field| field.0).collect()
            }
            Value::Nothing => Vec::new(),
            _ => {
                self.refuse();
                Vec::new()
            }
        }
    }

    fn list(&mut self, hits: &[u32]) -> Value {
        let start = self.conversation.lists.len();
        self.conversation.lists.extend_from_slice(hits);
        self.conversation.hits_from(start)
    }

    pub fn texts(&mut self, texts: &[Str]) -> Value {
        let start = self.conversation.texts.len();
        self.conversation.texts.extend_from_slice(texts);
        self.conversation.texts_from(start)
    }

    // Hits of an exchange.

    /// The hits of a signal that count.
    pub fn hits_of(&mut self, signal: usize, turn: usize) -> Value {
        let Conversation { exchanges, hits, lists, .. } = &mut *self.conversation;
        let (first, last) = exchanges[turn].hits;
        let start = lists.len();
        for number in first..last {
            let hit = &hits[number as usize];
            if hit.signal as usize == signal && !hit.warns {
                lists.push(number);
            }
        }
        self.conversation.hits_from(start)
    }

    fn kept(&mut self, hits: Vec<u32>, keeps: impl Fn(&Self, &Hit, u32) -> bool) -> Value {
        let start = self.conversation.lists.len();
        for hit in hits {
            if keeps(self, &self.conversation.hits[hit as usize], hit) {
                self.conversation.lists.push(hit);
            }
        }
        self.conversation.hits_from(start)
    }

    /// In the order of the text: by start, the longer first, then by the id of the rule.
    fn sorted(&self, hits: &mut [u32]) {
        let all = &self.conversation.hits;
        hits.sort_by(|&one, &other| {
            let (left, right) = (&all[one as usize], &all[other as usize]);
            let by_place = (left.start, Reverse(left.end)).cmp(&(right.start, Reverse(right.end)));
            if by_place == Ordering::Equal { self.rule(one).id.cmp(&self.rule(other).id) } else { by_place }
        });
    }

    /// The first hit of each rule.
    fn first_of_each(&self, hits: &[u32]) -> Vec<u32> {
        if hits.len() <= FEW {
            let mut kept: Vec<u32> = Vec::with_capacity(hits.len());
            for &hit in hits {
                let name = self.rule(hit).name;
                if !kept.iter().any(|&other| self.rule(other).name == name) {
                    kept.push(hit);
                }
            }
            return kept;
        }
        let mut seen = HashSet::new();
        hits.iter().copied().filter(|&hit| seen.insert(self.rule(hit).name)).collect()
    }

    /// Each text once, the first of its kind.
    fn unique(&self, texts: impl Iterator<Item = Str>) -> Vec<Str> {
        let mut kept: Vec<Str> = Vec::new();
        let mut seen: HashSet<&[u8]> = HashSet::new();
        for text in texts {
            let bytes = self.bytes(text);
            let is_new = if kept.len() < FEW {
                !kept.iter().any(|&other| self.bytes(other) == bytes)
            } else {
                if seen.is_empty() {
                    seen.extend(kept.iter().map(|&other| self.bytes(other)));
                }
                !seen.contains(bytes)
            };
            if is_new {
                if !seen.is_empty() {
                    seen.insert(bytes);
                }
                kept.push(text);
            }
        }
        kept
    }

    fn words(&self, hits: &[u32]) -> Vec<Str> {
        self.unique(self.first_of_each(hits).into_iter().map(|hit| self.conversation.words_of(hit)))
    }

    fn outermost(&mut self, mut hits: Vec<u32>) -> Value {
        self.sorted(&mut hits);
        let mut reached = -1;
        let start = self.conversation.lists.len();
        for hit in hits {
            let end = i64::from(self.conversation.hits[hit as usize].end);
            if end > reached {
                reached = end;
                self.conversation.lists.push(hit);
            }
        }
        self.conversation.hits_from(start)
    }

    fn apart(&mut self, hits: Vec<u32>, others: Vec<u32>) -> Value {
        if others.is_empty() {
            return self.list(&hits);
        }
        let all = &self.conversation.hits;
        let mut ordered: Vec<(u32, u32)> = others.iter().map(|&hit| (all[hit as usize].start, all[hit as usize].end)).collect();
        ordered.sort_unstable();
        let mut reached = 0;
        let ends: Vec<u32> = ordered.iter().map(|&(_, end)| { reached = reached.max(end); reached }).collect();
        self.kept(hits, |_, hit, _| {
            let before = ordered.partition_point(|&other| other < (hit.end, 0));
            before == 0 || ends[before - 1] <= hit.start
        })
    }

    // Operators.

    fn call(&mut self, operator: Operator, parts: &[Node], frame: &mut Frame) -> Value {
        let first = self.eval(&parts[0], frame);
        match operator {
            Operator::Holds => return Value::Truth(self.is_true(first)),
            Operator::Count => return self.count(first),
            Operator::Rounded => {
                return match first {
                    Value::Whole(number) => Value::Whole(number),
                    Value::Number(number) => Value::Number(rounded(number, 2)),
                    _ => self.refuse(),
                }
            }
            Operator::Tagged => return self.tagged(first),
            Operator::InNames | Operator::Share | Operator::Both | Operator::Tightest | Operator::Families
            | Operator::InWords | Operator::Advice => {
                let second = parts.get(1).map(|part| self.eval(part, frame));
                return self.of_texts(operator, first, second.unwrap_or(Value::Nothing), frame.turn);
            }
            _ => {}
        }
        if matches!(first, Value::Nothing) && parts.len() == 1 {
            return self.of_no_hits(operator, frame.turn);
        }
        let hits = self.hits(first);
        match parts.get(1) {
            Some(second) => {
                let second = self.eval(second, frame);
                self.of_hits_and(operator, hits, second, frame.turn)
            }
            None => self.of_hits(operator, hits, frame.turn),
        }
    }

    /// What an operator gives where there is nothing, without a look at anything.
    fn of_no_hits(&mut self, operator: Operator, turn: usize) -> Value {
        match operator {
            Operator::Rules => Value::Whole(0),
            Operator::CoverReply => self.cover_reply(&[], turn),
            Operator::ByGroup => self.mapping(&[]),
            _ => Value::Nothing,
        }
    }

    fn of_hits(&mut self, operator: Operator, mut hits: Vec<u32>, turn: usize) -> Value {
        match operator {
            Operator::Outermost => self.outermost(hits),
            Operator::Once => self.once(hits),
            Operator::InOrder => {
                self.sorted(&mut hits);
                self.list(&hits)
            }
            Operator::InOpening | Operator::AfterOpening => {
                let limit = self.conversation.exchanges[turn].anchor.1;
                self.kept(hits, |_, hit, _| (hit.start < limit) == (operator == Operator::InOpening))
            }
            Operator::InFirstSentence | Operator::AfterFirstSentence => {
                let limit = self.conversation.exchanges[turn].sentences(USER).first().map_or(0, |sentence| sentence.1);
                self.kept(hits, |_, hit, _| (hit.start < limit) == (operator == Operator::InFirstSentence))
            }
            Operator::CoverReply => self.cover_reply(&hits, turn),
            Operator::Rules => Value::Whole(self.first_of_each(&hits).len() as i64),
            Operator::Groups => self.names(hits.iter().map(|&hit| Str::Group(hit)).collect()),
            Operator::RuleIds => self.names(hits.iter().map(|&hit| Str::Id(hit)).collect()),
            Operator::Words => {
                let found = self.words(&hits);
                self.texts(&found)
            }
            Operator::AllWords => {
                let found = self.unique(hits.iter().map(|&hit| self.conversation.words_of(hit)));
                self.texts(&found)
            }
            Operator::ByGroup => self.by_group(&hits),
            _ => self.refuse(),
        }
    }

    fn of_hits_and(&mut self, operator: Operator, hits: Vec<u32>, second: Value, turn: usize) -> Value {
        match operator {
            Operator::Apart => {
                let others = self.hits(second);
                self.apart(hits, others)
            }
            Operator::NotAlone => {
                let others = self.hits(second);
                self.not_alone(hits, &others)
            }
            Operator::WithoutGround => {
                let grounds = self.hits(second);
                self.without_ground(hits, &grounds, turn)
            }
            Operator::InGroups | Operator::WithoutGroups => {
                let groups = self.strings(second);
                self.kept(hits, |own, _, hit| {
                    let group = &own.rule(hit).group[..];
                    groups.iter().any(|&name| own.bytes(name) == group) == (operator == Operator::InGroups)
                })
            }
            Operator::OfRule => {
                let Value::Text(id) = second else { return self.refuse() };
                self.kept(hits, |own, _, hit| *own.rule(hit).id == *own.bytes(id))
            }
            _ => self.refuse(),
        }
    }

    fn of_texts(&mut self, operator: Operator, first: Value, second: Value, turn: usize) -> Value {
        if operator == Operator::InNames {
            let Value::Text(name) = first else { return self.refuse() };
            let names = self.strings(second);
            return Value::Truth(names.iter().any(|&other| self.bytes(other) == self.bytes(name)));
        }
        if operator == Operator::InWords {
            return self.in_words(first, second);
        }
        if operator == Operator::Advice {
            return self.advice(first, second, turn);
        }
        let one = self.strings(first);
        match operator {
            Operator::Tightest => {
                let is_within = |own: &Self, small: Str, large: Str| {
                    let (small, large) = (own.bytes(small), own.bytes(large));
                    small != large && contains(large, small)
                };
                let kept: Vec<Str> =
                    one.iter().copied().filter(|&text| !one.iter().any(|&other| is_within(self, other, text))).collect();
                self.texts(&kept)
            }
            Operator::Families => Value::Whole(self.families(&one, turn)),
            Operator::Share => {
                let other = self.strings(second);
                Value::Truth(one.iter().any(|&one| other.iter().any(|&other| self.bytes(one) == self.bytes(other))))
            }
            _ => {
                let other = self.strings(second);
                let both = self.unique(one.into_iter().chain(other));
                self.texts(&both)
            }
        }
    }

    fn count(&mut self, value: Value) -> Value {
        match value {
            Value::Nothing => Value::Whole(0),
            Value::Hits(list) | Value::Texts(list) | Value::Wholes(list) | Value::Mapping(list) => {
                Value::Whole(list.len() as i64)
            }
            Value::Text(text) => {
                let characters = self.bytes(text).iter().filter(|&&byte| byte & 0xC0 != 0x80).count();
                Value::Whole(characters as i64)
            }
            _ => self.refuse(),
        }
    }

    fn tagged(&mut self, tag: Value) -> Value {
        let Value::Text(tag) = tag else { return self.refuse() };
        Value::Truth(self.conversation.tags.iter().any(|one| one[..] == *self.bytes(tag)))
    }

    fn once(&mut self, mut hits: Vec<u32>) -> Value {
        self.sorted(&mut hits);
        let start = self.conversation.lists.len();
        let mut reached = None;
        for hit in hits {
            let Hit { start, end, .. } = self.conversation.hits[hit as usize];
            if reached.map_or(true, |reached| start >= reached) {
                reached = Some(end);
                self.conversation.lists.push(hit);
            }
        }
        self.conversation.hits_from(start)
    }

    fn not_alone(&mut self, hits: Vec<u32>, others: &[u32]) -> Value {
        if others.is_empty() {
            return self.list(&hits);
        }
        // Some other ends before a hit or begins behind it: the earliest end and the latest start tell.
        let all = &self.conversation.hits;
        let earliest = others.iter().map(|&other| all[other as usize].end).min().unwrap_or(0);
        let latest = others.iter().map(|&other| all[other as usize].start).max().unwrap_or(0);
        self.kept(hits, |_, hit, _| earliest <= hit.start || hit.end <= latest)
    }

    fn without_ground(&mut self, hits: Vec<u32>, grounds: &[u32], turn: usize) -> Value {
        let mut starts: Vec<u32> = grounds.iter().map(|&ground| self.conversation.hits[ground as usize].start).collect();
        starts.sort_unstable();
        let ends: Vec<u32> = self.conversation.exchanges[turn].sentences(REPLY).iter().map(|sentence| sentence.1).collect();
        self.kept(hits, |_, hit, _| {
            // Where the sentence after the hit's own ends.
            let own = ends.partition_point(|&end| end <= hit.start);
            let reach = if own == ends.len() { hit.end } else { ends[(own + 1).min(ends.len() - 1)] };
            let next = starts.partition_point(|&start| start < hit.start);
            !starts.get(next).is_some_and(|&start| start < reach)
        })
    }

    fn cover_reply(&mut self, hits: &[u32], turn: usize) -> Value {
        let starts: Vec<u32> = hits.iter().map(|&hit| self.conversation.hits[hit as usize].start).collect();
        let sentences = self.conversation.exchanges[turn].sentences(REPLY);
        let mut covered = vec![false; sentences.len()];
        for start in starts {
            let after = sentences.partition_point(|sentence| sentence.0 <= start);
            if after > 0 {
                covered[after - 1] = true;
            }
        }
        Value::Truth(covered.into_iter().all(|is_covered| is_covered))
    }

    /// Texts in the order of the alphabet, each once.
    fn names(&mut self, mut names: Vec<Str>) -> Value {
        names.sort_by(|&one, &other| self.bytes(one).cmp(self.bytes(other)));
        names.dedup_by(|one, other| self.bytes(*one) == self.bytes(*other));
        self.texts(&names)
    }

    fn by_group(&mut self, hits: &[u32]) -> Value {
        let mut grouped: HashMap<&[u8], Vec<u32>> = HashMap::new();
        for &hit in hits {
            grouped.entry(&self.rule(hit).group).or_default().push(hit);
        }
        let mut grouped: Vec<(&[u8], Vec<u32>)> = grouped.into_iter().collect();
        grouped.sort();
        let mut fields = Vec::with_capacity(grouped.len());
        for (_, members) in grouped {
            let words = self.words(&members);
            fields.push((Str::Group(members[0]), self.texts(&words)));
        }
        self.mapping(&fields)
    }

    fn of_names(&mut self, operator: OfNames, parts: &[(Name, Node)], frame: &mut Frame) -> Value {
        let mut found = Vec::with_capacity(parts.len());
        for (name, part) in parts {
            found.push((Str::Constant(*name), self.eval(part, frame)));
        }
        match operator {
            OfNames::Named => self.mapping(&found),
            OfNames::Present | OfNames::Absent => {
                let wanted = operator == OfNames::Present;
                found.retain(|&(_, value)| self.is_true(value) == wanted);
                let names: Vec<Str> = found.into_iter().map(|field| field.0).collect();
                self.texts(&names)
            }
            OfNames::WordsByName => {
                found.retain(|&(_, value)| self.is_true(value));
                for field in &mut found {
                    let hits = self.hits(field.1);
                    let words = self.words(&hits);
                    field.1 = self.texts(&words);
                }
                self.mapping(&found)
            }
        }
    }

    fn weighed(&mut self, weights: &[(usize, Node)], frame: &mut Frame) -> Value {
        let mut sum = Value::Whole(0);
        for (step, weight) in weights {
            let value = self.step(*step, frame);
            if self.is_true(value) {
                let weight = self.eval(weight, frame);
                sum = self.add(sum, weight);
            }
        }
        sum
    }

    fn told(&mut self, texts: &[(usize, Name)], frame: &mut Frame) -> Value {
        let mut found = Vec::new();
        for &(step, text) in texts {
            let value = self.step(step, frame);
            if self.is_true(value) && !found.contains(&text) {
                found.push(text);
            }
        }
        self.constant_list(&found)
    }

    fn in_words(&mut self, wanted: Value, hits: Value) -> Value {
        let (wanted, hits) = (self.strings(wanted), self.hits(hits));
        if wanted.is_empty() || hits.is_empty() {
            // Python looks into a text without words, where only a word without letters could be.
            return Value::Truth(wanted.iter().any(|&word| self.bytes(word).is_empty()));
        }
        let mut told = Vec::new();
        for (place, &hit) in hits.iter().enumerate() {
            if place > 0 {
                told.push(b' ');
            }
            let Hit { turn, side, start, end, .. } = self.conversation.hits[hit as usize];
            let points = &self.conversation.message(turn as usize, side as usize).points[start as usize..end as usize];
            self.kernel.characters.write_lower(points, &mut told);
        }
        Value::Truth(wanted.iter().any(|&word| contains(&told, self.bytes(word))))
    }

    fn advice(&mut self, names: Value, check: Value, turn: usize) -> Value {
        let names = self.strings(names);
        let Value::Text(check) = check else { return self.refuse() };
        let language = self.conversation.message(turn, REPLY).language;
        let mut found = Vec::new();
        for name in names {
            let advice = self.kernel.advice.find(language, self.bytes(check), self.bytes(name));
            let text = [self.bytes(name), b": ", advice].concat();
            found.push(self.conversation.make(text));
        }
        self.texts(&found)
    }

    // The learned reader, and signals by name.

    fn of_head(&mut self, operator: Operator, head: usize, hits: Option<&Node>, frame: &mut Frame) -> Value {
        let agrees = self.agrees(head, frame.turn);
        if operator == Operator::Agrees {
            return Value::Truth(agrees);
        }
        let Some(hits) = hits else { return self.refuse() };
        let value = self.eval(hits, frame);
        if agrees || matches!(value, Value::Nothing) {
            return value;
        }
        let hits = self.hits(value);
        let kernel = self.kernel;
        let precise = kernel.learned.as_ref().map_or(&[][..], |learned| &learned.decisions[head].precise);
        self.kept(hits, |own, _, hit| {
            let rule = own.rule(hit);
            !rule.is_bundled || precise.contains(&rule.group_name) || precise.contains(&rule.name)
        })
    }

    fn of_signal(&mut self, operator: Operator, signal: Option<usize>, hits: Option<&Node>, frame: &mut Frame) -> Value {
        if let (Operator::OfSignal, Some(hits)) = (operator, hits) {
            let value = self.eval(hits, frame);
            let hits = self.hits(value);
            return self.kept(hits, |_, hit, _| Some(hit.signal as usize) == signal);
        }
        if operator == Operator::Shows {
            return match &frame.shown {
                Some(shown) => Value::Truth(signal.is_some_and(|signal| shown.contains(&signal))),
                None => self.refuse(), // asked of an exchange, which shows nothing
            };
        }
        let Conversation { exchanges, hits, .. } = &*self.conversation;
        let (first, last) = exchanges[frame.turn].hits;
        let is_warning = |number: &u32| {
            let hit = &hits[*number as usize];
            hit.warns && Some(hit.signal as usize) == signal
        };
        let warned: Vec<u32> = (first..last).filter(is_warning).collect();
        let found = self.unique(warned.into_iter().map(|hit| self.conversation.words_of(hit)));
        self.texts(&found)
    }

    // Facts.

    fn fact(&mut self, fact: Fact, turn: usize) -> Value {
        match fact {
            Fact::Traffic => Value::Truth(self.kernel.is_traffic),
            Fact::Turn => Value::Whole(turn as i64),
            Fact::ThisTurn => {
                let start = self.conversation.wholes.len() as u32;
                self.conversation.wholes.push(turn as i64);
                Value::Wholes(List { start, end: start + 1 })
            }
            Fact::Readable => {
                let is_read = self.conversation.message(turn, USER).language != self.kernel.undetermined();
                Value::Whole(i64::from(is_read))
            }
            Fact::Similarity => Value::Number(self.similarity(turn)),
            Fact::Opening => {
                let (start, end) = self.conversation.exchanges[turn].anchor;
                Value::Text(Str::Part { turn: turn as u32, side: REPLY as u8, start, end })
            }
            Fact::Sentences => Value::Whole(self.conversation.exchanges[turn].sides[REPLY].normal.sentences.len() as i64),
            Fact::SentencesOfMessage => {
                Value::Whole(self.conversation.exchanges[turn].sides[USER].normal.sentences.len() as i64)
            }
            _ => self.fact_about_words(fact, turn),
        }
    }
}

/// The rule of a hit.
pub fn rule_of<'a>(kernel: &'a Kernel, languages: &'a Languages, hit: &Hit) -> &'a Rule {
    if hit.language == LEARNED {
        return kernel.learned_rule(hit.rule as usize);
    }
    languages.get(hit.language as usize).rules[hit.rule as usize].as_ref().expect("a hit is of a rule in force")
}

/// A number of either kind; truths count as 0 and 1, as in Python.
fn number(value: Value) -> Option<f64> {
    match value {
        Value::Whole(number) => Some(number as f64),
        Value::Number(number) => Some(number),
        Value::Truth(truth) => Some(f64::from(u8::from(truth))),
        _ => None,
    }
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|window| window == part)
}
