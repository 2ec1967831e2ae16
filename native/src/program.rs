//! The rules of a language as Python writes them down, and how they become an image.

use crate::bits::Sparse;
use crate::characters::Characters;
use crate::code::Code;
use crate::image::Image;
use crate::input::{Problem, Section, Sections};
use crate::machine::{Beginnings, Patterns};
use crate::matcher::Constants;
use crate::required::{load_texts, Limits, Required};
use crate::selection::Selection;

const MAGIC: u32 = 0x5359_4E50;
const FORMAT: u32 = 2;

pub const NO_PROGRAM: usize = usize::MAX;

/// One wording: where its code begins and how long a match can be. A sentence rule has a number here, but no code.
pub struct Pattern {
    pub start: usize,
    pub longest: usize,
}

pub struct Guard {
    pub quoted: bool,
    pub before: Sparse,
    pub after: Sparse,
    pub sentence: Sparse,
    pub all: Sparse,
    pub reach: usize,
}

impl Guard {
    pub fn new(quoted: bool, before: Sparse, after: Sparse, sentence: Sparse, reach: usize) -> Self {
        let all = Sparse::new(before.members().chain(after.members()).chain(sentence.members()).collect::<Vec<_>>());
        Self { quoted, before, after, sentence, all, reach }
    }
}

#[derive(Clone, Copy, PartialEq)]
pub enum Form {
    Any,
    Question,
    Statement,
}

impl Form {
    pub fn of(number: u32) -> Self {
        [Form::Any, Form::Question, Form::Statement][number as usize % 3]
    }
}

pub struct Sentence {
    pub number: usize,
    pub form: Form,
    pub starts: Sparse,
    pub has: Sparse,
    pub also: Sparse,
    pub lacks: Sparse,
}

pub struct Rule {
    pub rank: u32, // among all ids, in their order
    pub list_items: usize,
    pub patterns: Vec<u32>,
    pub guards: Vec<u32>,
    pub sentence: Option<Sentence>,
}

/// A program, of which an image is made.
pub struct Program {
    pub spaced: bool,
    abbreviations: Vec<Vec<u32>>,
    constants: Constants,
    pub patterns: Vec<Pattern>,
    pub code: Patterns,
    pub beginnings: Beginnings,
    pub required: Required,
    pub guards: Vec<Guard>,
    pub rules: Vec<Rule>,
}

impl Program {
    pub fn load(numbers: &[u32], characters: &Characters) -> Result<Self, Problem> {
        let mut sections = Sections::new(numbers);
        sections.expect(MAGIC, FORMAT)?;
        let mut head = sections.next("constants")?;
        let spaced = head.truth()?;
        let constants = Constants::load(&mut head)?;
        let limits = Limits { spaced, stem: head.below(4)? as usize, ranks: head.below(9)? as usize };
        head.end()?;
        if limits.stem == 0 || limits.ranks == 0 {
            return Err("nothing is required".into());
        }
        let abbreviations = load_texts(&mut sections, "abbreviations")?;
        let (code, beginnings) = Patterns::new(Code::load(&mut sections, characters)?, characters);
        let patterns = load_patterns(&mut sections, code.len())?;
        let required = Required::load(&mut sections, limits, patterns.len())?;
        let guards = load_guards(&mut sections, &patterns, constants.slack)?;
        let rules = load_rules(&mut sections, &patterns, guards.len())?;
        sections.end()?;
        Ok(Self { spaced, abbreviations, constants, patterns, code, beginnings, required, guards, rules })
    }

    /// The image of a program; `sides` are the rules that are looked for in messages, in replies, and in messages of
    /// cases that somebody wrote.
    pub fn image(&self, sides: [&[u32]; 3], characters: &Characters) -> Result<Vec<u32>, Problem> {
        let mut image = Image::default();
        image.put(&[u32::from(self.spaced), self.constants.reach as u32, self.constants.slack as u32, self.constants.few]);
        let texts = self.abbreviations.iter().flat_map(|text| std::iter::once(text.len() as u32).chain(text.iter().copied()));
        image.put_from(texts);
        image.put_from(self.rules.iter().map(|rule| rule.rank));
        image.put(&[self.patterns.len() as u32]);
        self.code.put_into(&mut image);
        for wanted in sides {
            Selection::new(self, wanted, characters)?.put_into(&mut image);
        }
        Ok(image.finished())
    }
}

fn load_patterns(sections: &mut Sections, ops: usize) -> Result<Vec<Pattern>, Problem> {
    let mut section = sections.next("patterns")?;
    let mut patterns = Vec::new();
    while !section.is_empty() {
        let start = match section.below(ops + 1)? as usize {
            0 => NO_PROGRAM,
            start => start - 1,
        };
        let longest = section.number()? as usize;
        patterns.push(Pattern { start, longest });
    }
    Ok(patterns)
}

/// A set of patterns that have code.
fn runnable(section: &mut Section, patterns: &[Pattern]) -> Result<Vec<u32>, Problem> {
    let found = section.list_below(patterns.len())?;
    if found.iter().any(|&number| patterns[number as usize].start == NO_PROGRAM) {
        return Err("a pattern without code".into());
    }
    Ok(found.to_vec())
}

fn load_guards(sections: &mut Sections, patterns: &[Pattern], slack: usize) -> Result<Vec<Guard>, Problem> {
    let mut section = sections.next("guards")?;
    let mut guards = Vec::new();
    while !section.is_empty() {
        let quoted = section.truth()?;
        let [before, after, sentence] =
            [runnable(&mut section, patterns)?, runnable(&mut section, patterns)?, runnable(&mut section, patterns)?];
        let reach = before.iter().map(|&number| patterns[number as usize].longest + slack).max().unwrap_or(0);
        let [before, after, sentence] = [before, after, sentence].map(Sparse::new);
        guards.push(Guard::new(quoted, before, after, sentence, reach));
    }
    Ok(guards)
}

fn load_rules(sections: &mut Sections, patterns: &[Pattern], guards: usize) -> Result<Vec<Rule>, Problem> {
    let mut section = sections.next("rules")?;
    let mut rules = Vec::new();
    while !section.is_empty() {
        rules.push(Rule {
            rank: section.number()?,
            list_items: section.number()? as usize,
            patterns: runnable(&mut section, patterns)?,
            guards: section.list_below(guards)?.to_vec(),
            sentence: if section.truth()? { Some(load_sentence(&mut section, patterns)?) } else { None },
        });
    }
    Ok(rules)
}

fn load_sentence(section: &mut Section, patterns: &[Pattern]) -> Result<Sentence, Problem> {
    let number = section.below(patterns.len())? as usize;
    let form = Form::of(section.below(3)?);
    let mut sparse = || Ok::<_, Problem>(Sparse::new(runnable(section, patterns)?));
    Ok(Sentence { number, form, starts: sparse()?, has: sparse()?, also: sparse()?, lacks: sparse()? })
}
