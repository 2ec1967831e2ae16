//! The inner loops of the learned reader, each for any machine and for one with AVX2: the same integers.
//!
//! Beside `boundary` the one place with `unsafe`: to call what a machine has only if it was asked, and to read and write
//! whole registers. Every such function checks the lengths of what it is given before it does.

#![allow(unsafe_code)]

use std::ops::{Deref, DerefMut};

pub const LANES: usize = 16; // channels that are computed together; their number is rounded up to it
const LINE: usize = 64; // bytes
pub const DIGIT: u32 = 9; // bits: sums of products of such digits and weights fit into 32 bits
pub const DIGITS: usize = 3; // of a feature, which has 27 bits
const TOGETHER: usize = 512; // features whose products are summed in 32 bits: 2**24 each, 64 in a lane

/// What the machine can do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Level {
    Any,
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Level {
    pub fn here() -> Self {
        #[cfg(target_arch = "x86_64")]
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            return Self::Avx2;
        }
        Self::Any
    }
}

/// Numbers that begin with a line of the cache: a register that lies across two lines takes twice as long.
pub struct Aligned<T> {
    numbers: Vec<T>,
    first: usize,
    length: usize,
}

impl<T: Copy + Default> Aligned<T> {
    pub fn new(length: usize) -> Self {
        let size = std::mem::size_of::<T>();
        let numbers = vec![T::default(); length + LINE / size];
        let first = (LINE - numbers.as_ptr() as usize % LINE) % LINE / size;
        Self { numbers, first, length }
    }
}

impl<T> Deref for Aligned<T> {
    type Target = [T];

    #[inline(always)]
    fn deref(&self) -> &[T] {
        &self.numbers[self.first..self.first + self.length]
    }
}

impl<T> DerefMut for Aligned<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.numbers[self.first..self.first + self.length]
    }
}

