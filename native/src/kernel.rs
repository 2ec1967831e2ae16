//! The kernel: from lines to records. Read, detect, match, decide by tables, write; what it does not know Python does.
//!
//! It knows no check, no rule and no language: all of them come in the set-up that Python hands over once.

use crate::cases::{Case, Origin};
use crate::characters::Characters;
use crate::conversation::{Conversation, Hit, Language, Role, Rule, Signal, Tongue, Weight, REPLY, USER};
use crate::counts::Counts;
use crate::detection::{Detector, How, Memory};
use crate::drafts::{is_inside, Drafts};
use crate::facts::Tools;
use crate::formulas::Interpreter;
use crate::helplines::Helplines;
use crate::input::Problem;
use crate::json::Json;
use crate::learned::Model;
use crate::marks::Marks;
use crate::matcher::{Matcher, Scratch, Side};
use crate::prose::Prose;
use crate::records::{head_and_tail, Writer};
use crate::required::hash_of_bytes;
use crate::shape::Words as WordSet;
use crate::tables::{quoted, steps_of, Loader, Name, Names, Scope, Table};
use crate::text::{Language as Spelling, Span};
use crate::verdicts::{Judge, Outcome, Verdicts, RANKS};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

const FORMAT: i64 = 1;
const STEPS_OF_CALL: u64 = 50_000_000; // about a quarter of a second: then Python may look whether anybody still waits
const MOST_TURNS: usize = 100_000; // of a conversation; beyond them numbers are spelled in ways that only Python knows
const EXAMPLES: usize = 5; // of each kind, in a block

/// Words that Python has for what tables do not say.
pub struct Words {
    pub no_text: Box<[u8]>,
    pub no_reply: Box<[u8]>,
    pub no_rules_of_reply: Box<[u8]>,
    pub no_rules_of_message: Box<[u8]>,
    pub no_exchange: Box<[u8]>,
    pub no_language: Box<[u8]>, // fields of a result without a reply, as JSON
    pub hows: Vec<Box<[u8]>>,
    pub cue: Name,
    pub excused_turns: Name,
    negative: Box<[u8]>,
    negative_ending: Box<[u8]>,
}

impl Words {
    pub fn is_negative(&self, tag: &[u8]) -> bool {
        *tag == *self.negative || tag.ends_with(&self.negative_ending)
    }
}

/// How one head of the learned reader is used.
pub struct Decision {
    pub number: usize, // of the head in the weights
    pub side: usize,
    pub alone: Vec<Option<(f64, Box<[u8]>)>>, // by language: from where on it decides alone, and as JSON
    pub agree: Vec<Option<f64>>,
    pub precise: Vec<Name>,
}

pub struct LearnedReader {
    pub model: Arc<Model<'static>>,
    pub name: Box<[u8]>, // as JSON
    pub unit: f64,
    pub bias: Vec<i64>,
    pub decisions: Vec<Decision>,
    rules: Vec<Rule>,
}

/// What packs advise where a reply lacks something, by language, check and name.
pub struct Advice(Vec<HashMap<(Box<[u8]>, Box<[u8]>), Box<[u8]>>>);

impl Advice {
    pub fn find(&self, language: usize, check: &[u8], name: &[u8]) -> &[u8] {
        self.0[language].get(&(check.into(), name.into())).map_or(b"", |advice| advice)
    }
}

/// The languages that are loaded, by number.
#[derive(Clone, Default)]
pub struct Languages(Vec<Option<Arc<Language>>>);

impl Languages {
    pub fn find(&self, number: usize) -> Option<&Language> {
        self.0.get(number)?.as_deref()
    }

    /// One that hits were found in.
    pub fn get(&self, number: usize) -> &Language {
        self.0[number].as_deref().expect("a hit is of a language that was read")
    }
}

