//! The rules of one side with all that they need, counted anew: sets of patterns are then a third as long.

use crate::bits::{insert, listed, Bits, Sparse};
use crate::characters::Characters;
use crate::code::Ahead;
use crate::image::Image;
use crate::input::{Problem, Section, Sections};
use crate::looks::{Look, Looks, ANYTHING, LOOK};
use crate::program::{Form, Guard, Program, Rule, NO_PROGRAM};
use crate::required::Index;

/// One wording: where its code begins, how long a match can be, and how to tell that none begins at a place.
pub struct Wording {
    pub start: usize,
    pub longest: usize,
    pub number: u32, // among all of the language
    pub at_words: bool, // no match begins with anything but a letter
    pub first: Ahead,   // what it can begin with
    pub look: Look,  // at the beginning of a word,
    pub place: Look, // and at any place
    pub owners: (u32, u32), // of those below
}

/// What a rule asks of sentences, by sets of this side's patterns.
pub struct SentenceForm {
    pub rule: u32, // of this side
    pub form: Form,
    pub starts: Sparse,
    pub has: Sparse,
    pub also: Sparse,
    pub lacks: Sparse,
}

pub struct SideRule {
    pub number: u32, // among all of the language
    pub rank: u32,
    pub list_items: usize,
    pub guards: Vec<u32>, // of this side
}

/// The rules that one side is read for, and what follows from that.
pub struct Selection {
    pub patterns: Vec<Wording>,
    pub owners: Vec<(u32, u32)>, // of patterns: rules, and its place among the patterns of each
    pub wordings: Bits,          // patterns that rules look for by themselves
    pub forms: Bits,             // numbers of sentence forms, which are counted as patterns
    pub of_form: Vec<u32>,       // by pattern, the sentence form
    pub sentences: Vec<SentenceForm>,
    pub rules: Vec<SideRule>,
    pub guards: Vec<Guard>,
    pub with_lists: Vec<u32>,
    pub index: Index,
    pub looks: Looks,
    pub longest: usize, // of all matches
}

/// Gives numbers to what is asked for, in the order in which it is.
#[derive(Default)]
struct Numbers {
    known: std::collections::HashMap<u32, u32>,
    order: Vec<u32>,
}

impl Numbers {
    fn of(&mut self, number: u32) -> u32 {
        *self.known.entry(number).or_insert_with(|| {
            self.order.push(number);
            self.order.len() as u32 - 1
        })
    }

    fn set(&mut self, numbers: &Sparse) -> Sparse {
        Sparse::new(numbers.members().map(|number| self.of(number)).collect::<Vec<_>>())
    }
}

impl Selection {
    pub fn new(program: &Program, wanted: &[u32], characters: &Characters) -> Result<Self, Problem> {
        let (mut patterns, mut guards) = (Numbers::default(), Numbers::default());
        let rules = wanted.iter().map(|&number| {
            let rule = program.rules.get(number as usize).ok_or_else(|| format!("there is no rule {number}"))?;
            let guards = rule.guards.iter().map(|&guard| guards.of(guard)).collect();
            Ok(SideRule { number, rank: rule.rank, list_items: rule.list_items, guards })
        });
        let rules = rules.collect::<Result<Vec<_>, Problem>>()?;
        let own = |rule: &SideRule| &program.rules[rule.number as usize];
        let owned: Vec<(u32, u32, u32)> = rules.iter().enumerate().flat_map(|(place, rule)| {
            own(rule).patterns.iter().enumerate().map(move |(order, &pattern)| (pattern, place as u32, order as u32))
        }).collect();
        let owned: Vec<_> = owned.into_iter().map(|(pattern, rule, order)| (patterns.of(pattern), rule, order)).collect();
        let sentences: Vec<(u32, SentenceForm)> = rules.iter().enumerate().filter_map(|(place, rule)| {
            sentence_form(place as u32, own(rule), &mut patterns)
        }).collect();
        let guards = guards.order.iter().map(|&guard| renumbered(&program.guards[guard as usize], &mut patterns)).collect();
        let order = patterns.order;
        let mut found = Self {
            index: program.required.index(&order, characters),
            patterns: Vec::with_capacity(order.len()),
            owners: Vec::with_capacity(owned.len()),
            wordings: vec![0; order.len().div_ceil(64)],
            forms: vec![0; order.len().div_ceil(64)],
            of_form: vec![0; order.len()],
            sentences: Vec::with_capacity(sentences.len()),
            with_lists: rules.iter().enumerate().filter(|(_, rule)| rule.list_items > 0).map(|(place, _)| place as u32).collect(),
            rules,
            guards,
            looks: Looks::default(),
            longest: 0,
        };
        found.take_patterns(program, &order, owned);
        found.take_sentences(sentences);
        Ok(found)
    }

