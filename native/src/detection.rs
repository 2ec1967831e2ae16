//! Which language a text is in, by itself; the same sums in the same order as `rules/detection.py`.

use crate::characters::{Characters, ALPHANUMERIC, DECIMAL, DECLINED, LETTER};
use crate::code::check_characters;
use crate::input::{Problem, Section, Sections};
use crate::required::{hash_of, Mixing};
use std::collections::HashMap;

const MAGIC: u32 = 0x5359_4E44;
const FORMAT: u32 = 2;
const BESIDE: f64 = 1e-9; // two sums that are so close are equal

/// How a language was decided.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum How {
    Script = 0,
    Words = 1,
    TooShort = 2,
    NoEvidence = 3,
    Conversation = 4,
    Declared = 5,
}

/// What a text says for each language: weights of its words, how many words it has, and its script's language.
struct Evidence {
    weights: Vec<f64>,
    words: usize,
    script: Option<u32>,
}

/// A language by number and how it was decided.
pub type Detected = (u32, How);

type Weights = Vec<(u32, f64)>; // by language

/// Numbers that both makers share.
struct Constants {
    looked_at: usize,
    fewest_words: usize,
    longest_part: usize,
    least_share: f64,
    by_letters: f64,
    lead: f64,       // of evidence by which a message must speak for another language than its conversation's,
    lead_share: f64, // and for each of its words
    letters_of_a_word: usize, // in scripts without spaces
    han_alone: usize,         // characters without kana that may still be Japanese, in a Japanese conversation
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
    parts: Parts,
}

/// Parts of words and their beginnings, by a hash of their characters, and what each part says.
#[derive(Default)]
struct Parts {
    slots: Vec<(u64, u32, u32)>, // the hash, 0 for none; where its weights are, and how many
    weights: Weights,
}

const SEED: u64 = 0xCBF2_9CE4_8422_2325;

#[inline(always)]
fn mixed(key: u64, c: u32) -> u64 {
    ((key.rotate_left(5) ^ u64::from(c)).wrapping_mul(0x517C_C1B7_2722_0A95)) | 1
}

impl Parts {
    fn new(parts: &[(Vec<u32>, Weights)]) -> Self {
        let beginnings: usize = parts.iter().map(|(part, _)| part.len()).sum();
        let mut made = Self { slots: vec![(0, 0, 0); (beginnings * 2 + 1).next_power_of_two()], weights: Vec::new() };
        for (part, weights) in parts {
            let mut key = SEED;
            let mut place = 0;
            for &c in part {
                key = mixed(key, c);
                place = made.place(key);
                made.slots[place].0 = key;
            }
            (made.slots[place].1, made.slots[place].2) = (made.weights.len() as u32, weights.len() as u32);
            made.weights.extend_from_slice(weights);
        }
        made
    }

