//! All rules of one language over one text; the same hits as `rules/matcher.py` finds.

use crate::bits::{has, Bits, Ones, Sparse};
use crate::characters::Characters;
use crate::code::may_be;
use crate::image::opened;
use crate::input::{Problem, Section};
use crate::looks::{hashes, Hashes};
use crate::machine::{Ending, Exhausted, Machine, Patterns, View};
use crate::program::{Form, Guard};
use crate::required::load_texts;
use crate::selection::{Selection, SentenceForm, Wording};
use crate::sentences::list_items;
use crate::text::{is_one_of, Language, Span, Text};

const LONG: usize = 2000; // characters of a line that is read part by part
const MOST_REMEMBERED: usize = 64; // answers of guards, which are looked through one by one

/// What a language has beside its rules: numbers that both makers share.
pub struct Constants {
    pub reach: usize, // characters to either side of a hit in which a guard looks for words of its sentence
    pub slack: usize, // beyond the longest match, what may stand between it and the hit
    pub few: u32,     // patterns that are tried without a look at the words before a hit
}

impl Constants {
    pub fn load(section: &mut Section) -> Result<Self, Problem> {
        let (reach, slack) = (section.below(1 << 20)? as usize, section.below(1 << 10)? as usize);
        Ok(Self { reach, slack, few: section.number()? })
    }
}

/// What a text is: a message, a reply, or a message of a case that somebody wrote, in which less is looked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Side {
    Message = 0,
    Reply = 1,
    AuthoredMessage = 2,
}

/// Everything that the texts of one language are read with, from an image.
pub struct Matcher {
    pub language: Language,
    constants: Constants,
    code: Patterns,
    ranks: Vec<u32>, // of the rules: their places in the order of ids
    wordings: u32,
    sides: [Selection; 3],
}

/// A match in the normal form, before guards; rules and wordings are those of the side.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Match {
    rule: u32,
    start: usize,
    end: std::cmp::Reverse<usize>,
    order: u32,
    wording: u32,
}

/// A hit, at its place in the original; rule and wording are those of the language.
#[derive(Clone, Copy)]
pub struct Hit {
    pub rule: u32,
    pub wording: u32,
    pub start: usize,
    pub end: usize,
}

/// Working memory of one call, kept from text to text.
pub struct Scratch {
    pub hits: Vec<Hit>,
    machine: Machine,
    met: Bits,
    possible: Bits, // in the line
    here: Bits,     // in a part of it
    reached: Vec<usize>, // by pattern, in a long line: where its last match ends
    starts: Vec<(usize, Hashes)>, // of words
    matches: Vec<Match>,
    guarded: Vec<(u32, usize, bool)>,
    in_parts: Vec<(u32, Span, bool)>, // what guards found in sentences
}

/// A line of the normal form: no pattern matches beyond it.
#[derive(Clone, Copy)]
struct Line {
    start: usize,
    end: usize,
}

impl Line {
    fn is_long(self) -> bool {
        self.end - self.start > LONG
    }
}

impl Matcher {
    pub fn load(numbers: &[u32], characters: &Characters) -> Result<Self, Problem> {
        let mut sections = opened(numbers)?;
        let mut head = sections.next("constants")?;
        let spaced = head.truth()?;
        let constants = Constants::load(&mut head)?;
        head.end()?;
        let abbreviations = load_texts(&mut sections, "abbreviations")?.into_iter().collect();
        let ranks = sections.next("ranks")?.rest().to_vec();
        let wordings = sections.next("number of wordings")?.number()?;
        let code = Patterns::load(&mut sections, characters)?;
        let mut side = || Selection::load(&mut sections, code.len(), wordings as usize, ranks.len());
        let sides = [side()?, side()?, side()?];
        sections.end()?;
        Ok(Self { language: Language { spaced, abbreviations }, constants, code, ranks, wordings, sides })
    }

    pub fn scratch(&self) -> Scratch {
        Scratch {
            hits: Vec::new(),
            machine: self.code.machine(),
            met: Vec::new(),
            possible: Vec::new(),
            here: Vec::new(),
            reached: Vec::new(),
            starts: Vec::new(),
            matches: Vec::new(),
            guarded: Vec::new(),
            in_parts: Vec::new(),
        }
    }