/// Everything that verdicts depend on, and what threads leave for each other.
pub struct Kernel {
    pub characters: Arc<Characters>,
    pub is_traffic: bool,
    pub profile: Box<[u8]>, // as JSON
    pub names: Vec<Box<[u8]>>,
    pub signals: Vec<Signal>,
    pub head_of: Vec<Option<usize>>, // of the signals that the learned reader finds
    pub checks: Vec<Table>,
    pub shared: Table,
    pub alerting: Vec<usize>,
    pub tongues: Vec<Tongue>,
    pub learned: Option<LearnedReader>,
    pub words: Words,
    pub advice: Advice,
    pub helplines: Helplines,
    pub helpline_labels: Vec<Name>,
    pub speaks_of_self: Option<usize>,
    text_request: Option<usize>,
    letter: Option<usize>,
    letter_parts: [Name; 2], // the groups of words that may begin and end a letter
    detector: Arc<Detector>,
    check_names: HashMap<Box<[u8]>, usize>,
    pub undecided: String, // names of checks whose tables only Python can run, one a line
    language_names: HashMap<Box<[u8]>, usize>,
    plain: Spelling,
    naming: Mutex<Names>,
    languages: RwLock<Languages>,
    idle: Mutex<Vec<State>>,
}

/// What a line has become.
#[derive(Clone, Copy, PartialEq)]
pub enum Status {
    Done = 0,
    Deferred = 1, // to Python
    Skipped = 2,  // none of its checks is wanted
}

/// A line of the answer.
pub struct LineAnswer {
    pub line: u64, // its number among the lines of the block, from 0
    pub status: Status,
    pub is_odd: bool,
    pub end: usize, // of its record
    pub hash: u64,  // of its id
}

/// In which form results are wanted.
#[derive(Clone, Copy, PartialEq)]
pub enum Form {
    None,
    Record,
    Result,
}

/// What a call asks for.
pub struct Options<'a> {
    pub origin: Origin<'a>,
    pub form: Form,
    pub before: &'a [u8], // each record
    pub after: &'a [u8],
    pub keeps_text: bool,
    pub failures: bool, // written in short, too
    pub only_failures: bool, // and alerts: of the others no record is written
    pub examples: bool,
    pub language: Option<usize>, // of cases that do not say theirs
    pub first_line: u64,
}

/// What came of a block.
pub struct Answer {
    pub lines: Vec<LineAnswer>,
    pub records: Vec<u8>,
    pub failures: [Vec<u8>; RANKS],
    pub gaps: Vec<u64>, // for each deferred line, where in the failures of each rank its own would be
    pub ids: Vec<u8>,
    pub examples: Vec<u8>, // results, one to a line
    pub example_lines: Vec<u64>,
    pub example_kinds: Vec<u64>,
    pub counts: Vec<u8>,
    pub reached: usize, // bytes of the content; the rest is for another call
    pub reached_lines: u64,
    pub missing: Option<usize>, // a language that has to be loaded first
}

/// What a thread works with, kept from block to block.
#[derive(Default)]
struct State {
    case: Case,
    conversation: Conversation,
    verdicts: Verdicts,
    memory: Memory,
    prose: Prose,
    drafts: Drafts,
    tools: Tools,
    scratches: Vec<Option<Scratch>>,
    whole: crate::text::Text,
}

/// Why a conversation was not read.
enum Unread {
    Refused,
    Missing(usize), // a language
}

impl From<crate::text::Declined> for Unread {
    fn from(_: crate::text::Declined) -> Self {
        Unread::Refused
    }
}

impl Kernel {
    pub fn load(
        setup: &[u8], characters: Arc<Characters>, detector: Arc<Detector>, model: Option<Arc<Model<'static>>>,
    ) -> Result<Self, Problem> {
        Setup { json: &Json::parse(setup)?, names: Names::default() }.kernel(characters, detector, model)
    }

    pub fn check_named(&self, name: &[u8]) -> Option<usize> {
        self.check_names.get(name).copied()
    }

    /// The number of the language that stands for all that cannot be read.
    pub fn undetermined(&self) -> usize {
        self.tongues.len() - 1
    }

    pub fn learned_rule(&self, head: usize) -> &Rule {
        let learned = self.learned.as_ref().expect("its findings are of a reader that is on");
        &learned.rules[head]
    }

