//! What tables decide about a conversation: `checks/table.py`, `checks/severity.py` and `run/evaluator.py` say how.

use crate::conversation::{List, Role, Str, Value, Weight, REPLY, USER};
use crate::formulas::{Frame, Interpreter};
use crate::tables::{Gathered, OverTurns, ReasonPart, SeverityRow, Table};
use std::collections::HashMap;

pub const SEVERITIES: usize = 3; // the worst first
const MOST_SURE: usize = 3;
const MINOR: usize = 2;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub enum Outcome {
    NotApplicable,
    Pass,
    Fail,
}

/// Why a check does not apply.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Reason {
    None,
    Said(Str),      // by its table
    NoText,         // the reply is empty
    NoReply,        // there is none
    NoRulesOfReply, // the language has no rules at all
    NoRulesOfMessage,
    Lacking { language: usize, side: usize }, // the language has none for this check
    NoExchange,
}

/// The verdict of one check on one exchange. Its lists are in `Verdicts`.
#[derive(Clone, Copy, Debug)]
pub struct Turn {
    pub outcome: Outcome,
    pub reason: Reason,
    pub severity: Option<usize>,
    pub evidence: List,
    pub findings: List,
    pub missing: List,
    pub behind: List, // gathered evidence that its table does not have
}

impl Turn {
    fn not_applicable(reason: Reason) -> Self {
        let empty = List { start: 0, end: 0 };
        let outcome = Outcome::NotApplicable;
        Self { outcome, reason, severity: None, evidence: empty, findings: empty, missing: empty, behind: empty }
    }
}

/// How bad and how sure a failure is: the least is to be read first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Urgency {
    pub bad: usize,
    sure: i8, // the surer, the lower
}

impl Urgency {
    pub const NONE: Self = Self { bad: SEVERITIES, sure: 0 };

    fn new(severity: Option<usize>, signs: usize) -> Self {
        Self { bad: severity.unwrap_or(MINOR), sure: -(signs.min(MOST_SURE) as i8) }
    }

    /// How many signs there are, of which more make nobody surer.
    pub fn signs(self) -> u64 {
        u64::from(self.sure.unsigned_abs())
    }

    /// Its place among all that a failure can have.
    pub fn rank(self) -> usize {
        self.bad * MOST_SURE + (MOST_SURE as i8 + self.sure).min(MOST_SURE as i8 - 1) as usize
    }
}

pub const RANKS: usize = SEVERITIES * MOST_SURE;

/// The verdict of one check on a whole conversation.
#[derive(Clone, Copy, Debug)]
pub struct Checked {
    pub check: usize,
    pub turns: List,
    pub worst: usize, // the turn whose fields stand for all
    pub urgency: Urgency,
}

/// All verdicts on a conversation. Its buffers serve one after the other.
#[derive(Default)]
pub struct Verdicts {
    pub checks: Vec<Checked>,
    pub turns: Vec<Turn>,
    pub evidence: Vec<(usize, Value)>, // a place in the table's evidence, and the value
    pub findings: Vec<(u32, bool)>,    // a hit, and whether it took part
    pub missing: Vec<usize>,
    pub behind: Vec<(usize, Value)>, // a place in what is gathered
    pub alert: Option<usize>,        // the place of the check that reports by itself
    pub exchanges: usize,            // that were judged
    deciding: Vec<u32>,
}

impl Verdicts {
    pub fn clear(&mut self) {
        self.checks.clear();
        self.turns.clear();
        self.evidence.clear();
        self.findings.clear();
        self.missing.clear();
        self.behind.clear();
        self.alert = None;
    }

    pub fn of(&self, checked: &Checked) -> &[Turn] {
        &self.turns[checked.turns.start as usize..checked.turns.end as usize]
    }

    pub fn worst(&self, checked: &Checked) -> &Turn {
        &self.turns[checked.worst]
    }

