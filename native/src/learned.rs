//! The learned reader: scores of texts by a small model in integers. `reader/reference.py` says what every layer does.
//!
//! A convolution over words is a sum of rows, one for each word and place in the window. They depend on the word alone,
//! so those of words that come often are kept from text to text.

use crate::input::Problem;
use crate::simd::{self, Aligned, Level, DIGIT, DIGITS, LANES};
use crate::tokens::{Alphabet, Key, Sequence, FOLDED, MOST_TOKENS};
use std::sync::{Mutex, PoisonError};

const SEGMENTS: usize = 3;
const MESSAGE: usize = 0;
const REPLY: usize = 1;
const EARLIER: usize = 2;
const STEPS: usize = 1024; // in the table of powers
const ONE: u32 = 15; // bits behind the point of attention
const MOST_SUM: i32 = 1 << 30;
const MOST_FEATURES: usize = 2047;
const SIZES: usize = 9; // numbers in front of the offsets
const ARRAYS: usize = 8;

/// The sizes and shifts of a model, checked.
#[derive(Clone, Copy)]
struct Sizes {
    heads: usize,
    buckets: usize,
    dims: usize,
    channels: usize,
    width: usize,
    queries: usize,
    most_pieces: usize,
    conv_shift: u32,
    attention_shift: u32,
}

impl Sizes {
    fn load(numbers: &[u32]) -> Result<Self, Problem> {
        let within = |place: usize, name: &str, least: usize, most: usize| match numbers[place] as usize {
            number if (least..=most).contains(&number) => Ok(number),
            number => Err(format!("{name} is {number}, and must be from {least} to {most}")),
        };
        let found = Self {
            heads: within(0, "heads", 1, 1024)?,
            buckets: within(1, "buckets", 1, 1 << 22)?,
            dims: within(2, "dims", 1, 1024)?,
            channels: within(3, "channels", 1, 1024)?,
            width: within(4, "width", 1, 15)?,
            queries: within(5, "queries", 1, 16)?,
            most_pieces: within(6, "most_pieces", 4, 64)?,
            conv_shift: within(7, "the shift of the convolution", 0, 31)? as u32,
            attention_shift: within(8, "the shift of attention", 0, 31)? as u32,
        };
        let fits = found.buckets.is_power_of_two() && found.width % 2 == 1 && found.features() <= MOST_FEATURES;
        if !fits || found.width * found.dims * 128 * 1023 > MOST_SUM as usize {
            return Err("the sizes of the model do not fit together".into());
        }
        Ok(found)
    }

    fn features(&self) -> usize {
        (self.queries + 1) * self.channels
    }
}

/// Arrays in the content of a file of weights.
struct Arrays<'a> {
    content: &'a [u8],
    offsets: Vec<usize>,
}

impl<'a> Arrays<'a> {
    fn bytes(&self, number: usize, size: usize) -> Result<&'a [u8], Problem> {
        let start = self.offsets[number];
        let part = start.checked_add(size).and_then(|end| self.content.get(start..end));
        part.ok_or_else(|| format!("the file ends inside its array {number}"))
    }

    fn bits8(&self, number: usize, count: usize) -> Result<Vec<i16>, Problem> {
        Ok(self.bytes(number, count)?.iter().map(|&number| i16::from(number as i8)).collect())
    }

    fn bits16(&self, number: usize, count: usize) -> Result<Vec<u16>, Problem> {
        Ok(self.bytes(number, count * 2)?.chunks_exact(2).map(|part| u16::from_le_bytes([part[0], part[1]])).collect())
    }

    fn bits32(&self, number: usize, count: usize) -> Result<Vec<i32>, Problem> {
        let parts = self.bytes(number, count * 4)?.chunks_exact(4);
        Ok(parts.map(|part| i32::from_le_bytes([part[0], part[1], part[2], part[3]])).collect())
    }
}

/// A model; the embedding, which is most of it, stays where it is.
pub struct Model<'a> {
    sizes: Sizes,
    level: Level,
    lanes: usize, // channels, rounded up
    even: usize,  // dimensions, rounded up to pairs
    alphabet: Alphabet,
    embedding: &'a [u8],
    root: Vec<i32>,
    kernel: Aligned<i16>,
    bias: Aligned<i32>,
    query: Aligned<i16>,
    exp2: Vec<u16>,
    heads: Aligned<i16>,
    idle: Mutex<Option<Box<Scratch>>>, // of the last call, with its words
}