    /// Takes in a language; `rules` says of each rule of the matcher what is to be known of it, or that it is not used.
    pub fn add_language(&self, number: usize, matcher: Arc<Matcher>, rules: &[u8]) -> Result<(), Problem> {
        let json = Json::parse(rules)?;
        let mut names = self.naming.lock().unwrap_or_else(PoisonError::into_inner);
        let found = json.list()?.iter().map(|told| self.rule(told, &mut names)).collect::<Result<Vec<_>, _>>()?;
        drop(names);
        if found.len() != matcher.rule_count() {
            return Err(format!("{} rules are told, and the program has {}", found.len(), matcher.rule_count()));
        }
        let mut languages = self.languages.write().unwrap_or_else(PoisonError::into_inner);
        let place = languages.0.get_mut(number).filter(|_| number < self.undetermined()).ok_or("there is no such language")?;
        *place = Some(Arc::new(Language { matcher, rules: found }));
        Ok(())
    }

    /// A rule from `[id, signal, group, severity, is bundled]`; null: it is not in force.
    fn rule(&self, told: &Json, names: &mut Names) -> Result<Option<Rule>, Problem> {
        let Json::List(fields) = told else { return Ok(None) };
        let [id, signal, group, severity, is_bundled] = &fields[..] else { return Err("a rule has five fields".into()) };
        let number = signal.below(self.signals.len())?;
        let weight = match severity.text()? {
            "fail" => Weight::Plain,
            "warning" => Weight::Warning,
            "critical" => Weight::Said(0),
            "serious" => Weight::Said(1),
            "minor" => Weight::Said(2),
            other => return Err(format!("there is no severity '{other}'")),
        };
        let Signal { name, side, role, .. } = &self.signals[number];
        let (id, group) = (id.text()?, group.text()?);
        let [head, tail] = head_and_tail(id, name, *side, weight, *role);
        let rule = Rule {
            id: id.as_bytes().into(),
            name: names.number(id),
            group: group.as_bytes().into(),
            group_name: names.number(group),
            signal: number,
            weight,
            is_bundled: is_bundled.truth()?,
            head,
            tail,
        };
        Ok(Some(rule))
    }

    /// Evaluates the lines of a block, or as many as a call may.
    pub fn block(&self, content: &[u8], options: &Options) -> Answer {
        let languages = self.languages.read().unwrap_or_else(PoisonError::into_inner).clone();
        let mut state = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop().unwrap_or_default();
        state.scratches.resize_with(self.tongues.len(), || None);
        let mut block = Block { kernel: self, languages, options, counts: Counts::new(self), kinds: HashMap::new(), steps: 0 };
        let mut answer = Answer::new();
        block.run(content, &mut state, &mut answer);
        block.counts.write(self, &mut answer.counts);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(state);
        answer
    }
}

impl Answer {
    fn new() -> Self {
        Self {
            lines: Vec::new(),
            records: Vec::new(),
            failures: Default::default(),
            gaps: Vec::new(),
            ids: Vec::new(),
            examples: Vec::new(),
            example_lines: Vec::new(),
            example_kinds: Vec::new(),
            counts: Vec::new(),
            reached: 0,
            reached_lines: 0,
            missing: None,
        }
    }
}

/// A call.
struct Block<'a> {
    kernel: &'a Kernel,
    languages: Languages,
    options: &'a Options<'a>,
    counts: Counts,
    kinds: HashMap<u64, usize>, // of results that somebody is shown first
    steps: u64,
}