    fn take_patterns(&mut self, program: &Program, order: &[u32], mut owned: Vec<(u32, u32, u32)>) {
        owned.sort_unstable();
        let mut owned = owned.into_iter().peekable();
        for (count, &number) in order.iter().enumerate() {
            let first = self.owners.len() as u32;
            while let Some((_, rule, turn)) = owned.next_if(|one| one.0 == count as u32) {
                self.owners.push((rule, turn));
                insert(&mut self.wordings, count);
            }
            let pattern = &program.patterns[number as usize];
            let has_code = pattern.start != NO_PROGRAM;
            let at_words = has_code && program.spaced && program.beginnings.are_words(pattern.start);
            let look = if at_words { self.looks.of_word(program.code.code(), pattern.start) } else { ANYTHING };
            let place = if has_code { self.looks.of_place(program.code.code(), pattern.start) } else { ANYTHING };
            let begins = if has_code { program.beginnings.first(pattern.start) } else { [0; 3] };
            let owners = (first, self.owners.len() as u32);
            let (start, longest) = (pattern.start, pattern.longest);
            self.patterns.push(Wording { start, longest, number, at_words, first: begins, look, place, owners });
            if owners.0 < owners.1 {
                self.longest = self.longest.max(longest);
            }
        }
    }

    fn take_sentences(&mut self, sentences: Vec<(u32, SentenceForm)>) {
        for (pattern, form) in sentences {
            insert(&mut self.forms, pattern as usize);
            self.of_form[pattern as usize] = self.sentences.len() as u32;
            self.sentences.push(form);
        }
    }
}

const WORDING: usize = 6 + 2 * 3 + 2 * LOOK; // numbers of one in an image
const NO_CODE: u32 = u32::MAX;

// To and from an image.
impl Selection {
    pub fn put_into(&self, image: &mut Image) {
        self.looks.put_into(image);
        image.put_from(self.patterns.iter().flat_map(|pattern| {
            let start = if pattern.start == NO_PROGRAM { NO_CODE } else { pattern.start as u32 };
            let numbers = [start, pattern.longest as u32, pattern.number, u32::from(pattern.at_words)];
            let first = pattern.first.iter().flat_map(|&word| [word as u32, (word >> 32) as u32]).collect::<Vec<_>>();
            let owners = [pattern.owners.0, pattern.owners.1];
            [&numbers[..], &owners, &first, &pattern.look.numbers(), &pattern.place.numbers()].concat()
        }));
        image.put_from(self.owners.iter().flat_map(|&(rule, order)| [rule, order]));
        image.put_from(self.rules.iter().flat_map(|rule| {
            let head = [rule.number, rule.rank, rule.list_items as u32, rule.guards.len() as u32];
            [&head[..], &rule.guards].concat()
        }));
        image.put_from(self.guards.iter().flat_map(|guard| {
            let head = [u32::from(guard.quoted), guard.reach as u32];
            head.into_iter().chain(listed([&guard.before, &guard.after, &guard.sentence].into_iter())).collect::<Vec<_>>()
        }));
        let numbers: Vec<usize> = crate::bits::members(&self.forms).collect();
        image.put_from(numbers.into_iter().flat_map(|number| {
            let form = &self.sentences[self.of_form[number] as usize];
            let head = [number as u32, form.rule, form.form as u32];
            let sets = [&form.starts, &form.has, &form.also, &form.lacks];
            head.into_iter().chain(listed(sets.into_iter())).collect::<Vec<_>>()
        }));
        self.index.put_into(image);
    }

    /// Of a language with so many instructions, wordings and rules.
    pub fn load(sections: &mut Sections, ops: usize, wordings: usize, rules: usize) -> Result<Self, Problem> {
        let looks = Looks::load(sections)?;
        let rows = sections.next("wordings")?.rows::<WORDING>()?;
        let patterns = rows.iter().map(|row| wording(row, &looks, ops, wordings)).collect::<Result<Vec<_>, _>>()?;
        let owners: Vec<(u32, u32)> = sections.next("owners")?.rows::<2>()?.into_iter().map(|[rule, order]| (rule, order)).collect();
        let mut found = Self {
            wordings: vec![0; patterns.len().div_ceil(64)],
            forms: vec![0; patterns.len().div_ceil(64)],
            of_form: vec![0; patterns.len()],
            sentences: Vec::new(),
            rules: load_rules(sections.next("rules")?, rules)?,
            guards: Vec::new(),
            with_lists: Vec::new(),
            longest: 0,
            index: Index::EMPTY,
            owners,
            patterns,
            looks,
        };
        found.load_guards(sections.next("guards")?)?;
        found.load_forms(sections.next("forms")?)?;
        found.index = Index::load(sections, found.patterns.len())?;
        found.settle()?;
        Ok(found)
    }