/// A function for any machine, which is compiled a second time for those that have AVX2.
macro_rules! twice {
    ($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?) => {
        pub fn $name(level: Level, $($argument: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            if level == Level::Avx2 {
                #[target_feature(enable = "avx2,fma")]
                unsafe fn wide($($argument: $type),*) $(-> $result)? {
                    any::$name($($argument),*)
                }
                // SAFETY: the machine was asked for it.
                return unsafe { wide($($argument),*) };
            }
            let _ = level;
            any::$name($($argument),*)
        }
    };
}

twice!(sum(embedding: &[u8], dims: usize, pieces: &[u32], root: i32, word: &mut [i16]));
twice!(signals(rows: &[i32], places: &[u32], width: usize, bias: &[i32], shift: u32, signals: &mut [i16]));
twice!(levels(query: &[i16], signals: &[i16], levels: &mut [i32]));
twice!(means(attention: &[i32], signals: &[i16], means: &mut [i32]));
twice!(maxima(signals: &[i16], maxima: &mut [i16]));

mod any {
    use super::LANES;

    /// The sum of some rows, scaled and clamped.
    #[inline(always)]
    pub fn sum(embedding: &[u8], dims: usize, pieces: &[u32], root: i32, word: &mut [i16]) {
        for (first, part) in (0..dims).step_by(LANES).zip(word.chunks_mut(LANES)) {
            let count = LANES.min(dims - first);
            let mut sums = [0i16; LANES]; // at most 64 rows of at most 128
            for &piece in pieces {
                let at = piece as usize * dims + first;
                let row = &embedding[at..at + count];
                if let Ok(row) = <&[u8; LANES]>::try_from(row) {
                    for (sum, &number) in sums.iter_mut().zip(row) {
                        *sum = sum.wrapping_add(i16::from(number as i8));
                    }
                } else {
                    for (sum, &number) in sums.iter_mut().zip(row) {
                        *sum = sum.wrapping_add(i16::from(number as i8));
                    }
                }
            }
            for (number, &sum) in part[..count].iter_mut().zip(&sums) {
                *number = (i32::from(sum).wrapping_mul(root).wrapping_add(2048) >> 12).clamp(-1023, 1023) as i16;
            }
        }
    }

    /// What each channel sees around each token: a row of sums of each token for each place in the window.
    #[inline(always)]
    pub fn signals(rows: &[i32], places: &[u32], width: usize, bias: &[i32], shift: u32, signals: &mut [i16]) {
        let (channels, half) = (bias.len(), width / 2);
        for (place, out) in signals.chunks_exact_mut(channels).enumerate() {
            let first = place.saturating_sub(half);
            let around = &places[first..(place + half + 1).min(places.len())];
            let skipped = first + half - place; // places of the window that are before the text
            for (at, (out, bias)) in out.chunks_exact_mut(LANES).zip(bias.chunks_exact(LANES)).enumerate() {
                let mut sums = [0i32; LANES];
                sums.copy_from_slice(bias);
                for (number, &token) in around.iter().enumerate() {
                    let start = (token as usize * width + skipped + number) * channels + at * LANES;
                    for (sum, row) in sums.iter_mut().zip(&rows[start..start + LANES]) {
                        *sum = sum.wrapping_add(*row);
                    }
                }
                for (out, sum) in out.iter_mut().zip(sums) {
                    *out = sum.wrapping_shr(shift).clamp(0, 4095) as i16;
                }
            }
        }
    }

    #[inline(always)]
    pub fn levels(query: &[i16], signals: &[i16], levels: &mut [i32]) {
        for (level, signals) in levels.iter_mut().zip(signals.chunks_exact(query.len())) {
            let products = query.iter().zip(signals).map(|(&one, &other)| i32::from(one).wrapping_mul(i32::from(other)));
            *level = products.fold(0, i32::wrapping_add);
        }
    }

    #[inline(always)]
    pub fn means(attention: &[i32], signals: &[i16], means: &mut [i32]) {
        let channels = means.len();
        for (at, means) in means.chunks_exact_mut(LANES).enumerate() {
            let mut sums = [0i32; LANES];
            for (&weight, signals) in attention.iter().zip(signals.chunks_exact(channels)) {
                for (sum, &signal) in sums.iter_mut().zip(&signals[at * LANES..(at + 1) * LANES]) {
                    *sum = sum.wrapping_add(weight.wrapping_mul(i32::from(signal)));
                }
            }
            means.copy_from_slice(&sums);
        }
    }

    #[inline(always)]
    pub fn dot(one: &[i16], other: &[i16]) -> i64 {
        one.iter().zip(other).map(|(&one, &other)| i64::from(i32::from(one).wrapping_mul(i32::from(other)))).sum()
    }

    #[inline(always)]
    pub fn maxima(signals: &[i16], maxima: &mut [i16]) {
        for signals in signals.chunks_exact(maxima.len()) {
            for (most, &signal) in maxima.iter_mut().zip(signals) {
                *most = signal.max(*most);
            }
        }
    }

    /// The products of one word and the kernel: for each place in a window a sum for each channel.
    #[inline(always)]
    pub fn rows(kernel: &[i16], word: &[i16], out: &mut [i32]) {
        for (out, kernel) in out.chunks_exact_mut(LANES).zip(kernel.chunks_exact(LANES * word.len())) {
            let mut sums = [0i32; LANES];
            for (pair, kernel) in word.chunks_exact(2).zip(kernel.chunks_exact(2 * LANES)) {
                let (one, other) = (i32::from(pair[0]), i32::from(pair[1]));
                for (sum, weights) in sums.iter_mut().zip(kernel.chunks_exact(2)) {
                    let product = one.wrapping_mul(i32::from(weights[0]));
                    *sum = sum.wrapping_add(product).wrapping_add(other.wrapping_mul(i32::from(weights[1])));
                }
            }
            out.copy_from_slice(&sums);
        }
    }

    #[inline(always)]
    pub fn score(weights: &[i16], digits: &[&[i16]; super::DIGITS]) -> i64 {
        let dot = |digits: &[i16]| -> i64 {
            weights.iter().zip(digits).map(|(&one, &other)| i64::from(i32::from(one).wrapping_mul(i32::from(other)))).sum()
        };
        digits.iter().enumerate().map(|(place, digits)| dot(digits) << (super::DIGIT as usize * place)).sum()
    }
}

/// The products of some words and the kernel, each into its row of `rows`.
///
/// The kernel is by place in the window, 16 channels, pairs of dimensions, channels, and the two of a pair.
pub fn products(level: Level, kernel: &[i16], words: &[i16], dims: usize, places: &[u32], rows: &mut [i32]) {
    let size = kernel.len() / dims;
    assert!(dims % 2 == 0 && kernel.len() % (LANES * dims) == 0 && words.len() == places.len() * dims);
    assert!(places.iter().all(|&place| (place as usize + 1) * size <= rows.len()));
    #[cfg(target_arch = "x86_64")]
    if level == Level::Avx2 {
        const BLOCK: usize = 4;
        let whole = places.len() / BLOCK * BLOCK;
        for (words, places) in words.chunks_exact(BLOCK * dims).zip(places.chunks_exact(BLOCK)) {
            // SAFETY: the machine was asked for it, and all lengths were checked above.
            unsafe { avx2::products::<BLOCK>(kernel, words, dims, places, rows) };
        }
        for (word, place) in words.chunks_exact(dims).zip(places.chunks_exact(1)).skip(whole) {
            // SAFETY: as above.
            unsafe { avx2::products::<1>(kernel, word, dims, place, rows) };
        }
        return;
    }
    let _ = level;
    for (word, &place) in words.chunks_exact(dims).zip(places) {
        any::rows(kernel, word, &mut rows[place as usize * size..(place as usize + 1) * size]);
    }
}

/// The sum of weights times features, whose digits to the base 2**DIGIT are given, the lowest first.
pub fn score(level: Level, weights: &[i16], digits: &[&[i16]; DIGITS]) -> i64 {
    assert!(weights.len() % LANES == 0 && digits.iter().all(|digits| digits.len() == weights.len()));
    #[cfg(target_arch = "x86_64")]
    if level == Level::Avx2 {
        // SAFETY: the machine was asked for it, and all lengths were checked above.
        return unsafe { avx2::score(weights, digits) };
    }
    let _ = level;
    any::score(weights, digits)
}

/// The sum of products of weights and signals, which are at most 2**12 and not negative.
pub fn dot(level: Level, weights: &[i16], signals: &[i16]) -> i64 {
    assert!(weights.len() % LANES == 0 && weights.len() == signals.len());
    #[cfg(target_arch = "x86_64")]
    if level == Level::Avx2 {
        // SAFETY: the machine was asked for it, and all lengths were checked above.
        return unsafe { avx2::dot(weights, signals) };
    }
    let _ = level;
    any::dot(weights, signals)
}

/// Asks for a place of the embedding before it is needed: most of it is far from the processor.
#[inline(always)]
pub fn fetch(numbers: &[u8], place: usize) {
    #[cfg(target_arch = "x86_64")]
    if let Some(number) = numbers.get(place) {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        // SAFETY: it is a hint, and the place exists.
        unsafe { _mm_prefetch(std::ptr::from_ref(number).cast(), _MM_HINT_T0) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (numbers, place);
}

#[cfg(target_arch = "x86_64")]
mod avx2 {
    use super::{DIGIT, DIGITS, LANES, TOGETHER};
    use std::arch::x86_64::*;

    /// # Safety
    /// The machine has AVX2; lengths as `super::products` checks them, with `N` words.
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn products<const N: usize>(
        kernel: &[i16], words: &[i16], dims: usize, places: &[u32], rows: &mut [i32],
    ) {
        let size = kernel.len() / dims;
        let words: [*const i32; N] = std::array::from_fn(|word| words.as_ptr().add(word * dims).cast());
        for first in (0..size).step_by(LANES) {
            let mut at = kernel.as_ptr().add(first * dims).cast::<__m256i>();
            let mut sums = [[_mm256_setzero_si256(); 2]; N];
            for pair in 0..dims / 2 {
                let weights = [_mm256_loadu_si256(at), _mm256_loadu_si256(at.add(1))];
                at = at.add(2);
                for word in 0..N {
                    let numbers = _mm256_set1_epi32(words[word].add(pair).read_unaligned());
                    for half in 0..2 {
                        let product = _mm256_madd_epi16(weights[half], numbers);
                        sums[word][half] = _mm256_add_epi32(sums[word][half], product);
                    }
                }
            }
            for word in 0..N {
                let row = rows.as_mut_ptr().add(places[word] as usize * size + first).cast::<__m256i>();
                _mm256_storeu_si256(row, sums[word][0]);
                _mm256_storeu_si256(row.add(1), sums[word][1]);
            }
        }
    }

    /// # Safety
    /// The machine has AVX2; lengths as `super::dot` checks them.
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn dot(weights: &[i16], signals: &[i16]) -> i64 {
        let mut total = _mm256_setzero_si256();
        for at in (0..weights.len()).step_by(LANES) {
            let weights = _mm256_loadu_si256(weights.as_ptr().add(at).cast());
            let signals = _mm256_loadu_si256(signals.as_ptr().add(at).cast());
            let products = _mm256_madd_epi16(weights, signals);
            let low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(products));
            let high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(products));
            total = _mm256_add_epi64(total, _mm256_add_epi64(low, high));
        }
        let mut parts = [0i64; 4];
        _mm256_storeu_si256(parts.as_mut_ptr().cast(), total);
        parts.into_iter().fold(0, i64::wrapping_add)
    }

    /// # Safety
    /// The machine has AVX2; lengths as `super::score` checks them.
    #[target_feature(enable = "avx2,fma")]
    pub unsafe fn score(weights: &[i16], digits: &[&[i16]; DIGITS]) -> i64 {
        let mut total = _mm256_setzero_si256();
        for first in (0..weights.len()).step_by(TOGETHER) {
            let mut sums = [_mm256_setzero_si256(); DIGITS];
            for at in (first..weights.len().min(first + TOGETHER)).step_by(LANES) {
                let weights = _mm256_loadu_si256(weights.as_ptr().add(at).cast());
                for (sum, digits) in sums.iter_mut().zip(digits) {
                    let numbers = _mm256_loadu_si256(digits.as_ptr().add(at).cast());
                    *sum = _mm256_add_epi32(*sum, _mm256_madd_epi16(weights, numbers));
                }
            }
            for (place, sum) in sums.into_iter().enumerate() {
                let low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(sum));
                let high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256::<1>(sum));
                let shift = _mm_cvtsi32_si128(DIGIT as i32 * place as i32);
                total = _mm256_add_epi64(total, _mm256_sll_epi64(_mm256_add_epi64(low, high), shift));
            }
        }
        let mut parts = [0i64; 4];
        _mm256_storeu_si256(parts.as_mut_ptr().cast(), total);
        parts.into_iter().fold(0, i64::wrapping_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(count: usize, most: i16, seed: u32) -> Aligned<i16> {
        let mut numbers = Aligned::new(count);
        let mut state = seed;
        for number in numbers.iter_mut() {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *number = ((state >> 16) as i16).clamp(-most - 1, most);
        }
        numbers
    }

    #[test]
    fn this_machine_computes_what_any_machine_does() {
        let (dims, size) = (6, 5 * 32);
        let (kernel, words) = (drawn(size * dims, 127, 1), drawn(7 * dims, 1023, 2));
        let found = [Level::Any, Level::here()].map(|level| {
            let mut rows = vec![0; 9 * size];
            products(level, &kernel, &words, dims, &[8, 0, 3, 2, 5, 1, 7], &mut rows);
            rows
        });
        assert_eq!(found[0], found[1]);
        assert!(found[0][4 * size..5 * size].iter().all(|&number| number == 0));
    }

    #[test]
    fn scores_of_the_largest_features_do_not_overflow() {
        for count in [16, 512, 528, 2064] {
            let digits = vec![(1 << DIGIT) - 1; count];
            for weight in [i16::MIN, i16::MAX] {
                let whole = count as i64 * i64::from(weight) * ((1 << (DIGIT * DIGITS as u32)) - 1);
                for level in [Level::Any, Level::here()] {
                    assert_eq!(score(level, &vec![weight; count], &[&digits, &digits, &digits]), whole);
                }
            }
        }
    }

    #[test]
    #[should_panic]
    fn a_row_beyond_the_end_is_refused() {
        products(Level::here(), &[1; 32], &[1; 2], 2, &[1], &mut [0; 16]);
    }
}