    /// The patterns of a side that took steps, by their numbers among all of the language.
    pub fn steps_by_wording(&self, side: Side, scratch: &Scratch) -> Vec<(u32, u64)> {
        let spent = scratch.machine.spent.as_ref();
        let steps = |start: usize| spent.and_then(|spent| spent.get(&start)).copied();
        let patterns = self.sides[side as usize].patterns.iter();
        patterns.filter_map(|pattern| Some((pattern.number, steps(pattern.start)?))).collect()
    }

    pub fn rule_count(&self) -> usize {
        self.ranks.len()
    }

    /// Puts every unguarded hit in a text, which is in normal form, into `scratch`, in the order of the text.
    pub fn read(
        &self, text: &mut Text, side: Side, characters: &Characters, scratch: &mut Scratch,
    ) -> Result<(), Exhausted> {
        scratch.hits.clear();
        scratch.machine.begin_text(text.normal.len());
        Reader { matcher: self, selection: &self.sides[side as usize], characters, text, scratch }.read()
    }
}

impl Scratch {
    /// From now on, steps are counted by pattern, too.
    pub fn watch(&mut self) {
        self.machine.spent = Some(Default::default());
    }

    pub fn steps(&self) -> u64 {
        self.machine.steps
    }

    pub fn add_steps(&mut self, steps: u64) {
        self.machine.steps += steps;
    }
}

/// One text being read.
struct Reader<'a> {
    matcher: &'a Matcher,
    selection: &'a Selection,
    characters: &'a Characters,
    text: &'a mut Text,
    scratch: &'a mut Scratch,
}