    /// What follows from the rest, and whether all of it fits together.
    fn settle(&mut self) -> Result<(), Problem> {
        for (place, pattern) in self.patterns.iter().enumerate() {
            let (first, last) = pattern.owners;
            if first > last || last as usize > self.owners.len() || (first < last && pattern.start == NO_PROGRAM) {
                return Err("a wording belongs to no rule".into());
            }
            if first < last {
                insert(&mut self.wordings, place);
                self.longest = self.longest.max(pattern.longest);
            }
        }
        let is_known = |rule: u32| (rule as usize) < self.rules.len();
        let guards_fit = self.rules.iter().flat_map(|rule| &rule.guards).all(|&guard| (guard as usize) < self.guards.len());
        if !guards_fit || !self.owners.iter().all(|owner| is_known(owner.0)) || !self.sentences.iter().all(|form| is_known(form.rule)) {
            return Err("a rule or a guard is missing".into());
        }
        let with_lists = self.rules.iter().enumerate().filter(|(_, rule)| rule.list_items > 0);
        self.with_lists = with_lists.map(|(place, _)| place as u32).collect();
        Ok(())
    }

    /// A set of patterns that have code.
    fn set(&self, section: &mut Section) -> Result<Sparse, Problem> {
        let members = section.list_below(self.patterns.len())?;
        if members.iter().any(|&number| self.patterns[number as usize].start == NO_PROGRAM) {
            return Err("a pattern without code".into());
        }
        Ok(Sparse::new(members.iter().copied()))
    }

    fn load_guards(&mut self, mut section: Section) -> Result<(), Problem> {
        while !section.is_empty() {
            let (quoted, reach) = (section.truth()?, section.number()? as usize);
            let [before, after, sentence] = [self.set(&mut section)?, self.set(&mut section)?, self.set(&mut section)?];
            self.guards.push(Guard::new(quoted, before, after, sentence, reach));
        }
        Ok(())
    }

    fn load_forms(&mut self, mut section: Section) -> Result<(), Problem> {
        while !section.is_empty() {
            let number = section.below(self.patterns.len())? as usize;
            let (rule, form) = (section.number()?, Form::of(section.below(3)?));
            let [starts, has] = [self.set(&mut section)?, self.set(&mut section)?];
            let [also, lacks] = [self.set(&mut section)?, self.set(&mut section)?];
            insert(&mut self.forms, number);
            self.of_form[number] = self.sentences.len() as u32;
            self.sentences.push(SentenceForm { rule, form, starts, has, also, lacks });
        }
        Ok(())
    }
}

fn wording(row: &[u32; WORDING], looks: &Looks, ops: usize, wordings: usize) -> Result<Wording, Problem> {
    let look = |at: usize| looks.look(&std::array::from_fn(|place| row[at + place]));
    let word = |at: usize| u64::from(row[at]) | u64::from(row[at + 1]) << 32;
    let start = if row[0] == NO_CODE { NO_PROGRAM } else { row[0] as usize };
    if (start != NO_PROGRAM && start >= ops) || row[2] as usize >= wordings {
        return Err("a wording has no code, or no number".into());
    }
    Ok(Wording {
        start,
        longest: row[1] as usize,
        number: row[2],
        at_words: row[3] != 0,
        owners: (row[4], row[5]),
        first: [word(6), word(8), word(10)],
        look: look(12)?,
        place: look(12 + LOOK)?,
    })
}

fn load_rules(mut section: Section, rules: usize) -> Result<Vec<SideRule>, Problem> {
    let mut found = Vec::new();
    while !section.is_empty() {
        let number = section.below(rules)?;
        let (rank, list_items) = (section.number()?, section.number()? as usize);
        found.push(SideRule { number, rank, list_items, guards: section.list()?.to_vec() });
    }
    Ok(found)
}

fn sentence_form(place: u32, rule: &Rule, patterns: &mut Numbers) -> Option<(u32, SentenceForm)> {
    let sentence = rule.sentence.as_ref()?;
    let number = patterns.of(sentence.number as u32);
    let [starts, has, also, lacks] =
        [&sentence.starts, &sentence.has, &sentence.also, &sentence.lacks].map(|set| patterns.set(set));
    Some((number, SentenceForm { rule: place, form: sentence.form, starts, has, also, lacks }))
}

fn renumbered(guard: &Guard, patterns: &mut Numbers) -> Guard {
    let [before, after, sentence] = [&guard.before, &guard.after, &guard.sentence].map(|set| patterns.set(set));
    Guard::new(guard.quoted, before, after, sentence, guard.reach)
}