    pub fn findings(&self, turn: &Turn) -> &[(u32, bool)] {
        &self.findings[turn.findings.start as usize..turn.findings.end as usize]
    }

    pub fn evidence(&self, turn: &Turn) -> &[(usize, Value)] {
        &self.evidence[turn.evidence.start as usize..turn.evidence.end as usize]
    }

    pub fn missing(&self, turn: &Turn) -> &[usize] {
        &self.missing[turn.missing.start as usize..turn.missing.end as usize]
    }

    pub fn behind(&self, turn: &Turn) -> &[(usize, Value)] {
        &self.behind[turn.behind.start as usize..turn.behind.end as usize]
    }
}

/// Decides about one conversation.
pub struct Judge<'a, 'b> {
    pub steps: Interpreter<'a>,
    pub verdicts: &'b mut Verdicts,
}

impl Judge<'_, '_> {
    /// The verdicts of these checks, and in traffic of those that the user's words call for.
    pub fn decide(&mut self, asked: &[usize], unanswered: bool) {
        let kernel = self.steps.kernel;
        self.verdicts.clear();
        let mut exchanges = self.steps.conversation.turns;
        if unanswered && !kernel.alerting.iter().any(|&check| self.calls_for(&kernel.checks[check], exchanges - 1)) {
            exchanges -= 1; // nobody needs to hear that a conversation ends with its user
        }
        self.verdicts.exchanges = exchanges;
        let is_called = |own: &mut Self, check: usize| (0..exchanges).any(|turn| own.calls_for(&kernel.checks[check], turn));
        let alerting = if kernel.is_traffic { &kernel.alerting[..] } else { &[] };
        let called: Vec<usize> = alerting.iter().copied().filter(|&check| is_called(self, check)).collect();
        let mut names = asked.to_vec();
        names.extend(called.iter().filter(|check| !asked.contains(check)));
        for &check in &names {
            self.check(check, exchanges);
        }
        if unanswered && !called.is_empty() && exchanges == self.steps.conversation.turns {
            self.without_reply();
        }
        self.verdicts.alert = called.first().and_then(|first| names.iter().position(|name| name == first));
    }

    /// Whether the sign that a check reports on is in the user's message.
    fn calls_for(&mut self, table: &Table, turn: usize) -> bool {
        table.alert_on.iter().any(|&signal| {
            let kernel = self.steps.kernel;
            let value = match kernel.head_of[signal] {
                Some(head) => self.steps.learned(head, signal, turn),
                None => self.steps.hits_of(signal, turn),
            };
            let Value::Hits(list) = value else { return false };
            if !kernel.signals[signal].anchor {
                return true;
            }
            let limit = self.steps.conversation.exchanges[turn].anchor.1;
            let conversation = &self.steps.conversation;
            conversation.hits(list).iter().any(|&hit| conversation.hits[hit as usize].start < limit)
        })
    }

    fn check(&mut self, check: usize, exchanges: usize) {
        let kernel = self.steps.kernel;
        let table = &kernel.checks[check];
        let start = self.verdicts.turns.len();
        if exchanges == 0 {
            self.verdicts.turns.push(Turn::not_applicable(Reason::NoExchange));
        }
        for turn in 0..exchanges {
            let found = self.turn(table, turn);
            self.verdicts.turns.push(found);
        }
        let turns = List { start: start as u32, end: self.verdicts.turns.len() as u32 };
        if let Some(over) = table.over.as_ref().filter(|_| exchanges > 1) {
            self.gather(over, turns);
        }
        let worst = self.worst(table, turns);
        let urgency = self.urgency_of_all(turns, worst);
        self.verdicts.checks.push(Checked { check, turns, worst, urgency });
    }

