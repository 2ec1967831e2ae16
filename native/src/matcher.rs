//! All rules of one language over one text; the same hits as `rules/matcher.py` and `rules/matcher.py` find.

use crate::characters::Characters;
use crate::input::{Problem, Sections};
use crate::machine::{Ending, Exhausted, Machine, Patterns, View};
use crate::code::Code;
use crate::required::{has, insert, load_texts, Bits, Limits, Narrowed, Ones, Required};
use crate::rules::{load_guards, load_patterns, load_rules, Form, Guard, Pattern, Rule, Sentence, NO_PROGRAM};
use crate::sentences::list_items;
use crate::text::{is_one_of, Declined, Language, Span, Text};

const MAGIC: u32 = 0x5359_4E50;
const FORMAT: u32 = 2;

const MOST_REMEMBERED: usize = 64; // answers of guards, which are looked through one by one

/// What a language has beside its rules: numbers that both makers share.
struct Constants {
    reach: usize, // characters to either side of a hit in which a guard looks for words of its sentence
    slack: usize, // beyond the longest match, what may stand between it and the hit
    few: u32,     // patterns that are tried without a look at the words before a hit
}

/// Everything that the texts of one language are read with.
pub struct Matcher {
    pub language: Language,
    constants: Constants,
    patterns: Vec<Pattern>,
    code: Patterns,
    required: Required,
    guards: Vec<Guard>,
    rules: Vec<Rule>,
    starts_at_words: Vec<bool>, // no match of the pattern begins with anything but a letter
}

/// The rules that one side is read for, and what follows from that.
pub struct Selection {
    wordings: Bits,
    forms: Bits,
    owners: Vec<Vec<(u32, u32)>>, // of a pattern: rules, and its place among the patterns of each
    of_form: Vec<u32>,
    with_lists: Vec<u32>,
    required: Narrowed,
}

/// A match in the normal form, before guards.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Match {
    rule: u32,
    start: usize,
    end: std::cmp::Reverse<usize>,
    order: u32,
    wording: u32,
}

/// A hit, at its place in the original.
#[derive(Clone, Copy)]
pub struct Hit {
    pub rule: u32,
    pub wording: u32,
    pub start: usize,
    pub end: usize,
}

/// Why a text is left to Python.
pub enum Refused {
    Character,
    Steps,
}

impl From<Declined> for Refused {
    fn from(_: Declined) -> Self {
        Refused::Character
    }
}

impl From<Exhausted> for Refused {
    fn from(_: Exhausted) -> Self {
        Refused::Steps
    }
}

/// Working memory of one call, kept from text to text.
pub struct Scratch {
    pub text: Text,
    pub hits: Vec<Hit>,
    machine: Machine,
    met: Bits,
    possible: Bits,
    before: Bits,
    starts: Vec<usize>,
    matches: Vec<Match>,
    guarded: Vec<(u32, usize, bool)>,
}

/// A line of the normal form: no pattern matches beyond it.
#[derive(Clone, Copy)]
struct Line {
    start: usize,
    end: usize,
}

impl Matcher {
    pub fn load(numbers: &[u32], characters: &Characters) -> Result<Self, Problem> {
        let mut sections = Sections::new(numbers);
        sections.expect(MAGIC, FORMAT)?;
        let mut head = sections.next("constants")?;
        let spaced = head.truth()?;
        let (reach, slack) = (head.below(1 << 20)? as usize, head.below(1 << 10)? as usize);
        let few = head.number()?;
        let limits = Limits { spaced, stem: head.below(4)? as usize, ranks: head.below(9)? as usize };
        head.end()?;
        if limits.stem == 0 || limits.ranks == 0 {
            return Err("nothing is required".into());
        }
        let abbreviations = load_texts(&mut sections, "abbreviations")?.into_iter().collect();
        let code = Patterns::new(Code::load(&mut sections, characters)?, characters);
        let patterns = load_patterns(&mut sections, code.len())?;
        let required = Required::load(&mut sections, &limits, patterns.len(), characters)?;
        let guards = load_guards(&mut sections, &patterns, slack)?;
        let rules = load_rules(&mut sections, &patterns, guards.len())?;
        sections.end()?;
        let starts_at_words = patterns.iter().map(|pattern| {
            spaced && pattern.start != NO_PROGRAM && code.begins_with_word(pattern.start)
        });
        let starts_at_words = starts_at_words.collect();
        let constants = Constants { reach, slack, few };
        let language = Language { spaced, abbreviations };
        Ok(Self { language, constants, patterns, code, required, guards, rules, starts_at_words })
    }