impl Block<'_> {
    fn run(&mut self, content: &[u8], state: &mut State, answer: &mut Answer) {
        let mut number = 0;
        for line in content.split(|&byte| byte == b'\n') {
            if self.steps > STEPS_OF_CALL {
                return;
            }
            if !line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | 0x0B | 0x0C)) {
                match self.line(line, number, state, answer) {
                    Ok((status, is_odd)) => {
                        if status == Status::Deferred {
                            answer.gaps.extend(answer.failures.iter().map(|failures| failures.len() as u64));
                        }
                        let hash = if status == Status::Deferred { 0 } else { hash_of_bytes(&state.case.id) };
                        answer.lines.push(LineAnswer { line: number, status, is_odd, end: answer.records.len(), hash });
                    }
                    Err(language) => {
                        answer.missing = Some(language);
                        return;
                    }
                }
            }
            number += 1;
            answer.reached = (answer.reached + line.len() + 1).min(content.len());
            answer.reached_lines = number;
        }
    }

    /// What becomes of a line, and whether its labels are odd; the number of a language that is missing for it.
    fn line(&mut self, line: &[u8], number: u64, state: &mut State, answer: &mut Answer) -> Result<(Status, bool), usize> {
        let State { case, conversation, .. } = state;
        let place = self.options.first_line + number;
        if case.read(line, place, &self.options.origin, self.kernel, conversation).is_none() || conversation.turns > MOST_TURNS {
            return Ok((Status::Deferred, false));
        }
        if case.checks.is_empty() {
            add_id(&case.id, &mut answer.ids);
            return Ok((Status::Skipped, false));
        }
        match self.read(state) {
            Ok(()) => {}
            Err(Unread::Refused) => return Ok((Status::Deferred, false)),
            Err(Unread::Missing(language)) => return Err(language),
        }
        if self.decide(state) {
            self.write(number, state, answer);
            return Ok((Status::Done, state.case.is_odd));
        }
        Ok((Status::Deferred, false))
    }

    // Reading.

    fn read(&mut self, state: &mut State) -> Result<(), Unread> {
        self.detect(state)?;
        for turn in 0..state.conversation.turns {
            self.steps += state.conversation.exchanges[turn].sides.iter().map(|side| side.points.len() as u64).sum::<u64>();
            self.read_exchange(turn, state)?;
        }
        Ok(())
    }

    /// The declared language of all texts, else what the conversation tells.
    fn detect(&self, state: &mut State) -> Result<(), Unread> {
        let State { case, conversation, memory, .. } = state;
        let exchanges = &mut conversation.exchanges[..conversation.turns];
        let declared = match &case.language {
            Some(code) => Some(self.kernel.language_names.get(&code[..]).copied().unwrap_or(self.kernel.undetermined())),
            None => self.options.language,
        };
        if let Some(language) = declared {
            for side in exchanges.iter_mut().flat_map(|exchange| &mut exchange.sides) {
                (side.language, side.how) = (language, How::Declared as usize);
            }
            return Ok(());
        }
        let texts = exchanges.iter().flat_map(|exchange| &exchange.sides).map(|side| &side.points[..]);
        let found = self.kernel.detector.conversation(texts, &self.kernel.characters, memory).ok_or(Unread::Refused)?;
        let sides = exchanges.iter_mut().flat_map(|exchange| &mut exchange.sides);
        for (side, (language, how)) in sides.zip(found) {
            (side.language, side.how) = (language as usize, how as usize);
        }
        Ok(())
    }

    fn read_exchange(&mut self, turn: usize, state: &mut State) -> Result<(), Unread> {
        let kernel = self.kernel;
        let first = state.conversation.hits.len() as u32;
        self.read_side(turn, USER, state)?;
        let asks_for_text = |hit: &Hit| Some(hit.signal as usize) == kernel.text_request && !hit.warns;
        let asks_for_text = state.conversation.hits[first as usize..].iter().any(asks_for_text);
        self.speak(turn, state)?;
        let reply = state.conversation.hits.len();
        self.read_side(turn, REPLY, state)?;
        if asks_for_text {
            self.leave_out_drafts(turn, reply, state);
        }
        let exchange = &mut state.conversation.exchanges[turn];
        let normal = &exchange.sides[REPLY].normal;
        let (start, end) = normal.span(0, normal.anchor_end());
        exchange.anchor = (start as u32, end as u32);
        exchange.hits = (first, state.conversation.hits.len() as u32);
        exchange.values.resize(kernel.shared.steps.len(), None);
        Ok(())
    }

    /// Of a reply, what is said to the person.
    fn speak(&self, turn: usize, state: &mut State) -> Result<(), Unread> {
        let State { conversation, prose, .. } = state;
        let [user, reply] = &mut conversation.exchanges[turn].sides;
        let spoken = prose.read(&reply.points, &user.points, &self.kernel.characters)?;
        reply.spoken = spoken.map(<[u32]>::to_vec);
        Ok(())
    }

    fn read_side(&mut self, turn: usize, side: usize, state: &mut State) -> Result<(), Unread> {
        let State { conversation, scratches, whole, .. } = state;
        let Conversation { exchanges, hits, .. } = conversation;
        let message = &mut exchanges[turn].sides[side];
        let characters = &*self.kernel.characters;
        let number = message.language;
        let text = message.spoken.as_deref().unwrap_or(&message.points);
        if message.points.is_empty() || number == self.kernel.undetermined() {
            return Ok(message.normal.read(text, &self.kernel.plain, characters)?);
        }
        let Some(language) = self.languages.find(number) else { return Err(Unread::Missing(number)) };
        let read_as = match side {
            REPLY => Side::Reply,
            _ if self.kernel.is_traffic => Side::Message,
            _ => Side::AuthoredMessage,
        };
        let spelling = &language.matcher.language;
        message.normal.read(text, spelling, characters)?;
        let scratch = scratches[number].get_or_insert_with(|| language.matcher.scratch());
        let before = scratch.steps();
        let start = hits.len();
        language.matcher.read(&mut message.normal, read_as, characters, scratch).map_err(|_| Unread::Refused)?;
        let is_whole = |hit: &Hit| self.kernel.signals[hit.signal as usize].whole;
        let mut take = |found: &[crate::matcher::Hit], keeps: &dyn Fn(&Hit) -> bool| {
            let made = found.iter().filter_map(|hit| made(hit, &language.rules, number, turn, side));
            hits.extend(made.filter(|hit| keeps(hit)));
        };
        if message.spoken.is_none() {
            take(&scratch.hits, &|_| true);
        } else {
            // What counts in the whole of a reply is looked for in all of it.
            take(&scratch.hits, &|hit| !is_whole(hit));
            whole.read(&message.points, spelling, characters)?;
            language.matcher.read(whole, read_as, characters, scratch).map_err(|_| Unread::Refused)?;
            take(&scratch.hits, &is_whole);
            let id = |hit: &Hit| language.rules[hit.rule as usize].as_ref().map(|rule| &rule.id);
            hits[start..].sort_by(|one, other| {
                let by_place = (one.start, std::cmp::Reverse(one.end)).cmp(&(other.start, std::cmp::Reverse(other.end)));
                by_place.then_with(|| id(one).cmp(&id(other)))
            });
        }
        self.steps += scratch.steps() - before;
        Ok(())
    }

    /// Where the user asked for a text, hits in the parts of the reply that can be it say nothing of the reply.
    fn leave_out_drafts(&self, turn: usize, first: usize, state: &mut State) {
        let State { conversation, drafts, .. } = state;
        let exchange = &mut conversation.exchanges[turn];
        let language = exchange.sides[REPLY].language;
        let rules = self.languages.find(language).map_or(&[][..], |language| &language.rules);
        let part = |group: Name| -> Vec<Span> {
            let is_group = |hit: &Hit| rules[hit.rule as usize].as_ref().is_some_and(|rule| rule.group_name == group);
            let is_part = |hit: &&Hit| Some(hit.signal as usize) == self.kernel.letter && is_group(hit);
            let found = conversation.hits[first..].iter().filter(is_part);
            found.map(|hit| (hit.start as usize, hit.end as usize)).collect()
        };
        let [openings, closings] = self.kernel.letter_parts.map(part);
        let points = &exchange.sides[REPLY].points;
        exchange.drafts = drafts.read(points, &openings, &closings, &self.kernel.characters).to_vec();
        let (spans, signals) = (&exchange.drafts, &self.kernel.signals);
        let mut place = 0;
        conversation.hits.retain(|hit| {
            place += 1;
            place <= first || signals[hit.signal as usize].whole || !is_inside(spans, hit.start as usize)
        });
    }

    // Deciding and writing.

    fn decide(&self, state: &mut State) -> bool {
        let State { case, conversation, verdicts, tools, .. } = state;
        let steps = Interpreter { kernel: self.kernel, languages: &self.languages, conversation, tools };
        let mut judge = Judge { steps, verdicts };
        judge.decide(&case.checks, case.is_unanswered);
        !judge.steps.conversation.is_refused
    }

    fn write(&mut self, number: u64, state: &State, answer: &mut Answer) {
        let State { case, conversation, verdicts, .. } = state;
        let options = self.options;
        let languages = &self.languages;
        let result = Writer { kernel: self.kernel, languages, conversation, verdicts, case, keeps_text: options.keeps_text };
        let outcome = result.outcome();
        add_id(&case.id, &mut answer.ids);
        if options.form != Form::None && (!options.only_failures || outcome == Outcome::Fail || verdicts.alert.is_some()) {
            answer.records.extend_from_slice(options.before);
            if options.form == Form::Record {
                result.record(&mut answer.records);
            } else {
                result.result(&mut answer.records);
            }
            answer.records.extend_from_slice(options.after);
        }
        if options.failures && outcome == Outcome::Fail {
            let out = &mut answer.failures[result.urgency().rank()];
            out.extend_from_slice(b",\n    ");
            result.failure(out);
        }
        if options.examples && (outcome == Outcome::Fail || verdicts.alert.is_some()) {
            let kind = result.kind();
            let alike = self.kinds.entry(kind).or_default();
            *alike += 1;
            if *alike <= EXAMPLES {
                result.result(&mut answer.examples);
                answer.examples.push(b'\n');
                answer.example_lines.push(number);
                answer.example_kinds.push(kind);
            }
        }
        self.counts.add(&result);
    }
}