    /// What a check decides; where it had no rules to find anything by, it is not assessed.
    fn turn(&mut self, table: &Table, turn: usize) -> Turn {
        if let Some(reason) = self.unreadable(table, turn) {
            let mut found = Turn::not_applicable(reason);
            self.verdicts.deciding.clear();
            found.findings = self.findings(turn, table.alert_on.iter().copied());
            return found;
        }
        let mut found = self.verdict(table, turn);
        if found.outcome == Outcome::Fail {
            found.severity = Some(self.severity(table, turn, &found));
            return found;
        }
        if found.outcome == Outcome::NotApplicable && found.findings.len() > 0 {
            return found;
        }
        match self.lacking(table, turn) {
            Some(reason) => Turn::not_applicable(reason),
            None => found,
        }
    }

    /// Why a check cannot read what it must: the reply, or the user's message where the check rests on it.
    fn unreadable(&self, table: &Table, turn: usize) -> Option<Reason> {
        let undetermined = self.steps.kernel.undetermined();
        let conversation = &self.steps.conversation;
        let (message, reply) = (conversation.message(turn, USER), conversation.message(turn, REPLY));
        if reply.bytes.is_empty() {
            Some(Reason::NoText)
        } else if reply.language == undetermined {
            Some(Reason::NoRulesOfReply)
        } else if message.language == undetermined && table.reads_message {
            Some(Reason::NoRulesOfMessage)
        } else {
            None
        }
    }

    /// The side whose language has a pack, but in it no rule of this check: to find nothing there says nothing.
    fn lacking(&self, table: &Table, turn: usize) -> Option<Reason> {
        let conversation = &self.steps.conversation;
        let (message, reply) = (conversation.message(turn, USER), conversation.message(turn, REPLY));
        if table.lacking[reply.language][REPLY].is_some() {
            return Some(Reason::Lacking { language: reply.language, side: REPLY });
        }
        let lacks = table.lacking[message.language][USER].is_some();
        lacks.then_some(Reason::Lacking { language: message.language, side: USER })
    }

    /// What a table says about an exchange.
    fn verdict(&mut self, table: &Table, turn: usize) -> Turn {
        let mut frame = Frame::of(turn, table);
        let reason = self.why_not(table, &mut frame);
        let applies = reason == Reason::None;
        frame.applicable = applies;
        let mut found = Turn::not_applicable(reason);
        if applies || table.evidence_without_verdict {
            found.evidence = self.evidence(table, &mut frame);
        }
        self.verdicts.deciding.clear();
        if applies || table.counted_without_verdict {
            for one in &table.counted {
                self.count(one, &mut frame);
            }
        }
        found.findings = self.shown(table, &mut frame);
        if applies {
            let passes = table.passes.as_ref().map_or(true, |passes| self.steps.holds(passes, &mut frame));
            found.outcome = if passes { Outcome::Pass } else { Outcome::Fail };
            found.missing = self.missing(table, passes, &mut frame);
        }
        found
    }

    fn why_not(&mut self, table: &Table, frame: &mut Frame) -> Reason {
        for row in &table.unless {
            if self.steps.holds(&row.when, frame) {
                if let [ReasonPart::Words(words)] = &row.reason[..] {
                    let made = self.steps.conversation.make(words.to_vec());
                    return Reason::Said(made);
                }
                return self.told(&row.reason, frame);
            }
        }
        Reason::None
    }

    /// A reason with what its steps hold.
    fn told(&mut self, parts: &[ReasonPart], frame: &mut Frame) -> Reason {
        let mut text = Vec::new();
        for part in parts {
            let value = match part {
                ReasonPart::Words(words) => {
                    text.extend_from_slice(words);
                    continue;
                }
                ReasonPart::Own(step) => self.steps.eval(&crate::tables::Node::Step(*step), frame),
                ReasonPart::Shared(step) => self.steps.shared(*step, frame.turn),
            };
            self.say(value, &mut text);
        }
        Reason::Said(self.steps.conversation.make(text))
    }