impl<'a> Model<'a> {
    /// `numbers` are sizes and where the arrays begin in the content of a file, in the order of the file's format.
    pub fn load(numbers: &[u32], content: &'a [u8]) -> Result<Self, Problem> {
        if numbers.len() != SIZES + ARRAYS {
            return Err(format!("a model has {} numbers, and these are {}", SIZES + ARRAYS, numbers.len()));
        }
        let sizes = Sizes::load(numbers)?;
        let arrays = Arrays { content, offsets: numbers[SIZES..].iter().map(|&offset| offset as usize).collect() };
        let Sizes { heads, dims, channels, width, queries, .. } = sizes;
        let root = arrays.bits32(2, sizes.most_pieces + 1)?;
        let most_root = (i32::MAX - 2048) / (128 * sizes.most_pieces as i32);
        let bias = arrays.bits32(4, channels)?;
        let exp2 = arrays.bits16(6, STEPS)?;
        if root[0] != 0 || root.iter().any(|root| !(0..=most_root).contains(root)) {
            return Err(format!("a root is not from 0 to {most_root}"));
        }
        if bias.iter().any(|bias| bias.unsigned_abs() > MOST_SUM as u32) || exp2[0] == 0 {
            return Err("a bias is too large, or exp2 of 0 is 0".into());
        }
        let (lanes, even) = (channels.next_multiple_of(LANES), dims.next_multiple_of(2));
        let mut padded = Aligned::new(lanes);
        padded[..channels].copy_from_slice(&bias);
        let rows: Vec<i16> = arrays.bits16(7, SEGMENTS * heads * sizes.features())?.iter().map(|&bits| bits as i16).collect();
        Ok(Self {
            sizes,
            level: Level::here(),
            lanes,
            even,
            alphabet: Alphabet::new(&arrays.bits16(0, FOLDED)?)?,
            embedding: arrays.bytes(1, sizes.buckets * dims)?,
            root,
            kernel: kernel(&arrays.bits8(3, channels * width * dims)?, &sizes, lanes, even),
            bias: padded,
            query: widened(&arrays.bits8(5, queries * channels)?, channels, lanes),
            exp2,
            heads: widened(&rows, channels, lanes),
            idle: Mutex::new(None),
        })
    }

    /// The scores of each head: of a user's text as message and as earlier message, else as reply.
    pub fn scores(&self, text: &[u32], is_reply: bool, scratch: &mut Scratch, out: &mut Vec<i64>) {
        scratch.read(self, text);
        scratch.pool(self);
        let segments: &[usize] = if is_reply { &[REPLY] } else { &[MESSAGE, EARLIER] };
        let size = self.lanes * (self.sizes.queries + 1);
        let digits = [0, 1, 2].map(|place| &scratch.digits[place][..]);
        for segment in segments {
            let rows = &self.heads[segment * self.sizes.heads * size..(segment + 1) * self.sizes.heads * size];
            out.extend(rows.chunks_exact(size).map(|row| simd::score(self.level, row, &digits)));
        }
    }

    /// For each token its start and end and what it adds to the score of a head.
    pub fn contributions(
        &self, text: &[u32], segment: usize, head: usize, scratch: &mut Scratch,
    ) -> Result<Vec<(u32, u32, i64)>, Problem> {
        if segment >= SEGMENTS || head >= self.sizes.heads {
            return Err(format!("there is no head {head} of a segment {segment}"));
        }
        scratch.read(self, text);
        Ok(self.contributed(&scratch.seen(), segment, head))
    }

    /// The same for a text of which is known what was seen in it; `segment` and `head` are those of the model.
    pub fn contributed(&self, seen: &Seen, segment: usize, head: usize) -> Vec<(u32, u32, i64)> {
        let size = self.lanes * (self.sizes.queries + 1);
        let row = &self.heads[(segment * self.sizes.heads + head) * size..][..size];
        let (queries, peak) = row.split_at(self.lanes * self.sizes.queries);
        let mut found: Vec<_> = seen.tokens.iter().map(|&(start, end)| (start, end, 0)).collect();
        for (place, signals) in seen.signals.chunks_exact(self.lanes).enumerate() {
            for (weights, query) in seen.attention.chunks_exact(found.len()).zip(queries.chunks_exact(self.lanes)) {
                found[place].2 += i64::from(weights[place]) * simd::dot(self.level, query, signals);
            }
        }
        let mut highest = vec![(0, 0); self.lanes]; // by channel: the place where it is first reached, and the maximum
        for (place, signals) in seen.signals.chunks_exact(self.lanes).enumerate() {
            for (highest, &signal) in highest.iter_mut().zip(signals) {
                *highest = if signal > highest.1 { (place, signal) } else { *highest };
            }
        }
        for ((place, most), &weight) in highest.into_iter().zip(peak).filter(|((_, most), _)| *most > 0) {
            found[place].2 += i64::from(weight) * (i64::from(most) << ONE);
        }
        found
    }

    pub fn head_count(&self) -> usize {
        self.sizes.heads
    }