fn add_id(id: &[u8], ids: &mut Vec<u8>) {
    ids.extend_from_slice(id);
    ids.push(b'\n');
}

/// A hit of a rule that is in force.
fn made(hit: &crate::matcher::Hit, rules: &[Option<Rule>], language: usize, turn: usize, side: usize) -> Option<Hit> {
    let rule = rules[hit.rule as usize].as_ref()?;
    Some(Hit {
        language: language as u16,
        signal: rule.signal as u16,
        side: side as u8,
        warns: rule.weight == Weight::Warning,
        rule: hit.rule,
        turn: turn as u32,
        start: hit.start as u32,
        end: hit.end as u32,
    })
}

/// Reads what Python hands over.
struct Setup<'a> {
    json: &'a Json,
    names: Names,
}

impl Setup<'_> {
    fn kernel(
        mut self, characters: Arc<Characters>, detector: Arc<Detector>, model: Option<Arc<Model<'static>>>,
    ) -> Result<Kernel, Problem> {
        let json = self.json;
        if json.field("format")?.whole()? != FORMAT {
            return Err(format!("this library reads set-ups of format {FORMAT}"));
        }
        let signals = each(json.field("signals")?, signal)?;
        let numbers: HashMap<String, usize> =
            signals.iter().enumerate().map(|(number, one)| (String::from_utf8_lossy(&one.name).into_owned(), number)).collect();
        let tongues = each(json.field("languages")?, tongue)?;
        if tongues.len() != detector.undetermined() as usize + 1 || tongues.len() > u16::MAX as usize {
            return Err("the languages are not those of the detector".into());
        }
        let heads = json.field("heads")?.texts()?;
        let heads: HashMap<String, usize> = heads.into_iter().enumerate().map(|(number, head)| (head, number)).collect();
        let head_of = numbers_of_heads(&signals, &heads);
        let learned = match (json.find("learned"), model) {
            (Some(told), Some(model)) => Some(self.learned(told, model, &heads, &numbers, &signals, tongues.len())?),
            _ => None,
        };
        let shared_json = json.field("shared")?;
        let shared_steps = steps_of(shared_json)?;
        let mut scope = Scope { names: &mut self.names, signals: &numbers, heads: &heads, languages: tongues.len() };
        let none = HashMap::new();
        let shared = Loader::new(&mut scope, shared_json, &none)?.table(shared_json)?;
        let (mut checks, mut undecided) = (Vec::new(), Vec::new());
        for table in json.field("checks")?.list()? {
            let loaded = Loader::new(&mut scope, table, &shared_steps).and_then(|loader| loader.table(table));
            match loaded {
                Ok(table) => checks.push(table),
                Err(_) => undecided.push(table.field("name")?.text()?),
            }
        }
        let check_names: HashMap<Box<[u8]>, usize> =
            checks.iter().enumerate().map(|(number, table)| (table.name.clone(), number)).collect();
        let alerting = json.field("alerting")?.texts()?;
        let alerting = alerting.iter().map(|name| check_names.get(name.as_bytes()).copied().ok_or("an alert has no table"));
        let alerting = alerting.collect::<Result<Vec<_>, _>>()?;
        let find = |name: &str| json.find(name).and_then(|signal| signal.text().ok()).and_then(|signal| numbers.get(signal).copied());
        let words = self.words()?;
        let labels = each(json.field("helplines")?, |line| Ok(self.names.number(first_of(line)?)))?;
        let written = each(json.field("helplines")?, |line| {
            let numbers = line.list()?[1..].iter().map(|number| Ok(number.text()?.chars().map(u32::from).collect()));
            numbers.collect::<Result<Vec<Vec<u32>>, Problem>>()
        })?;
        let helplines = Helplines::of(&written, &characters)?;
        let letter_parts = [json.field("opening")?.text()?, json.field("closing")?.text()?].map(|part| self.names.number(part));
        let language_names = tongues.iter().enumerate().filter(|(_, tongue)| tongue.is_ours);
        let language_names = language_names.map(|(number, tongue)| (tongue.code.clone(), number)).collect();
        let profile = json.field("profile")?.text()?;
        let languages = Languages(tongues.iter().map(|_| None).collect());
        Ok(Kernel {
            characters,
            is_traffic: profile == "traffic",
            profile: quoted(profile),
            signals,
            head_of,
            checks,
            shared,
            alerting,
            advice: advice(json.field("advice")?)?,
            tongues,
            learned,
            words,
            helplines,
            helpline_labels: labels,
            speaks_of_self: find("speaks_of_self"),
            text_request: find("text_request"),
            letter: find("letter"),
            letter_parts,
            detector,
            check_names,
            undecided: undecided.join("\n"),
            language_names,
            plain: Spelling { spaced: true, abbreviations: HashSet::new() },
            names: self.names.texts.clone(),
            naming: Mutex::new(self.names),
            languages: RwLock::new(languages),
            idle: Mutex::new(Vec::new()),
        })
    }

    fn words(&mut self) -> Result<Words, Problem> {
        let words = self.json.field("words")?;
        let told = |name: &str| Ok::<_, Problem>(words.field(name)?.text()?.as_bytes().into());
        Ok(Words {
            no_text: told("no_text")?,
            no_reply: told("no_reply")?,
            no_rules_of_reply: told("no_rules_of_reply")?,
            no_rules_of_message: told("no_rules_of_message")?,
            no_exchange: told("no_exchange")?,
            no_language: told("no_language")?,
            hows: words.field("hows")?.texts()?.into_iter().map(|how| how.into_bytes().into()).collect(),
            negative: told("negative")?,
            negative_ending: told("negative_ending")?,
            cue: self.names.number("cue"),
            excused_turns: self.names.number("excused_turns"),
        })
    }

    fn learned(
        &mut self, told: &Json, model: Arc<Model<'static>>, heads: &HashMap<String, usize>, numbers: &HashMap<String, usize>,
        signals: &[Signal], languages: usize,
    ) -> Result<LearnedReader, Problem> {
        let bias = each(told.field("bias")?, Json::whole)?;
        let (mut decisions, mut rules) = (Vec::new(), Vec::new());
        let told_decisions = told.field("decisions")?.list()?;
        if told_decisions.len() != heads.len() || bias.len() != model.head_count() {
            return Err("the heads are not those of the model".into());
        }
        for decision in told_decisions {
            let id = decision.field("id")?.text()?;
            let group = decision.field("group")?.text()?;
            // A head that no check asks for has no signal; its findings are never made.
            let signal = numbers.get(id).copied();
            let (name, side, role) = signal.map_or((id.as_bytes(), REPLY, Role::Against), |number| {
                (&signals[number].name[..], signals[number].side, signals[number].role)
            });
            let [head, tail] = head_and_tail(id, name, side, Weight::Plain, role);
            let made = self.decision(decision, bias.len(), languages)?;
            if signal.is_some() && made.side != side {
                return Err(format!("'{id}' is looked for on one side and marks the other"));
            }
            rules.push(Rule {
                id: id.as_bytes().into(), name: self.names.number(id), group: group.as_bytes().into(),
                group_name: self.names.number(group), signal: signal.unwrap_or(0), weight: Weight::Plain,
                is_bundled: false, // what a score says alone asks no other score
                head, tail,
            });
            decisions.push(made);
        }
        let unit = told.field("unit")?.below(63)?;
        Ok(LearnedReader { model, name: quoted(told.field("name")?.text()?), unit: (1u64 << unit) as f64, bias, decisions, rules })
    }

    fn decision(&mut self, told: &Json, heads: usize, languages: usize) -> Result<Decision, Problem> {
        let alone = each(told.field("alone")?, |one| match one {
            Json::Null => Ok(None),
            Json::Text(number) => {
                let value = number.parse().map_err(|_| format!("'{number}' is not a number"))?;
                Ok(Some((value, number.as_bytes().into())))
            }
            _ => Err("a threshold is written as a text".into()),
        })?;
        let agree = each(told.field("agree")?, |one| if *one == Json::Null { Ok(None) } else { one.number().map(Some) })?;
        if alone.len() != languages || agree.len() != languages {
            return Err("a decision does not know all languages".into());
        }
        Ok(Decision {
            number: told.field("head")?.below(heads)?,
            side: side(told.field("side")?)?,
            alone,
            agree,
            precise: each(told.field("precise")?, |name| Ok(self.names.number(name.text()?)))?,
        })
    }
}