    /// A step in a sentence: the words of its first hit, or its names.
    fn say(&mut self, value: Value, text: &mut Vec<u8>) {
        let conversation = &self.steps.conversation;
        match value {
            Value::Hits(list) => text.extend_from_slice(conversation.words(conversation.hits(list)[0])),
            Value::Texts(list) => {
                for (place, &one) in conversation.texts(list).iter().enumerate() {
                    if place > 0 {
                        text.extend_from_slice(b", ");
                    }
                    text.extend_from_slice(self.steps.bytes(one));
                }
            }
            Value::Nothing => {}
            Value::Text(one) => text.extend_from_slice(self.steps.bytes(one)),
            Value::Whole(number) => text.extend_from_slice(number.to_string().as_bytes()),
            Value::Truth(truth) => text.extend_from_slice(if truth { b"True" } else { b"False" }),
            _ => self.steps.conversation.is_refused = true, // spelled by Python alone
        }
    }

    fn evidence(&mut self, table: &Table, frame: &mut Frame) -> List {
        let mut found = Vec::with_capacity(table.evidence.len());
        for (place, one) in table.evidence.iter().enumerate() {
            let value = self.steps.eval(&one.formula, frame);
            self.steps.conversation.is_refused |= matches!(value, Value::Hits(_));
            if !matches!(value, Value::Omitted) {
                found.push((place, value));
            }
        }
        let start = self.verdicts.evidence.len() as u32;
        self.verdicts.evidence.append(&mut found);
        List { start, end: self.verdicts.evidence.len() as u32 }
    }

    fn count(&mut self, node: &crate::tables::Node, frame: &mut Frame) {
        match self.steps.eval(node, frame) {
            Value::Hits(list) => self.verdicts.deciding.extend_from_slice(self.steps.conversation.hits(list)),
            Value::Nothing => {}
            _ => self.steps.conversation.is_refused = true,
        }
    }

    fn shown(&mut self, table: &Table, frame: &mut Frame) -> List {
        let mut signals = Vec::with_capacity(table.shown.len());
        for (signal, when) in &table.shown {
            if when.as_ref().map_or(true, |when| self.steps.holds(when, frame)) {
                signals.push(*signal);
            }
        }
        self.findings(frame.turn, signals.into_iter())
    }

    /// Every hit of these signals, warnings too, and whether it is among those that decide.
    fn findings(&mut self, turn: usize, signals: impl Iterator<Item = usize>) -> List {
        let kernel = self.steps.kernel;
        let start = self.verdicts.findings.len() as u32;
        self.verdicts.deciding.sort_unstable();
        for signal in signals {
            let learned = kernel.head_of[signal].map(|head| self.steps.learned(head, signal, turn));
            let Verdicts { findings, deciding, .. } = &mut *self.verdicts;
            let conversation = &self.steps.conversation;
            let mut add = |hit: u32| findings.push((hit, deciding.binary_search(&hit).is_ok()));
            match learned {
                Some(Value::Hits(list)) => conversation.hits(list).iter().copied().for_each(&mut add),
                Some(_) => {}
                None => {
                    let (first, last) = conversation.exchanges[turn].hits;
                    let is_shown = |&hit: &u32| conversation.hits[hit as usize].signal as usize == signal;
                    (first..last).filter(is_shown).for_each(&mut add);
                }
            }
        }
        List { start, end: self.verdicts.findings.len() as u32 }
    }

    fn missing(&mut self, table: &Table, passes: bool, frame: &mut Frame) -> List {
        let start = self.verdicts.missing.len() as u32;
        if !passes {
            for (place, (_, lacks)) in table.missing.iter().enumerate() {
                if self.steps.holds(lacks, frame) {
                    self.verdicts.missing.push(place);
                }
            }
        }
        List { start, end: self.verdicts.missing.len() as u32 }
    }

    // How bad a failure is.

