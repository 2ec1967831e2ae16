//! The crisis lines and emergency numbers that a text names; the same as `named_in` of `checks/helplines.py` finds.
//!
//! Numbers are looked for in the NFKC form of a text, which is never written down: only what stands around a digit is
//! asked for. Letters become something else there with an accent behind them; where that could matter, Python decides.

use crate::characters::{Characters, COMBINES, SPACE};
use crate::input::{Problem, Sections};
use crate::marks::Marks;
use crate::prose::{ignoring_case, LIKE_ASCII};
use crate::text::Declined;

const MAGIC: u32 = 0x5359_4E48;
const FORMAT: u32 = 1;

/// A place in the numbers that are known: what was read of one so far.
#[derive(Default)]
struct Node {
    edges: Vec<(u8, u32)>, // the next character, and where it leads
    lines: Vec<u32>,       // whose number ends here
}

/// All numbers, by their first characters.
pub struct Helplines {
    nodes: Vec<Node>,
    begins: Marks, // what may become the first character of a number
}

impl Helplines {
    /// Loads the numbers of each line, as they are written.
    pub fn load(numbers: &[u32], characters: &Characters) -> Result<Self, Problem> {
        let mut sections = Sections::new(numbers);
        sections.expect(MAGIC, FORMAT)?;
        let mut section = sections.next("lines")?;
        sections.end()?;
        let mut lines = Vec::new();
        while !section.is_empty() {
            let count = section.number()?;
            lines.push((0..count).map(|_| section.list().map(<[u32]>::to_vec)).collect::<Result<_, _>>()?);
        }
        Self::of(&lines, characters)
    }

    /// Of the numbers of each line, as they are written.
    pub fn of(lines: &[Vec<Vec<u32>>], characters: &Characters) -> Result<Self, Problem> {
        let mut made = Self { nodes: vec![Node::default()], begins: Marks::EMPTY };
        for (line, numbers) in lines.iter().enumerate() {
            for number in numbers {
                made.add(number, line as u32)?;
            }
        }
        let begins = |c: &u32| outputs(c, characters).iter().any(|&c| made.next(0, ignoring_case(c)).is_some());
        let unchanged = (0..128).chain(LIKE_ASCII);
        made.begins = characters.replaced().chain(unchanged).filter(begins).fold(Marks::EMPTY, Marks::with);
        Ok(made)
    }

    fn add(&mut self, number: &[u32], line: u32) -> Result<(), Problem> {
        let mut node = 0;
        for &c in number.iter().filter(|&&c| c != u32::from(' ') && c != u32::from('-')) {
            let c = u8::try_from(c).ok().filter(u8::is_ascii_graphic).ok_or("a number has other characters than ASCII")?;
            node = self.child(node, c.to_ascii_lowercase());
        }
        if node == 0 {
            return Err("a number is empty".into());
        }
        self.nodes[node].lines.push(line);
        Ok(())
    }

    /// Where a character leads, made where it is not there yet.
    fn child(&mut self, node: usize, c: u8) -> usize {
        self.next(node, c).unwrap_or_else(|| {
            let made = self.nodes.len();
            self.nodes[node].edges.push((c, made as u32));
            self.nodes.push(Node::default());
            made
        })
    }

    fn next(&self, node: usize, c: u8) -> Option<usize> {
        self.nodes[node].edges.iter().find(|edge| edge.0 == c).map(|edge| edge.1 as usize)
    }

    /// Puts the lines whose number appears in a text into `found`, in order.
    pub fn named_in(&self, text: &[u32], characters: &Characters, found: &mut Vec<u32>) -> Result<(), Declined> {
        found.clear();
        let plain = Plain { text, characters };
        let mut from = 0;
        while let Some(at) = self.begins.next(text, from) {
            for (inside, &c) in plain.outputs(at).iter().enumerate() {
                if self.next(0, ignoring_case(c)).is_some() {
                    self.follow(&plain, Place { at, inside }, found)?;
                }
            }
            from = at + 1;
        }
        found.sort_unstable();
        Ok(())
    }