    /// Room to work in: that of the last call if no other one has it.
    pub fn scratch(&self) -> Box<Scratch> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).take();
        idle.unwrap_or_else(|| Box::new(Scratch::new(self)))
    }

    pub fn put_back(&self, scratch: Box<Scratch>) {
        *self.idle.lock().unwrap_or_else(PoisonError::into_inner) = Some(scratch);
    }
}

/// Rows of numbers, each with zeros behind it.
fn widened(numbers: &[i16], from: usize, to: usize) -> Aligned<i16> {
    let mut wide = Aligned::new(numbers.len() / from * to);
    for (wide, row) in wide.chunks_exact_mut(to).zip(numbers.chunks_exact(from)) {
        wide[..from].copy_from_slice(row);
    }
    wide
}

/// The kernel as `simd::products` takes it.
fn kernel(conv: &[i16], sizes: &Sizes, lanes: usize, even: usize) -> Aligned<i16> {
    let mut found = Aligned::new(sizes.width * lanes * even);
    for (channel, of_channel) in conv.chunks_exact(sizes.width * sizes.dims).enumerate() {
        for (place, of_place) in of_channel.chunks_exact(sizes.dims).enumerate() {
            let block = (place * lanes + channel / LANES * LANES) * even;
            for (dim, &weight) in of_place.iter().enumerate() {
                found[block + (dim / 2 * LANES + channel % LANES) * 2 + dim % 2] = weight;
            }
        }
    }
    found
}

const WAYS: usize = 4; // places that a word may have
const KEPT_BYTES: usize = 2 << 20; // of rows
const MOST_USES: u8 = 15;

/// Whose rows are kept where, by how often they are used.
struct Kept {
    keys: Vec<Key>,
    uses: Vec<u8>,
    texts: Vec<u32>, // in which text they were last used: there they must stay
}

impl Kept {
    fn new(bytes_of_rows: usize) -> Self {
        let count = (KEPT_BYTES / bytes_of_rows / WAYS).max(1) * WAYS;
        Self { keys: vec![Key::NONE; count], uses: vec![0; count], texts: vec![0; count] }
    }

    /// The place of a word and whether its rows are there already; None if there is no room for it.
    #[inline(always)]
    fn find(&mut self, key: &Key, text: u32) -> Option<(usize, bool)> {
        let sets = (self.keys.len() / WAYS) as u64;
        let first = (u64::from(key.hash()) * sets >> 32) as usize * WAYS;
        let ways = first..first + WAYS;
        if let Some(place) = ways.clone().find(|&place| self.keys[place] == *key) {
            self.uses[place] = (self.uses[place] + 1).min(MOST_USES);
            self.texts[place] = text;
            return Some((place, true));
        }
        let place = ways.filter(|&place| self.texts[place] != text).min_by_key(|&place| self.uses[place])?;
        if self.uses[place] > 0 {
            self.uses[place] -= 1; // a rare word does not take the place of a common one at once
            return None;
        }
        (self.keys[place], self.uses[place], self.texts[place]) = (*key, 1, text);
        Some((place, false))
    }
}

/// What the layers below the features saw in a text.
pub struct Seen {
    tokens: Vec<(u32, u32)>,
    signals: Vec<i16>,
    attention: Vec<i32>,
}

impl Seen {
    pub fn size(&self) -> usize {
        self.signals.len() * 2 + self.attention.len() * 4 + self.tokens.len() * 8
    }
}

/// What becomes of a text, and what is kept from text to text.
pub struct Scratch {
    sequence: Sequence,
    kept: Kept,
    text: u32,          // number of the text, from 1
    rows: Aligned<i32>, // of words that are kept, then of the others of a text
    places: Vec<u32>,   // of the rows of each token
    words: Vec<i16>,    // vectors of words whose rows are not known yet
    wanted: Vec<u32>,   // places of these rows
    missing: Vec<u32>,  // tokens of these words
    pieces: Vec<u32>,
    counts: Vec<u32>,
    signals: Vec<i16>,
    levels: Vec<i32>,
    attention: Vec<i32>,
    digits: [Vec<i16>; DIGITS],
    features: Vec<i32>,
    maxima: Vec<i16>,
}

impl Scratch {
    fn new(model: &Model) -> Self {
        let size = model.sizes.width * model.lanes;
        let kept = Kept::new(size * 4);
        let rows = Aligned::new((kept.keys.len() + MOST_TOKENS) * size);
        let features = model.lanes * (model.sizes.queries + 1);
        Self {
            sequence: Sequence::default(),
            kept,
            text: 0,
            rows,
            places: Vec::new(),
            words: Vec::new(),
            wanted: Vec::new(),
            missing: Vec::new(),
            pieces: Vec::new(),
            counts: Vec::new(),
            signals: Vec::new(),
            levels: Vec::new(),
            attention: Vec::new(),
            digits: std::array::from_fn(|_| vec![0; features]),
            features: vec![0; features],
            maxima: vec![0; model.lanes],
        }
    }