    /// The hits that counted against the reply.
    fn against<'v>(&'v self, turn: &Turn) -> impl Iterator<Item = u32> + 'v {
        let kernel = self.steps.kernel;
        let conversation = &self.steps.conversation;
        let is_against = move |hit: u32| {
            let signal = conversation.hits[hit as usize].signal as usize;
            kernel.signals[signal].role == Role::Against
        };
        self.verdicts.findings(turn).iter().filter(move |&&(hit, counted)| counted && is_against(hit)).map(|&(hit, _)| hit)
    }

    fn severity(&mut self, table: &Table, turn: usize, found: &Turn) -> usize {
        let against: Vec<u32> = self.against(found).collect();
        let by_table = table.severity.iter().find(|row| self.row_holds(row, turn, &against)).map_or(MINOR, |row| row.severity);
        let said = |hit: u32| match self.steps.rule(hit).weight {
            Weight::Said(severity) => Some(severity),
            _ => None,
        };
        let told: Vec<usize> = against.iter().filter_map(|&hit| said(hit)).collect();
        let worst = told.iter().copied().min();
        match worst {
            Some(worst) if told.len() == against.len() => worst,
            Some(worst) => worst.min(by_table),
            None => by_table,
        }
    }

    fn row_holds(&mut self, row: &SeverityRow, turn: usize, against: &[u32]) -> bool {
        let is_named = |own: &Self, hit: u32| row.groups.contains(&own.steps.rule(hit).group_name);
        if !row.groups.is_empty() && !against.iter().any(|&hit| is_named(self, hit)) {
            return false;
        }
        match &row.when {
            None => true,
            Some(when) => {
                self.steps.holds(when, &mut Frame::shared(turn))
            }
        }
    }

    /// Rules that speak against the reply, and what it lacks.
    fn signs(&self, turn: &Turn, into: &mut Vec<(bool, u32)>) {
        into.extend(self.against(turn).map(|hit| (true, self.steps.rule(hit).name)));
        into.extend(self.verdicts.missing(turn).iter().map(|&place| (false, place as u32)));
    }

    fn urgency(&self, turn: &Turn) -> Urgency {
        if turn.outcome != Outcome::Fail {
            return Urgency::NONE;
        }
        let mut signs = Vec::new();
        self.signs(turn, &mut signs);
        signs.sort_unstable();
        signs.dedup();
        Urgency::new(turn.severity, signs.len())
    }

    /// That of a conversation: as bad as its worst turn, with the signs of all turns that failed.
    fn urgency_of_all(&self, turns: List, worst: usize) -> Urgency {
        let found = &self.verdicts.turns[worst];
        if found.outcome != Outcome::Fail || turns.len() == 1 {
            return self.urgency(found);
        }
        let mut signs = Vec::new();
        let all = &self.verdicts.turns[turns.start as usize..turns.end as usize];
        all.iter().filter(|turn| turn.outcome == Outcome::Fail).for_each(|turn| self.signs(turn, &mut signs));
        signs.sort_unstable();
        signs.dedup();
        Urgency::new(found.severity, signs.len())
    }

    // Conversations.

    /// The worst turn, of equals the first that a table prefers, else the first.
    fn worst(&mut self, table: &Table, turns: List) -> usize {
        let mut best: Option<((Outcome, isize, bool), usize)> = None;
        for number in turns.start as usize..turns.end as usize {
            if turns.len() == 1 {
                return number;
            }
            let turn = self.verdicts.turns[number];
            let preferred = table.over.as_ref().is_some_and(|over| self.prefers(table, over, &turn));
            let key = (turn.outcome, -(self.urgency(&turn).bad as isize), preferred);
            if best.map_or(true, |(known, _)| key > known) {
                best = Some((key, number));
            }
        }
        best.map_or(0, |(_, number)| number)
    }

    fn prefers(&mut self, table: &Table, over: &OverTurns, turn: &Turn) -> bool {
        let mut frame = Frame::of(0, table);
        frame.values = vec![Some(Value::Unknown); table.evidence.len()];
        for &(place, value) in self.verdicts.evidence(turn) {
            frame.values[place] = Some(value);
        }
        let conversation = &self.steps.conversation;
        let signals = self.verdicts.findings(turn).iter().map(|&(hit, _)| conversation.hits[hit as usize].signal as usize);
        frame.shown = Some(signals.collect());
        self.steps.holds(&over.prefer, &mut frame)
    }

    /// Turns that belong together know of each other: lists of their evidence are joined.
    fn gather(&mut self, over: &OverTurns, turns: List) {
        for (number, (goes, source)) in over.gather.iter().enumerate() {
            let mut joined: HashMap<i64, Vec<i64>> = HashMap::new();
            for turn in turns.start as usize..turns.end as usize {
                if let Some((key, items)) = self.own(turn, over.same, *source) {
                    joined.entry(key).or_default().extend(items);
                }
            }
            let mut lists: HashMap<i64, Value> = HashMap::new();
            for (key, items) in joined {
                let start = self.steps.conversation.wholes.len() as u32;
                self.steps.conversation.wholes.extend(items);
                lists.insert(key, Value::Wholes(List { start, end: self.steps.conversation.wholes.len() as u32 }));
            }
            for turn in turns.start as usize..turns.end as usize {
                if let Some((key, _)) = self.own(turn, over.same, *source) {
                    self.put(turn, goes, number, lists[&key]);
                }
            }
        }
    }

    /// The key of a turn and a list of its evidence; None where it has no key.
    fn own(&mut self, turn: usize, same: usize, source: usize) -> Option<(i64, Vec<i64>)> {
        let evidence = self.verdicts.evidence(&self.verdicts.turns[turn]);
        let value = |place: usize| evidence.iter().find(|one| one.0 == place).map(|one| one.1);
        let key = value(same)?;
        let items = value(source);
        let (Value::Whole(key), Some(items)) = (key, items) else {
            self.steps.conversation.is_refused = true; // Python can join by other keys, or says what is missing
            return None;
        };
        match items {
            Value::Nothing => Some((key, Vec::new())),
            Value::Wholes(list) => {
                Some((key, self.steps.conversation.wholes[list.start as usize..list.end as usize].to_vec()))
            }
            _ => {
                self.steps.conversation.is_refused = true;
                None
            }
        }
    }

    fn put(&mut self, turn: usize, goes: &Gathered, number: usize, value: Value) {
        let Turn { evidence, behind, .. } = self.verdicts.turns[turn];
        if let Gathered::Evidence(place) = goes {
            let own = &mut self.verdicts.evidence[evidence.start as usize..evidence.end as usize];
            if let Some(one) = own.iter_mut().find(|one| one.0 == *place) {
                one.1 = value;
                return;
            }
            // Evidence that this turn left out: Python adds it behind the others.
            self.steps.conversation.is_refused = true;
            return;
        }
        let mut kept: Vec<_> = self.verdicts.behind[behind.start as usize..behind.end as usize].to_vec();
        kept.push((number, value));
        let start = self.verdicts.behind.len() as u32;
        self.verdicts.behind.append(&mut kept);
        self.verdicts.turns[turn].behind = List { start, end: self.verdicts.behind.len() as u32 };
    }

    /// The last turn of a conversation that ends with its user was not silent, it never came.
    fn without_reply(&mut self) {
        let Verdicts { checks, turns, .. } = &mut *self.verdicts;
        for checked in checks {
            let last = checked.turns.end as usize - 1;
            let is_conversation = checked.turns.len() > 1;
            if is_conversation && checked.worst == last {
                turns.push(turns[last]); // what stands for all turns keeps its reason
                checked.worst = turns.len() - 1;
            }
            if is_conversation || turns[last].reason == Reason::NoText {
                turns[last].reason = Reason::NoReply;
            }
        }
    }
}
