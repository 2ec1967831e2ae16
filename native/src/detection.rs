//! Which language a text is in, by itself; the same sums in the same order as `rules/detection.py`.

use crate::characters::{Characters, ALPHANUMERIC, DECIMAL, DECLINED, LETTER};
use crate::code::check_characters;
use crate::input::{Problem, Section, Sections};
use crate::required::Mixing;
use std::collections::HashMap;

const MAGIC: u32 = 0x5359_4E44;
const FORMAT: u32 = 1;
const BESIDE: f64 = 1e-9; // two sums that are so close are equal

/// How a language was decided.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum How {
    Script = 0,
    Words = 1,
    TooShort = 2,
    NoEvidence = 3,
}

type Weights = Vec<(u32, f64)>; // by language

/// Numbers that both makers share.
struct Constants {
    looked_at: usize,
    fewest_words: usize,
    longest_part: usize,
    least_share: f64,
    by_letters: f64,
}

/// Languages are numbers in the order of their codes; the last one is "undetermined".
pub struct Detector {
    constants: Constants,
    ours: Vec<bool>,
    default: u32,
    japanese: u32,
    chinese: u32,
    hindi: u32,
    words: HashMap<Vec<u32>, Weights, Mixing>,
    steps: HashMap<(u32, u32), u32, Mixing>, // from a node by a character
    parts: Vec<Weights>,                     // of the part that ends at a node
}

impl Detector {
    pub fn load(numbers: &[u32]) -> Result<Self, Problem> {
        let mut sections = Sections::new(numbers);
        sections.expect(MAGIC, FORMAT)?;
        let mut head = sections.next("constants")?;
        let constants = Constants {
            looked_at: head.number()? as usize,
            fewest_words: head.number()? as usize,
            longest_part: head.number()? as usize,
            least_share: double(&mut head)?,
            by_letters: double(&mut head)?,
        };
        let ours: Vec<bool> = head.list_below(2)?.iter().map(|&ours| ours == 1).collect();
        let mut language = || head.below(ours.len() + 1);
        let (default, japanese, chinese, hindi) = (language()?, language()?, language()?, language()?);
        head.end()?;
        let mut detector = Self {
            constants, ours, default, japanese, chinese, hindi,
            words: HashMap::default(), steps: HashMap::default(), parts: vec![Vec::new()],
        };
        for (word, weights) in detector.entries(&mut sections, "words")? {
            detector.words.insert(word, weights);
        }
        for (part, weights) in detector.entries(&mut sections, "parts")? {
            let node = part.iter().fold(0, |node, &c| detector.step(node, c));
            detector.parts[node as usize] = weights;
        }
        sections.end()?;
        Ok(detector)
    }

    fn entries(&self, sections: &mut Sections, name: &str) -> Result<Vec<(Vec<u32>, Weights)>, Problem> {
        let mut section = sections.next(name)?;
        let mut entries = Vec::new();
        while !section.is_empty() {
            let text = section.list()?.to_vec();
            check_characters(&text)?;
            let weight = double(&mut section)?; // the same for all languages that list it
            let languages = section.list_below(self.ours.len())?;
            entries.push((text, languages.iter().map(|&language| (language, weight)).collect()));
        }
        Ok(entries)
    }

    fn step(&mut self, node: u32, c: u32) -> u32 {
        let new = self.parts.len() as u32;
        let next = *self.steps.entry((node, c)).or_insert(new);
        if next == new {
            self.parts.push(Vec::new());
        }
        next
    }

    fn undetermined(&self) -> u32 {
        self.ours.len() as u32
    }

    /// The language of a text and how it was decided; None where Python must say.
    pub fn detect(&self, text: &[u32], characters: &Characters) -> Option<(u32, How)> {
        let beginning = &text[..text.len().min(self.constants.looked_at)];
        if beginning.iter().any(|&c| characters.is(c, DECLINED)) {
            return None;
        }
        if beginning.iter().any(|&c| matches!(c, 0x370..=0x1CFF | 0x3040..=0xD7AF | 0xFF66..=0xFF9F)) {
            match self.by_script(beginning, characters) {
                Some(language) if language == self.undetermined() => return None,
                Some(language) => return Some((self.public(language), How::Script)),
                None => {}
            }
        }
        let lower = beginning.iter().map(|&c| if c == u32::from('’') { u32::from('\'') } else { characters.lower(c) });
        Some(self.by_words(&lower.collect::<Vec<u32>>(), characters))
    }