fn numbers_of_heads(signals: &[Signal], heads: &HashMap<String, usize>) -> Vec<Option<usize>> {
    let prefix = crate::tables::LEARNED.as_bytes();
    let head = |signal: &Signal| {
        let name = std::str::from_utf8(signal.name.strip_prefix(prefix)?).ok()?;
        heads.get(name).copied()
    };
    signals.iter().map(head).collect()
}

fn each<T>(json: &Json, read: impl FnMut(&Json) -> Result<T, Problem>) -> Result<Vec<T>, Problem> {
    json.list()?.iter().map(read).collect()
}

fn first_of(json: &Json) -> Result<&str, Problem> {
    json.list()?.first().ok_or("an empty list")?.text()
}

fn side(json: &Json) -> Result<usize, Problem> {
    match json.text()? {
        "user" => Ok(USER),
        "assistant" => Ok(REPLY),
        other => Err(format!("there is no side '{other}'")),
    }
}

fn signal(json: &Json) -> Result<Signal, Problem> {
    let role = match json.field("role")?.text()? {
        "for" => Role::For,
        "against" => Role::Against,
        _ => Role::Context,
    };
    Ok(Signal {
        name: json.field("name")?.text()?.as_bytes().into(),
        side: side(json.field("where")?)?,
        role,
        anchor: json.field("anchor")?.truth()?,
        whole: json.field("whole")?.truth()?,
    })
}

fn tongue(json: &Json) -> Result<Tongue, Problem> {
    let everyday: Vec<Vec<u32>> = each(json.field("everyday")?, |word| Ok(word.text()?.chars().map(u32::from).collect()))?;
    Ok(Tongue {
        code: json.field("code")?.text()?.as_bytes().into(),
        is_ours: json.field("is_ours")?.truth()?,
        spaced: json.field("spaced")?.truth()?,
        single_ideographs: json.field("single_ideographs")?.truth()?,
        everyday_marks: everyday.iter().flatten().copied().fold(Marks::EMPTY, Marks::with),
        everyday: WordSet::new(everyday.iter().map(|word| &word[..])),
    })
}

fn advice(json: &Json) -> Result<Advice, Problem> {
    let of_language = |entries: &Json| {
        entries.list()?.iter().map(|entry| {
            let [check, name, text] = entry.list()? else { return Err("an advice has three fields".to_string()) };
            let [check, name, text] = [check.text()?, name.text()?, text.text()?].map(|one| Box::<[u8]>::from(one.as_bytes()));
            Ok(((check, name), text))
        }).collect()
    };
    Ok(Advice(each(json, of_language)?))
}