    pub fn select(&self, wanted: &[u32]) -> Result<Selection, Problem> {
        let blocks = self.required.blocks();
        let mut found = Selection {
            wordings: vec![0; blocks],
            forms: vec![0; blocks],
            owners: vec![Vec::new(); self.patterns.len()],
            of_form: vec![0; self.patterns.len()],
            with_lists: Vec::new(),
            required: self.required.narrowed(&vec![0; blocks]),
        };
        let mut asked = vec![0; blocks]; // patterns that anything is asked about
        for &number in wanted {
            let rule = self.rules.get(number as usize).ok_or_else(|| format!("there is no rule {number}"))?;
            for (order, &pattern) in rule.patterns.iter().enumerate() {
                insert(&mut found.wordings, pattern as usize);
                found.owners[pattern as usize].push((number, order as u32));
            }
            if let Some(sentence) = &rule.sentence {
                insert(&mut found.forms, sentence.number);
                found.of_form[sentence.number] = number;
                for set in [&sentence.starts, &sentence.has, &sentence.also, &sentence.lacks] {
                    set.add_to(&mut asked);
                }
            }
            if rule.list_items > 0 {
                found.with_lists.push(number);
            }
            rule.guards.iter().for_each(|&guard| self.guards[guard as usize].all.add_to(&mut asked));
        }
        for block in 0..blocks {
            asked[block] |= found.wordings[block] | found.forms[block];
        }
        found.required = self.required.narrowed(&asked);
        Ok(found)
    }

    pub fn scratch(&self) -> Scratch {
        Scratch {
            text: Text::default(),
            hits: Vec::new(),
            machine: self.code.machine(),
            met: Vec::new(),
            possible: Vec::new(),
            before: Vec::new(),
            starts: Vec::new(),
            matches: Vec::new(),
            guarded: Vec::new(),
        }
    }

    /// Every unguarded hit in a text, in its order.
    pub fn read(
        &self, original: &[u32], selection: &Selection, characters: &Characters, scratch: &mut Scratch,
    ) -> Result<(), Refused> {
        scratch.hits.clear();
        scratch.machine.steps += original.len() as u64;
        scratch.machine.begin_text(original.len());
        scratch.text.read(original, &self.language, characters)?;
        Reader { matcher: self, selection, characters, scratch }.read()?;
        Ok(())
    }
}

impl Scratch {
    pub fn steps(&self) -> u64 {
        self.machine.steps
    }
}

