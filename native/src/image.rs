//! Images: the rules of a language as they are used, so that nothing has to be computed when they are loaded.
//!
//! An image is numbers in sections, as a program is, with a checksum in front. It is read with the same distrust: the
//! checksum tells a damaged file, and every number that leads somewhere is compared with where it can lead.

use crate::input::{Problem, Sections};

const MAGIC: u32 = 0x5359_4E49;
const FORMAT: u32 = 1;
const HEAD: usize = 4; // numbers in front: magic, format, and the checksum in two halves

/// Numbers to be written, in sections.
#[derive(Default)]
pub struct Image {
    numbers: Vec<u32>,
}

impl Image {
    /// A section.
    pub fn put(&mut self, numbers: &[u32]) {
        self.numbers.push(numbers.len() as u32);
        self.numbers.extend_from_slice(numbers);
    }

    pub fn put_from(&mut self, numbers: impl Iterator<Item = u32>) {
        let start = self.numbers.len();
        self.numbers.push(0);
        self.numbers.extend(numbers);
        self.numbers[start] = (self.numbers.len() - start - 1) as u32;
    }

    pub fn put_words(&mut self, words: &[u64]) {
        self.put_from(words.iter().flat_map(|&word| [word as u32, (word >> 32) as u32]));
    }

    /// With its head.
    pub fn finished(self) -> Vec<u32> {
        let checksum = checksum_of(&self.numbers);
        let mut found = vec![MAGIC, FORMAT, checksum as u32, (checksum >> 32) as u32];
        found.extend_from_slice(&self.numbers);
        found
    }
}

/// The sections of an image that is whole.
pub fn opened(numbers: &[u32]) -> Result<Sections<'_>, Problem> {
    let Some((head, numbers)) = numbers.split_at_checked(HEAD) else { return Err("this is not an image".into()) };
    if head[..2] != [MAGIC, FORMAT] {
        return Err("this is not an image that this library reads".into());
    }
    if checksum_of(numbers) != u64::from(head[2]) | u64::from(head[3]) << 32 {
        return Err("the image is damaged".into());
    }
    Ok(Sections::new(numbers))
}

/// Four sums beside each other, so that each waits for itself alone.
fn checksum_of(numbers: &[u32]) -> u64 {
    let mix = |sum: u64, number: u32| (sum.rotate_left(23) ^ u64::from(number)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut sums = [1, 2, 3, 4];
    let mut parts = numbers.chunks_exact(4);
    for part in &mut parts {
        for (sum, &number) in sums.iter_mut().zip(part) {
            *sum = mix(*sum, number);
        }
    }
    let rest = parts.remainder().iter().fold(numbers.len() as u64, |sum, &number| mix(sum, number));
    sums.into_iter().fold(rest, |all, sum| (all.rotate_left(17) ^ sum).wrapping_mul(0xD6E8_FEB8_6659_FD93))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_read_as_it_was_written_and_damage_is_told() {
        let mut image = Image::default();
        image.put(&[7, 8]);
        image.put_words(&[1 << 40]);
        let mut numbers = image.finished();
        let mut sections = opened(&numbers).unwrap();
        assert_eq!(sections.next("first").unwrap().rest(), [7, 8]);
        assert_eq!(sections.next("second").unwrap().rest(), [0, 256]);
        assert!(sections.end().is_ok());
        for place in 0..numbers.len() {
            numbers[place] ^= 1;
            assert!(opened(&numbers).is_err(), "{place}");
            numbers[place] ^= 1;
        }
        assert!(opened(&numbers[..3]).is_err() && opened(&numbers[..numbers.len() - 1]).is_err());
    }
}
