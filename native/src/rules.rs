//! Rules, guards and sentence rules as the program lists them.

use crate::input::{Problem, Section, Sections};
use crate::required::Sparse;

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

#[derive(Clone, Copy, PartialEq)]
pub enum Form {
    Any,
    Question,
    Statement,
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

pub fn load_patterns(sections: &mut Sections, ops: usize) -> Result<Vec<Pattern>, Problem> {
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

pub fn load_guards(sections: &mut Sections, patterns: &[Pattern], slack: usize) -> Result<Vec<Guard>, Problem> {
    let mut section = sections.next("guards")?;
    let mut guards = Vec::new();
    while !section.is_empty() {
        let quoted = section.truth()?;
        let [before, after, sentence] =
            [runnable(&mut section, patterns)?, runnable(&mut section, patterns)?, runnable(&mut section, patterns)?];
        let reach = before.iter().map(|&number| patterns[number as usize].longest + slack).max().unwrap_or(0);
        let all = Sparse::new(&[&before[..], &after[..], &sentence[..]].concat());
        let [before, after, sentence] = [before, after, sentence].map(|numbers| Sparse::new(&numbers));
        guards.push(Guard { quoted, before, after, sentence, all, reach });
    }
    Ok(guards)
}

pub fn load_rules(sections: &mut Sections, patterns: &[Pattern], guards: usize) -> Result<Vec<Rule>, Problem> {
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
    let form = [Form::Any, Form::Question, Form::Statement][section.below(3)? as usize];
    let mut sparse = || Ok::<_, Problem>(Sparse::new(&runnable(section, patterns)?));
    Ok(Sentence { number, form, starts: sparse()?, has: sparse()?, also: sparse()?, lacks: sparse()? })
}