    /// The language of the script that most letters are in; None where words decide.
    fn by_script(&self, text: &[u32], characters: &Characters) -> Option<u32> {
        let count = |fits: &dyn Fn(u32) -> bool| text.iter().filter(|&&c| fits(c)).count();
        let letters = count(&|c| characters.is(c, LETTER));
        let kana = count(&|c| matches!(c, 0x3040..=0x30FF | 0xFF66..=0xFF9F));
        let han = count(&|c| matches!(c, 0x3400..=0x9FFF));
        if (kana + han) * 3 > letters || (kana * 3 >= letters && letters > 0) {
            return Some(if kana * 20 >= han { self.japanese } else { self.chinese });
        }
        if count(&|c| matches!(c, 0x900..=0x97F)) * 2 > letters {
            return Some(self.hindi);
        }
        let is_other = |c: u32| matches!(c, 0x370..=0x3FF | 0x400..=0x52F | 0x530..=0x8FF | 0x980..=0x1CFF | 0xAC00..=0xD7AF);
        (count(&is_other) * 2 > letters).then_some(self.undetermined())
    }

    fn by_words(&self, text: &[u32], characters: &Characters) -> (u32, How) {
        let words = words_of(text, characters);
        let mut weights = vec![0.0; self.ours.len()];
        let may_guess = words.len() >= self.constants.fewest_words;
        let (mut framed, mut found) = (Vec::new(), Vec::new()); // kept from word to word
        for word in &words {
            match self.words.get(*word) {
                Some(listed) => listed.iter().for_each(|&(language, weight)| weights[language as usize] += weight),
                None if may_guess => self.guess(word, &mut weights, &mut framed, &mut found),
                None => {}
            }
        }
        self.decided(&weights, words.len())
    }

    /// The evidence of a word that no language lists; the likeliest language gets most.
    fn guess(&self, word: &[u32], weights: &mut [f64], framed: &mut Vec<u32>, found: &mut Vec<f64>) {
        framed.clear();
        framed.push(u32::from('^'));
        framed.extend_from_slice(word);
        framed.push(u32::from('$'));
        found.clear();
        found.resize(self.ours.len(), 0.0);
        for start in 0..framed.len() {
            let mut node = 0;
            for (place, &c) in framed[start..].iter().take(self.constants.longest_part).enumerate() {
                match self.steps.get(&(node, c)) {
                    Some(&next) => node = next,
                    None => break,
                }
                for &(language, weight) in &self.parts[node as usize] {
                    found[language as usize] += weight * (place + 1) as f64;
                }
            }
        }
        let most = found.iter().copied().fold(0.0, f64::max);
        for (sum, &found) in weights.iter_mut().zip(found.iter()) {
            if found > 0.0 {
                *sum += self.constants.by_letters * found / most;
            }
        }
    }

    fn decided(&self, weights: &[f64], words: usize) -> (u32, How) {
        let most = weights.iter().copied().fold(0.0, f64::max);
        if most == 0.0 || most < self.constants.least_share * words as f64 {
            return if words < self.constants.fewest_words {
                (self.default, How::TooShort)
            } else {
                (self.undetermined(), How::NoEvidence)
            };
        }
        let best = |language: &u32| weights.get(*language as usize).is_some_and(|&weight| weight > 0.0 && weight > most - BESIDE);
        if best(&self.default) {
            return (self.default, How::Words);
        }
        let all = 0..self.undetermined();
        let found = all.filter(best).min_by_key(|&language| (!self.ours[language as usize], language));
        (self.public(found.unwrap_or(self.undetermined())), How::Words)
    }

    fn public(&self, language: u32) -> u32 {
        if self.ours.get(language as usize) == Some(&true) { language } else { self.undetermined() }
    }
}

fn double(section: &mut Section) -> Result<f64, Problem> {
    let (low, high) = (u64::from(section.number()?), u64::from(section.number()?));
    let found = f64::from_bits(high << 32 | low);
    if found.is_finite() { Ok(found) } else { Err("a weight is not a number".into()) }
}

/// Runs of letters, two of them with an apostrophe between as one, and the marks that open a Spanish sentence.
fn words_of<'t>(text: &'t [u32], characters: &Characters) -> Vec<&'t [u32]> {
    let is_letter = |at: usize| {
        text.get(at).is_some_and(|&c| characters.flags(c) & (ALPHANUMERIC | DECIMAL) == ALPHANUMERIC)
    };
    let run = |mut at: usize| {
        while is_letter(at) {
            at += 1;
        }
        at
    };
    let mut words = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let mut end = run(at);
        if end > at {
            if text.get(end) == Some(&u32::from('\'')) && is_letter(end + 1) {
                end = run(end + 1);
            }
        } else if crate::text::is_one_of(text[at], "¿¡") {
            end = at + 1;
        } else {
            at += 1;
            continue;
        }
        words.push(&text[at..end]);
        at = end;
    }
    words
}