    /// What was seen in the text that was read last.
    pub fn seen(&self) -> Seen {
        let tokens = self.sequence.tokens.iter().map(|token| (token.start, token.end)).collect();
        Seen { tokens, signals: self.signals.clone(), attention: self.attention.clone() }
    }

    /// All layers below the features.
    fn read(&mut self, model: &Model, text: &[u32]) {
        self.sequence.read(text, &model.alphabet);
        self.find_rows();
        self.make_words(model);
        simd::products(model.level, &model.kernel, &self.words, model.even, &self.wanted, &mut self.rows);
        let count = self.sequence.tokens.len();
        self.signals.resize(count * model.lanes, 0);
        let Sizes { width, conv_shift, .. } = model.sizes;
        simd::signals(model.level, &self.rows, &self.places, width, &model.bias, conv_shift, &mut self.signals);
        self.attend(model);
    }

    /// Where the rows of each token are, and which have to be made.
    fn find_rows(&mut self) {
        self.text = self.text.wrapping_add(1);
        self.places.clear();
        self.wanted.clear();
        self.missing.clear();
        let mut free = self.kept.keys.len();
        for place in 0..self.sequence.tokens.len() {
            let found = self.sequence.key(place).and_then(|key| self.kept.find(&key, self.text));
            let (row, is_known) = found.unwrap_or((free, false));
            free += usize::from(found.is_none());
            self.places.push(row as u32);
            if !is_known {
                self.wanted.push(row as u32);
                self.missing.push(place as u32);
            }
        }
    }

    /// The vectors of the words whose rows have to be made.
    fn make_words(&mut self, model: &Model) {
        let Sizes { dims, most_pieces, buckets, .. } = model.sizes;
        self.words.clear();
        self.words.resize(self.missing.len() * model.even, 0);
        self.counts.clear();
        self.pieces.clear();
        for &place in &self.missing {
            let before = self.pieces.len();
            self.sequence.pieces(place as usize, most_pieces, buckets, &mut self.pieces);
            for &piece in &self.pieces[before..] {
                simd::fetch(model.embedding, piece as usize * dims);
            }
            self.counts.push((self.pieces.len() - before) as u32);
        }
        let mut first = 0;
        for (&count, word) in self.counts.iter().zip(self.words.chunks_exact_mut(model.even)) {
            let pieces = &self.pieces[first..first + count as usize];
            first += count as usize;
            simd::sum(model.level, model.embedding, dims, pieces, model.root[pieces.len()], word);
        }
    }

    /// How much each token counts for each query.
    fn attend(&mut self, model: &Model) {
        let count = self.sequence.tokens.len();
        self.levels.resize(count, 0);
        self.attention.resize(count * model.sizes.queries, 0);
        if count == 0 {
            return;
        }
        for (query, weights) in model.query.chunks_exact(model.lanes).zip(self.attention.chunks_exact_mut(count)) {
            simd::levels(model.level, query, &self.signals, &mut self.levels);
            let highest = self.levels.iter().copied().max().unwrap_or(0);
            let mut total = 0;
            for (weight, &level) in weights.iter_mut().zip(&self.levels) {
                let steps = (i64::from(highest) - i64::from(level)) >> model.sizes.attention_shift;
                *weight = i32::from(model.exp2[(steps as usize).min(STEPS - 1)]);
                total += *weight as u32;
            }
            for weight in weights {
                *weight = (((*weight as u32) << ONE) / total) as i32;
            }
        }
    }

    /// The features of the text, as digits.
    fn pool(&mut self, model: &Model) {
        let (means, peak) = self.features.split_at_mut(model.lanes * model.sizes.queries);
        let count = self.sequence.tokens.len();
        self.maxima.fill(0);
        means.fill(0);
        if count > 0 {
            for (weights, means) in self.attention.chunks_exact(count).zip(means.chunks_exact_mut(model.lanes)) {
                simd::means(model.level, weights, &self.signals, means);
            }
            simd::maxima(model.level, &self.signals, &mut self.maxima);
        }
        for (feature, &most) in peak.iter_mut().zip(&self.maxima) {
            *feature = i32::from(most) << ONE;
        }
        for (place, digits) in self.digits.iter_mut().enumerate() {
            for (digit, &feature) in digits.iter_mut().zip(&self.features) {
                *digit = (feature >> (DIGIT as usize * place) & ((1 << DIGIT) - 1)) as i16;
            }
        }
    }
}