impl Reader<'_> {
    fn read(&mut self) -> Result<(), Exhausted> {
        let mut start = 0;
        while start < self.text.normal.len() {
            let length = self.text.normal[start..].iter().take_while(|&&c| c != 10).count();
            if length > 0 {
                self.read_line(Line { start, end: start + length })?;
            }
            start += length + 1;
        }
        self.read_lists()?;
        let ranks = &self.matcher.ranks;
        self.scratch.hits.sort_by_key(|hit| (hit.start, std::cmp::Reverse(hit.end), ranks[hit.rule as usize]));
        for hit in &mut self.scratch.hits {
            (hit.start, hit.end) = self.text.span(hit.start, hit.end);
        }
        Ok(())
    }

    fn read_line(&mut self, line: Line) -> Result<(), Exhausted> {
        self.look_at(line);
        if line.is_long() {
            self.try_parts(line)?;
        } else {
            let possible = std::mem::take(&mut self.scratch.possible);
            self.find_starts(line);
            self.try_wordings(&possible, line, line)?;
            self.scratch.possible = possible;
            self.try_sentences(line)?;
        }
        self.keep_unguarded(line)
    }

    /// Matches without those that lie inside another one of their rule, or that a guard rules out.
    fn keep_unguarded(&mut self, line: Line) -> Result<(), Exhausted> {
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
                let rule = self.selection.rules[found.rule as usize].number;
                self.scratch.hits.push(Hit { rule, wording: found.wording, start: found.start, end });
            }
        }
        self.scratch.matches = matches;
        Ok(())
    }

    /// The patterns that a line can match.
    fn look_at(&mut self, line: Line) {
        self.scratch.matches.clear();
        self.scratch.guarded.clear();
        self.scratch.in_parts.clear();
        let Scratch { met, possible, .. } = &mut *self.scratch;
        self.selection.index.possible(self.text, (line.start, line.end), met, possible);
    }

    /// The places where words of a part begin; no pattern of a language without spaces asks for them.
    fn find_starts(&mut self, part: Line) {
        let (text, starts) = (&*self.text, &mut self.scratch.starts);
        starts.clear();
        if self.matcher.language.spaced {
            let words = &text.words[text.words_in(part.start, part.end)];
            starts.extend(words.iter().map(|&(start, _)| (start, hashes(&text.normal[start..]))));
        }
    }

    /// In a long line, pattern by pattern would take time by the square: part by part, and sentence by sentence.
    fn try_parts(&mut self, line: Line) -> Result<(), Exhausted> {
        let mut here = std::mem::take(&mut self.scratch.here);
        self.scratch.reached.clear();
        self.scratch.reached.resize(self.selection.patterns.len(), line.start);
        let mut start = line.start;
        while start < line.end {
            let end = self.text.word_end(start + LONG / 2, line.end);
            // A match that begins in the part, and all words that it requires, are in it or a little behind it.
            let reach = self.text.word_end(end + self.selection.longest, line.end);
            self.look_into((start, reach), &mut here);
            self.find_starts(Line { start, end });
            self.try_wordings(&here, Line { start, end }, line)?;
            start = end;
        }
        let sentences = self.text.sentences_in(line.start, line.end);
        for place in sentences {
            let (start, end) = self.text.sentences[place];
            if end - start <= LONG {
                self.look_into((start, end), &mut here);
            } else {
                here.clone_from(&self.scratch.possible);
            }
            self.try_forms(&here, place..place + 1)?;
        }
        self.scratch.here = here;
        Ok(())
    }

    fn look_into(&mut self, part: Span, here: &mut Bits) {
        self.selection.index.possible(self.text, part, &mut self.scratch.met, here);
    }

    fn try_wordings(&mut self, possible: &Bits, part: Line, line: Line) -> Result<(), Exhausted> {
        for (block, (possible, wordings)) in possible.iter().zip(&self.selection.wordings).enumerate() {
            for bit in Ones(possible & wordings) {
                self.try_wording(block * 64 + bit, part, line)?;
            }
        }
        Ok(())
    }

    /// Every match of a pattern that begins in a part, from left to right, none overlapping.
    fn try_wording(&mut self, number: usize, part: Line, line: Line) -> Result<(), Exhausted> {
        let (matcher, selection) = (self.matcher, self.selection);
        let side = Searcher { matcher, selection };
        let (text, Scratch { machine, matches, starts, reached, .. }) = (&*self.text, &mut *self.scratch);
        let view = View { text: &text.normal, is_word: &text.is_word, low: 0, high: line.end };
        let mut from = if line.is_long() { reached[number].max(part.start) } else { part.start };
        let pattern = &selection.patterns[number];
        let mut found = |start: usize, end: usize| {
            for &(rule, order) in &selection.owners[pattern.owners.0 as usize..pattern.owners.1 as usize] {
                let end = std::cmp::Reverse(end);
                matches.push(Match { rule, start, end, order, wording: pattern.number });
            }
        };
        if pattern.at_words {
            for (start, hashes) in starts.iter() {
                if selection.looks.may_begin(&pattern.look, hashes) && *start >= from {
                    if let Some(end) = matcher.code.run(machine, pattern.start, view, *start, Ending::Anywhere)? {
                        found(*start, end);
                        from = end;
                    }
                }
            }
        } else {
            while let Some((start, end)) = side.search(machine, pattern, view, from..part.end, Ending::Anywhere)? {
                found(start, end);
                from = end.max(start + 1); // a damaged program can match nothing, again and again at one place
            }
        }
        if line.is_long() {
            reached[number] = from;
        }
        Ok(())
    }

    fn try_sentences(&mut self, line: Line) -> Result<(), Exhausted> {
        let possible = std::mem::take(&mut self.scratch.possible);
        let has_one = possible.iter().zip(&self.selection.forms).any(|(possible, forms)| possible & forms != 0);
        let sentences = if has_one { self.text.sentences_in(line.start, line.end) } else { 0..0 };
        let tried = self.try_forms(&possible, sentences);
        self.scratch.possible = possible;
        tried
    }

    /// Sentences that have a form which a rule asks for.
    fn try_forms(&mut self, possible: &Bits, sentences: std::ops::Range<usize>) -> Result<(), Exhausted> {
        let selection = self.selection;
        for (block, (here, forms)) in possible.iter().zip(&selection.forms).enumerate() {
            for bit in Ones(here & forms) {
                let form = &selection.sentences[selection.of_form[block * 64 + bit] as usize];
                for place in sentences.clone() {
                    let (start, end) = self.text.sentences[place];
                    if self.fits(form, possible, start, end)? {
                        let wording = self.matcher.wording_of(selection.rules[form.rule as usize].number);
                        let end = std::cmp::Reverse(end);
                        self.scratch.matches.push(Match { rule: form.rule, start, end, order: u32::MAX, wording });
                    }
                }
            }
        }
        Ok(())
    }

    fn fits(&mut self, form: &SentenceForm, possible: &Bits, start: usize, end: usize) -> Result<bool, Exhausted> {
        let is_question = is_question(&self.text.normal[start..end]);
        if form.form != Form::Any && (form.form == Form::Question) != is_question {
            return Ok(false);
        }
        let view = View { text: &self.text.normal, is_word: &self.text.is_word, low: 0, high: end };
        let machine = &mut self.scratch.machine;
        let side = Searcher { matcher: self.matcher, selection: self.selection };
        if !form.starts.is_empty() && !side.one_begins(machine, form.starts.members_in(possible), view, start)? {
            return Ok(false);
        }
        let mut has_one = |wanted: &Sparse| side.has_one(machine, wanted.members_in(possible), view, start);
        Ok((form.has.is_empty() || has_one(&form.has)?)
            && (form.also.is_empty() || has_one(&form.also)?)
            && !has_one(&form.lacks)?)
    }

    /// Lists as wholes, where a rule asks for so many items.
    fn read_lists(&mut self) -> Result<(), Exhausted> {
        if self.selection.with_lists.is_empty() {
            return Ok(());
        }
        let items = list_items(&self.text.normal, self.characters);
        let (Some(&(start, first_end)), Some(&(_, end))) = (items.first(), items.last()) else { return Ok(()) };
        let line = Line { start, end: first_end };
        self.look_at(line);
        for &place in &self.selection.with_lists {
            let rule = &self.selection.rules[place as usize];
            if items.len() >= rule.list_items && !self.is_guarded(place, line, start, end)? {
                let wording = self.matcher.wording_of(rule.number);
                self.scratch.hits.push(Hit { rule: rule.number, wording, start, end });
            }
        }
        Ok(())
    }

    fn is_guarded(&mut self, rule: u32, line: Line, start: usize, end: usize) -> Result<bool, Exhausted> {
        let selection = self.selection;
        for &number in &selection.rules[rule as usize].guards {
            let guard = &selection.guards[number as usize];
            let has_words = guard.all.meets(&self.scratch.possible);
            let quoted = guard.quoted && self.text.is_quoted(start, end, self.characters);
            if quoted || (has_words && (self.words_follow(guard, line, end)? || self.holds_at(number, line, start)?)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn words_follow(&mut self, guard: &Guard, line: Line, mut end: usize) -> Result<bool, Exhausted> {
        let (text, Scratch { machine, possible, .. }) = (&*self.text, &mut *self.scratch);
        if !guard.after.meets(possible) {
            return Ok(false);
        }
        while end < line.end && is_one_of(text.normal[end], " ,\"'") {
            end += 1;
        }
        let view = View { text: &text.normal, is_word: &text.is_word, low: 0, high: line.end };
        let side = Searcher { matcher: self.matcher, selection: self.selection };
        side.one_begins(machine, guard.after.members_in(possible), view, end)
    }

    /// What depends on the start of the hit alone; kept, since several rules often ask it of the same place.
    fn holds_at(&mut self, number: u32, line: Line, start: usize) -> Result<bool, Exhausted> {
        let known = self.scratch.guarded.iter().find(|known| known.0 == number && known.1 == start);
        if let Some(&(_, _, holds)) = known {
            return Ok(holds);
        }
        let guard = &self.selection.guards[number as usize];
        let holds = self.words_precede(guard, line, start)? || self.in_sentence(number, start)?;
        if self.scratch.guarded.len() >= MOST_REMEMBERED {
            self.scratch.guarded.clear();
        }
        self.scratch.guarded.push((number, start, holds));
        Ok(holds)
    }

    fn words_precede(&mut self, guard: &Guard, line: Line, start: usize) -> Result<bool, Exhausted> {
        if start == line.start || !guard.before.meets(&self.scratch.possible) {
            return Ok(false);
        }
        let looks_twice = guard.before.count_in(&self.scratch.possible) > self.matcher.constants.few;
        let mut before = std::mem::take(&mut self.scratch.here);
        if looks_twice {
            self.look_into((line.start.max(start.saturating_sub(guard.reach)), start), &mut before);
        }
        let first = self.text.sentence_at(start).0;
        let (text, Scratch { machine, possible, .. }) = (&*self.text, &mut *self.scratch);
        let side = Searcher { matcher: self.matcher, selection: self.selection };
        let mut precede = false;
        for number in guard.before.members_in(possible) {
            if looks_twice && !has(&before, number) {
                continue;
            }
            let pattern = &self.selection.patterns[number];
            let reach = pattern.longest + self.matcher.constants.slack;
            let low = first.saturating_sub(1).max(start.saturating_sub(reach));
            let view = View { text: &text.normal, is_word: &text.is_word, low, high: start };
            if side.search(machine, pattern, view, low..start, Ending::AtEnd)?.is_some() {
                precede = true;
                break;
            }
        }
        self.scratch.here = before;
        Ok(precede)
    }

    /// Most sentences are within reach as wholes, and then the answer is the same for all hits in them.
    fn in_sentence(&mut self, number: u32, start: usize) -> Result<bool, Exhausted> {
        let (text, Scratch { machine, possible, in_parts, .. }) = (&*self.text, &mut *self.scratch);
        let guard = &self.selection.guards[number as usize];
        if !guard.sentence.meets(possible) {
            return Ok(false);
        }
        let (first, last) = text.sentence_at(start);
        let reach = self.matcher.constants.reach;
        let (low, high) = (first.max(start.saturating_sub(reach)), last.min(start + reach));
        if let Some(&(_, _, holds)) = in_parts.iter().find(|known| known.0 == number && known.1 == (low, high)) {
            return Ok(holds);
        }
        let view = View { text: &text.normal, is_word: &text.is_word, low, high };
        let side = Searcher { matcher: self.matcher, selection: self.selection };
        let holds = side.has_one(machine, guard.sentence.members_in(possible), view, low)?;
        if in_parts.len() >= MOST_REMEMBERED {
            in_parts.clear();
        }
        in_parts.push((number, (low, high), holds));
        Ok(holds)
    }
}

/// Patterns of one side by their numbers.
struct Searcher<'a> {
    matcher: &'a Matcher,
    selection: &'a Selection,
}

impl Searcher<'_> {
    /// Whether one of several patterns is anywhere in the view.
    fn has_one(
        &self, machine: &mut Machine, numbers: impl Iterator<Item = usize>, view: View, from: usize,
    ) -> Result<bool, Exhausted> {
        for number in numbers {
            let pattern = &self.selection.patterns[number];
            if self.search(machine, pattern, view, from..view.high, Ending::Anywhere)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The first match of a pattern at one of some places.
    fn search(
        &self, machine: &mut Machine, pattern: &Wording, view: View, places: std::ops::Range<usize>, ending: Ending,
    ) -> Result<Option<Span>, Exhausted> {
        let code = &self.matcher.code;
        for start in places {
            if !may_be(&pattern.first, Some(view.text[start]))
                || (self.matcher.language.spaced && view.is_inside_word(start))
                || !self.selection.looks.may_follow(&pattern.place, view.text, start, view.high)
            {
                continue;
            }
            if let Some(end) = code.run(machine, pattern.start, view, start, ending)? {
                return Ok(Some((start, end)));
            }
        }
        Ok(None)
    }

    /// Whether one of several patterns matches at the very start.
    fn one_begins(
        &self, machine: &mut Machine, numbers: impl Iterator<Item = usize>, view: View, start: usize,
    ) -> Result<bool, Exhausted> {
        if start >= view.high || (self.matcher.language.spaced && view.is_inside_word(start)) {
            return Ok(false);
        }
        for number in numbers {
            let pattern = &self.selection.patterns[number];
            if self.selection.looks.may_follow(&pattern.place, view.text, start, view.high)
                && self.matcher.code.run(machine, pattern.start, view, start, Ending::Anywhere)?.is_some()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Matcher {
    /// The wording of a rule as a whole, where its sentence or a list was found; counted behind the patterns.
    fn wording_of(&self, rule: u32) -> u32 {
        self.wordings + rule
    }
}

/// By its mark, or by the Japanese particle that asks before a full stop.
fn is_question(sentence: &[u32]) -> bool {
    let end = &sentence[sentence.len().saturating_sub(4)..];
    let closers = end.iter().rev().take_while(|&&c| is_one_of(c, "\"')")).count();
    let end = &end[..end.len() - closers];
    end.ends_with(&[u32::from('?')]) || end.ends_with(&['か', '。'].map(u32::from))
}