/// One text being read.
struct Reader<'a> {
    matcher: &'a Matcher,
    selection: &'a Selection,
    characters: &'a Characters,
    scratch: &'a mut Scratch,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), Exhausted> {
        let mut start = 0;
        while start < self.scratch.text.normal.len() {
            let length = self.scratch.text.normal[start..].iter().take_while(|&&c| c != 10).count();
            if length > 0 {
                self.read_line(Line { start, end: start + length })?;
            }
            start += length + 1;
        }
        self.read_lists()?;
        let rules = &self.matcher.rules;
        self.scratch.hits.sort_by_key(|hit| (hit.start, std::cmp::Reverse(hit.end), rules[hit.rule as usize].rank));
        for hit in &mut self.scratch.hits {
            (hit.start, hit.end) = self.scratch.text.span(hit.start, hit.end);
        }
        Ok(())
    }

    fn read_line(&mut self, line: Line) -> Result<(), Exhausted> {
        self.look_at(line);
        self.try_wordings(line)?;
        self.try_sentences(line)?;
        if self.scratch.matches.is_empty() {
            return Ok(());
        }
        self.scratch.matches.sort_unstable();
        let matches = std::mem::take(&mut self.scratch.matches);
        let mut kept: Option<(u32, usize)> = None; // the rule and the end of the match kept last
        for found in &matches {
            let end = found.end.0;
            let is_inside = kept.is_some_and(|(rule, reached)| rule == found.rule && end <= reached);
            if !is_inside && !self.is_guarded(found.rule, line, found.start, end)? {
                kept = Some((found.rule, end));
                self.scratch.hits.push(Hit { rule: found.rule, wording: found.wording, start: found.start, end });
            }
        }
        self.scratch.matches = matches;
        Ok(())
    }

    /// The patterns that a line can match, and the places where its words begin.
    fn look_at(&mut self, line: Line) {
        let Scratch { text, met, possible, starts, matches, guarded, .. } = &mut *self.scratch;
        let is_word = &text.is_word[line.start..line.end];
        let words = &text.normal[line.start..line.end];
        self.matcher.required.possible(&self.selection.required, words, is_word, met, possible);
        starts.clear();
        let begins = |at: &usize| is_word[*at] && (*at == 0 || !is_word[*at - 1]);
        starts.extend((0..is_word.len()).filter(begins).map(|at| line.start + at));
        matches.clear();
        guarded.clear();
    }

    fn try_wordings(&mut self, line: Line) -> Result<(), Exhausted> {
        for block in 0..self.scratch.possible.len() {
            for bit in Ones(self.scratch.possible[block] & self.selection.wordings[block]) {
                self.try_wording(block * 64 + bit, line)?;
            }
        }
        Ok(())
    }

    /// Every match of a pattern from left to right, none overlapping.
    fn try_wording(&mut self, number: usize, line: Line) -> Result<(), Exhausted> {
        let matcher = self.matcher;
        let Scratch { text, machine, matches, starts, .. } = &mut *self.scratch;
        let view = View { text: &text.normal, is_word: &text.is_word, low: 0, high: line.end };
        let mut from = line.start;
        let mut found = |start: usize, end: usize| {
            for &(rule, order) in &self.selection.owners[number] {
                let end = std::cmp::Reverse(end);
                matches.push(Match { rule, start, end, order, wording: number as u32 });
            }
        };
        let begins = matcher.patterns[number].start;
        if matcher.starts_at_words[number] {
            for &start in starts.iter() {
                if start >= from && matcher.code.may_begin(begins, view.text[start]) {
                    if let Some(end) = matcher.code.run(machine, begins, view, start, Ending::Anywhere)? {
                        found(start, end);
                        from = end;
                    }
                }
            }
            return Ok(());
        }
        while let Some((start, end)) = matcher.search(machine, number, view, from, Ending::Anywhere)? {
            found(start, end);
            from = end.max(start + 1); // a damaged program can match nothing, again and again at one place
        }
        Ok(())
    }

    fn try_sentences(&mut self, line: Line) -> Result<(), Exhausted> {
        for block in 0..self.scratch.possible.len() {
            for bit in Ones(self.scratch.possible[block] & self.selection.forms[block]) {
                let rule = self.selection.of_form[block * 64 + bit];
                let Some(sentence) = &self.matcher.rules[rule as usize].sentence else { continue };
                let sentences = &self.scratch.text.sentences;
                let first = sentences.partition_point(|sentence| sentence.0 < line.start);
                let last = sentences.partition_point(|sentence| sentence.0 < line.end);
                for place in first..last {
                    let (start, end) = self.scratch.text.sentences[place];
                    if self.fits(sentence, start, end)? {
                        let end = std::cmp::Reverse(end);
                        let wording = self.matcher.wording_of(rule);
                        self.scratch.matches.push(Match { rule, start, end, order: u32::MAX, wording });
                    }
                }
            }
        }
        Ok(())
    }

    fn fits(&mut self, sentence: &Sentence, start: usize, end: usize) -> Result<bool, Exhausted> {
        let is_question = is_question(&self.scratch.text.normal[start..end]);
        if sentence.form != Form::Any && (sentence.form == Form::Question) != is_question {
            return Ok(false);
        }
        let Scratch { text, machine, possible, .. } = &mut *self.scratch;
        let view = View { text: &text.normal, is_word: &text.is_word, low: 0, high: end };
        let matcher = self.matcher;
        if !sentence.starts.is_empty() {
            let mut begins = false;
            for number in sentence.starts.members_in(possible) {
                if matcher.begins(machine, number, view, start)? {
                    begins = true;
                    break;
                }
            }
            if !begins {
                return Ok(false);
            }
        }
        let mut has_one = |wanted: &crate::required::Sparse| matcher.has_one(machine, wanted.members_in(possible), view, start);
        Ok((sentence.has.is_empty() || has_one(&sentence.has)?)
            && (sentence.also.is_empty() || has_one(&sentence.also)?)
            && !has_one(&sentence.lacks)?)
    }

    /// Lists as wholes, where a rule asks for so many items.
    fn read_lists(&mut self) -> Result<(), Exhausted> {
        if self.selection.with_lists.is_empty() {
            return Ok(());
        }
        let items = list_items(&self.scratch.text.normal, self.characters);
        let (Some(&(start, first_end)), Some(&(_, end))) = (items.first(), items.last()) else { return Ok(()) };
        let line = Line { start, end: first_end };
        self.look_at(line);
        for &rule in &self.selection.with_lists {
            let is_long = items.len() >= self.matcher.rules[rule as usize].list_items;
            if is_long && !self.is_guarded(rule, line, start, end)? {
                self.scratch.hits.push(Hit { rule, wording: self.matcher.wording_of(rule), start, end });
            }
        }
        Ok(())
    }

    fn is_guarded(&mut self, rule: u32, line: Line, start: usize, end: usize) -> Result<bool, Exhausted> {
        let matcher = self.matcher;
        for &number in &matcher.rules[rule as usize].guards {
            let guard = &matcher.guards[number as usize];
            let has_words = guard.all.meets(&self.scratch.possible);
            let quoted = guard.quoted && self.scratch.text.is_quoted(start, end, self.characters);
            if quoted || (has_words && (self.words_follow(guard, line, end)? || self.holds_at(number, line, start)?)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn words_follow(&mut self, guard: &Guard, line: Line, mut end: usize) -> Result<bool, Exhausted> {
        let Scratch { text, machine, possible, .. } = &mut *self.scratch;
        if !guard.after.meets(possible) {
            return Ok(false);
        }
        while end < line.end && is_one_of(text.normal[end], " ,\"'") {
            end += 1;
        }
        let view = View { text: &text.normal, is_word: &text.is_word, low: 0, high: line.end };
        for number in guard.after.members_in(possible) {
            if self.matcher.begins(machine, number, view, end)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What depends on the start of the hit alone; kept, since several rules often ask it of the same place.
    fn holds_at(&mut self, number: u32, line: Line, start: usize) -> Result<bool, Exhausted> {
        let known = self.scratch.guarded.iter().find(|known| known.0 == number && known.1 == start);
        if let Some(&(_, _, holds)) = known {
            return Ok(holds);
        }
        let guard = &self.matcher.guards[number as usize];
        let holds = self.words_precede(guard, line, start)? || self.in_sentence(guard, start)?;
        if self.scratch.guarded.len() >= MOST_REMEMBERED {
            self.scratch.guarded.clear();
        }
        self.scratch.guarded.push((number, start, holds));
        Ok(holds)
    }

    fn words_precede(&mut self, guard: &Guard, line: Line, start: usize) -> Result<bool, Exhausted> {
        let Scratch { text, machine, possible, met, before, .. } = &mut *self.scratch;
        if start == line.start || !guard.before.meets(possible) {
            return Ok(false);
        }
        let matcher = self.matcher;
        let looks_twice = guard.before.count_in(possible) > matcher.constants.few;
        if looks_twice {
            let part = line.start.max(start.saturating_sub(guard.reach))..start;
            let words = &text.normal[part.clone()];
            matcher.required.possible(&self.selection.required, words, &text.is_word[part], met, before);
        }
        let first = text.sentence_at(start).0;
        for number in guard.before.members_in(possible) {
            if looks_twice && !has(before, number) {
                continue;
            }
            let reach = matcher.patterns[number].longest + matcher.constants.slack;
            let low = first.saturating_sub(1).max(start.saturating_sub(reach));
            let view = View { text: &text.normal, is_word: &text.is_word, low, high: start };
            if matcher.search(machine, number, view, low, Ending::AtEnd)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn in_sentence(&mut self, guard: &Guard, start: usize) -> Result<bool, Exhausted> {
        let Scratch { text, machine, possible, .. } = &mut *self.scratch;
        if !guard.sentence.meets(possible) {
            return Ok(false);
        }
        let (first, last) = text.sentence_at(start);
        let reach = self.matcher.constants.reach;
        let (low, high) = (first.max(start.saturating_sub(reach)), last.min(start + reach));
        let view = View { text: &text.normal, is_word: &text.is_word, low, high };
        self.matcher.has_one(machine, guard.sentence.members_in(possible), view, low)
    }
}

impl Matcher {
    /// The wording of a rule as a whole, where its sentence or a list was found; counted behind the patterns.
    fn wording_of(&self, rule: u32) -> u32 {
        self.patterns.len() as u32 + rule
    }

    /// The first match from a place on.
    fn search(
        &self, machine: &mut Machine, number: usize, view: View, from: usize, ending: Ending,
    ) -> Result<Option<Span>, Exhausted> {
        let begins = self.patterns[number].start;
        for start in from..view.high {
            if !self.code.may_begin(begins, view.text[start]) || (self.language.spaced && view.is_inside_word(start)) {
                continue;
            }
            if let Some(end) = self.code.run(machine, begins, view, start, ending)? {
                return Ok(Some((start, end)));
            }
        }
        Ok(None)
    }

    /// Whether one of several patterns is anywhere in the view.
    fn has_one(
        &self, machine: &mut Machine, numbers: impl Iterator<Item = usize>, view: View, from: usize,
    ) -> Result<bool, Exhausted> {
        for number in numbers {
            if self.search(machine, number, view, from, Ending::Anywhere)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a pattern matches at the very start.
    fn begins(&self, machine: &mut Machine, number: usize, view: View, start: usize) -> Result<bool, Exhausted> {
        if start >= view.high || (self.language.spaced && view.is_inside_word(start)) {
            return Ok(false);
        }
        Ok(self.code.run(machine, self.patterns[number].start, view, start, Ending::Anywhere)?.is_some())
    }
}

/// By its mark, or by the Japanese particle that asks before a full stop.
fn is_question(sentence: &[u32]) -> bool {
    let end = &sentence[sentence.len().saturating_sub(4)..];
    let closers = end.iter().rev().take_while(|&&c| is_one_of(c, "\"')")).count();
    let end = &end[..end.len() - closers];
    end.ends_with(&[u32::from('?')]) || end.ends_with(&['か', '。'].map(u32::from))
}