    /// Notes the numbers that begin at a place.
    fn follow(&self, plain: &Plain, start: Place, found: &mut Vec<u32>) -> Result<(), Declined> {
        let (mut node, mut place) = (0, start);
        if plain.before(start).is_some_and(|before| plain.belongs_to_number(before)) {
            return Ok(());
        }
        while let Some(next) = plain.get(place).and_then(|c| self.next(node, ignoring_case(c))) {
            plain.check(place)?;
            (node, place) = (next, plain.after(place));
            if !self.nodes[node].lines.is_empty() && plain.is_number(start, place)? {
                note(&self.nodes[node].lines, found);
            }
            if plain.get(place).is_some_and(|c| plain.is_separator(c)) {
                place = plain.after(place);
            }
        }
        Ok(())
    }
}

/// Adds lines that are not there yet.
fn note(lines: &[u32], found: &mut Vec<u32>) {
    for &line in lines {
        if !found.contains(&line) {
            found.push(line);
        }
    }
}

/// A place in the NFKC form: a character of the text, and which of those that it becomes.
#[derive(Clone, Copy)]
struct Place {
    at: usize,
    inside: usize,
}

/// What a character becomes: most stay what they are.
fn outputs<'a>(c: &'a u32, characters: &'a Characters) -> &'a [u32] {
    match characters.plain(*c) {
        [] => std::slice::from_ref(c),
        plain => plain,
    }
}

/// A text in its NFKC form, as far as single characters make it.
struct Plain<'a> {
    text: &'a [u32],
    characters: &'a Characters,
}

impl<'a> Plain<'a> {
    fn outputs(&self, at: usize) -> &'a [u32] {
        outputs(&self.text[at], self.characters)
    }

    fn get(&self, place: Place) -> Option<u32> {
        (place.at < self.text.len()).then(|| self.outputs(place.at)[place.inside])
    }

    fn after(&self, place: Place) -> Place {
        if place.inside + 1 < self.outputs(place.at).len() {
            return Place { inside: place.inside + 1, ..place };
        }
        Place { at: place.at + 1, inside: 0 }
    }

    fn before(&self, place: Place) -> Option<Place> {
        if place.inside > 0 {
            return Some(Place { inside: place.inside - 1, ..place });
        }
        let at = place.at.checked_sub(1)?;
        Some(Place { at, inside: self.outputs(at).len() - 1 })
    }

    fn is_separator(&self, c: u32) -> bool {
        c == u32::from('-') || matches!(c, 0x2010..=0x2012) || self.characters.is(c, SPACE)
    }

    /// Whether a number beside this place would be part of another number or word.
    fn belongs_to_number(&self, place: Place) -> bool {
        self.get(place).is_some_and(|c| c == u32::from('-') || ignoring_case(c).is_ascii_alphanumeric())
    }

    fn combines(&self, place: Place) -> bool {
        self.get(place).is_some_and(|c| self.characters.is(c, COMBINES))
    }

    fn is_letter(&self, place: Place) -> bool {
        self.get(place).is_some_and(|c| ignoring_case(c).is_ascii_alphabetic())
    }

    /// Declines a letter that may be another one with what stands behind it.
    fn check(&self, place: Place) -> Result<(), Declined> {
        if self.is_letter(place) && self.combines(self.after(place)) { Err(Declined) } else { Ok(()) }
    }

    /// Whether what was read from `start` to `end` is a number by itself.
    fn is_number(&self, start: Place, end: Place) -> Result<bool, Declined> {
        self.check(end)?;
        if self.belongs_to_number(end) {
            return Ok(false);
        }
        let mut before = self.before(start);
        if !before.is_some_and(|place| self.combines(place)) {
            return Ok(true);
        }
        while let Some(place) = before.filter(|&place| self.combines(place)) {
            before = self.before(place);
        }
        // An I with a dot above is one letter, and belongs to a word as the dot alone does not.
        if before.is_some_and(|place| self.is_letter(place)) { Err(Declined) } else { Ok(true) }
    }
}