    /// Where a hash is, or would be put.
    #[inline(always)]
    fn place(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = (key >> 32) as usize & mask;
        while self.slots[place].0 != key && self.slots[place].0 != 0 {
            place = (place + 1) & mask;
        }
        place
    }
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
            lead: double(&mut head)?,
            lead_share: double(&mut head)?,
            letters_of_a_word: head.below(1 << 10)?.max(1) as usize,
            han_alone: head.number()? as usize,
        };
        let ours: Vec<bool> = head.list_below(2)?.iter().map(|&ours| ours == 1).collect();
        let mut language = || head.below(ours.len() + 1);
        let (default, japanese, chinese, hindi) = (language()?, language()?, language()?, language()?);
        head.end()?;
        let mut detector = Self {
            constants, ours, default, japanese, chinese, hindi,
            words: HashMap::default(), parts: Parts::default(),
        };
        for (word, weights) in detector.entries(&mut sections, "words")? {
            detector.words.insert(word, weights);
        }
        detector.parts = Parts::new(&detector.entries(&mut sections, "parts")?);
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

    pub fn undetermined(&self) -> u32 {
        self.ours.len() as u32
    }

    /// The language of each message of a conversation, decided by all of them together; None where Python must say.
    pub fn conversation<'t>(
        &self, texts: impl Iterator<Item = &'t [u32]>, characters: &Characters, memory: &mut Memory,
    ) -> Option<Vec<Detected>> {
        let evidence = texts.map(|text| self.evidence(text, characters, memory)).collect::<Option<Vec<_>>>()?;
        let alone: Vec<Detected> = evidence.iter().map(|own| self.alone(own)).collect();
        if alone.windows(2).all(|pair| pair[0].0 == pair[1].0) {
            return Some(alone);
        }
        let mut weights = vec![0.0; self.ours.len() + 1];
        for own in &evidence {
            weights.iter_mut().zip(&own.weights).for_each(|(sum, weight)| *sum += weight);
        }
        let together = self.decided(&weights, evidence.iter().map(|own| own.words).sum()).0;
        let beside = |(own, alone): (&Evidence, Detected)| {
            if alone.0 == together || self.is_clear(own, alone, together) { alone } else { (together, How::Conversation) }
        };
        Some(evidence.iter().zip(alone).map(beside).collect())
    }

    fn alone(&self, evidence: &Evidence) -> Detected {
        match evidence.script {
            Some(script) => (self.public(script), How::Script),
            None => self.decided(&evidence.weights, evidence.words),
        }
    }

    /// Whether a message is in another language than the rest of its conversation.
    fn is_clear(&self, evidence: &Evidence, alone: Detected, together: u32) -> bool {
        let Constants { lead, lead_share, letters_of_a_word, han_alone, .. } = self.constants;
        if let Some(script) = evidence.script {
            return (script, together) != (self.chinese, self.japanese) || evidence.words * letters_of_a_word > han_alone;
        }
        if alone.1 != How::Words {
            return false;
        }
        let most = |own: &dyn Fn(u32) -> bool| {
            let weights = evidence.weights.iter().enumerate().filter(|(code, _)| own(*code as u32));
            weights.map(|(_, &weight)| weight).fold(0.0, f64::max)
        };
        most(&|_| true) - most(&|code| self.public(code) == together) >= f64::max(lead, lead_share * evidence.words as f64)
    }

    /// None where Python must say: a character whose lower case depends on what is around it.
    fn evidence(&self, text: &[u32], characters: &Characters, memory: &mut Memory) -> Option<Evidence> {
        let beginning = &text[..text.len().min(self.constants.looked_at)];
        if beginning.iter().any(|&c| c >= 128 && characters.is(c, DECLINED)) {
            return None;
        }
        if beginning.iter().any(|&c| matches!(c, 0x370..=0x1CFF | 0x3040..=0xD7AF | 0xFF66..=0xFF9F)) {
            if let Some(script) = self.by_script(beginning, characters) {
                // A pack for a script that is not known here is recognised by its words.
                if script != self.undetermined() || !self.has_listed_word(beginning, characters) {
                    let letters = beginning.iter().filter(|&&c| characters.is(c, LETTER)).count();
                    let mut weights = vec![0.0; self.ours.len() + 1];
                    weights[script as usize] = letters as f64 / self.constants.letters_of_a_word as f64;
                    let words = letters / self.constants.letters_of_a_word;
                    return Some(Evidence { weights, words, script: Some(script) });
                }
            }
        }
        Some(self.by_words(beginning, characters, memory))
    }

    fn has_listed_word(&self, text: &[u32], characters: &Characters) -> bool {
        let lower: Vec<u32> = text.iter().map(|&c| characters.lower(c)).collect();
        let mut found = false;
        each_word(&lower, characters, |start, end| found |= self.words.contains_key(&lower[start..end]));
        found
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

    fn by_words(&self, text: &[u32], characters: &Characters, memory: &mut Memory) -> Evidence {
        let Memory { lower, spans, words, .. } = memory;
        let plain = |c: u32| match u8::try_from(c) {
            Ok(c) if c.is_ascii() => u32::from(c.to_ascii_lowercase()),
            _ if c == u32::from('’') => u32::from('\''),
            _ => characters.lower(c),
        };
        lower.clear();
        lower.extend(text.iter().map(|&c| plain(c)));
        spans.clear();
        each_word(lower, characters, |start, end| spans.push((start, end)));
        let mut weights = vec![0.0; self.ours.len() + 1];
        let may_guess = spans.len() >= self.constants.fewest_words;
        for &(start, end) in spans.iter() {
            let (is_listed, said) = words.of(&lower[start..end], self);
            if is_listed || may_guess {
                said.iter().for_each(|&(language, weight)| weights[language as usize] += weight);
            }
        }
        Evidence { weights, words: spans.len(), script: None }
    }

    /// What a word says by itself, and whether a language lists it.
    fn said(&self, word: &[u32]) -> (bool, Weights) {
        if let Some(listed) = self.words.get(word) {
            return (true, listed.clone());
        }
        let mut weights = vec![0.0; self.ours.len()];
        self.guess(word, &mut weights, &mut Vec::new(), &mut Vec::new());
        let weights = weights.into_iter().enumerate().filter(|one| one.1 > 0.0).map(|(code, weight)| (code as u32, weight));
        (false, weights.collect())
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
            let mut key = SEED;
            for (place, &c) in framed[start..].iter().take(self.constants.longest_part).enumerate() {
                key = mixed(key, c);
                let (known, first, count) = self.parts.slots[self.parts.place(key)];
                if known == 0 {
                    break;
                }
                for &(language, weight) in &self.parts.weights[first as usize..(first + count) as usize] {
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

/// Words and what they say, remembered from text to text: ordinary talk has few different ones.
#[derive(Default)]
pub struct Memory {
    lower: Vec<u32>,
    spans: Vec<(usize, usize)>,
    words: Remembered,
}

/// A word that is remembered; its letters and weights are in `Remembered`.
#[derive(Clone, Copy, Default)]
struct Known {
    letters: u32,
    length: u32, // 0: none
    weights: u32,
    count: u16,
    is_listed: bool,
}

#[derive(Default)]
struct Remembered {
    places: Vec<Known>, // by a hash; a word takes the place of another one
    letters: Vec<u32>,
    weights: Weights,
}

const REMEMBERED: usize = 1 << 14;
const MOST_LETTERS: usize = 1 << 18; // of all that were ever remembered: then it begins again

impl Remembered {
    fn of(&mut self, word: &[u32], detector: &Detector) -> (bool, &[(u32, f64)]) {
        if self.places.is_empty() || self.letters.len() > MOST_LETTERS {
            self.places = vec![Known::default(); REMEMBERED];
            self.letters.clear();
            self.weights.clear();
        }
        let place = (hash_of(word) >> 40) as usize % REMEMBERED;
        let known = self.places[place];
        let letters = &self.letters[known.letters as usize..(known.letters + known.length) as usize];
        let is_same = letters.len() == word.len() && letters.iter().zip(word).all(|(one, other)| one == other);
        let known = if is_same { known } else { self.remember(place, word, detector) };
        (known.is_listed, &self.weights[known.weights as usize..known.weights as usize + known.count as usize])
    }

    #[cold]
    fn remember(&mut self, place: usize, word: &[u32], detector: &Detector) -> Known {
        let (is_listed, mut weights) = detector.said(word);
        let (letters, first) = (self.letters.len() as u32, self.weights.len() as u32);
        self.letters.extend_from_slice(word);
        let known = Known { letters, length: word.len() as u32, weights: first, count: weights.len() as u16, is_listed };
        self.weights.append(&mut weights);
        self.places[place] = known;
        known
    }
}

/// Runs of letters, two of them with an apostrophe between as one, and the marks that open a Spanish sentence.
#[inline(always)]
fn each_word(text: &[u32], characters: &Characters, mut word: impl FnMut(usize, usize)) {
    let is_letter = |at: usize| match text.get(at) {
        Some(&c) if c < 128 => (c as u8).is_ascii_alphabetic(),
        Some(&c) => characters.flags(c) & (ALPHANUMERIC | DECIMAL) == ALPHANUMERIC,
        None => false,
    };
    let run = |mut at: usize| {
        while is_letter(at) {
            at += 1;
        }
        at
    };
    let mut at = 0;
    while at < text.len() {
        let mut end = run(at);
        if end > at {
            if text.get(end) == Some(&u32::from('\'')) && is_letter(end + 1) {
                end = run(end + 1);
            }
        } else if text[at] >= 128 && crate::text::is_one_of(text[at], "¿¡") {
            end = at + 1;
        } else {
            at += 1;
            continue;
        }
        word(at, end);
        at = end;
    }
}
