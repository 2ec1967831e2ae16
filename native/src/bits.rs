//! Sets of numbers as bits.

/// A set, 64 numbers to a word.
pub type Bits = Vec<u64>;

#[inline(always)]
pub fn has(bits: &[u64], number: usize) -> bool {
    bits[number >> 6] >> (number & 63) & 1 != 0
}

#[inline(always)]
pub fn insert(bits: &mut [u64], number: usize) {
    bits[number >> 6] |= 1 << (number & 63);
}

/// The numbers in a word of a set.
pub struct Ones(pub u64);

impl Iterator for Ones {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        let lowest = self.0.trailing_zeros() as usize;
        self.0 &= self.0 - 1;
        Some(lowest)
    }
}

/// A set with few members: only the words that are not 0, with their places.
#[derive(Clone, Debug, Default)]
pub struct Sparse(pub Vec<(u32, u64)>);

impl Sparse {
    pub fn new(members: impl IntoIterator<Item = u32>) -> Self {
        let mut found: std::collections::BTreeMap<u32, u64> = Default::default();
        for member in members {
            *found.entry(member >> 6).or_default() |= 1 << (member & 63);
        }
        Self(found.into_iter().collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    #[inline]
    pub fn meets(&self, bits: &[u64]) -> bool {
        self.0.iter().any(|&(place, own)| bits[place as usize] & own != 0)
    }

    pub fn count_in(&self, bits: &[u64]) -> u32 {
        self.0.iter().map(|&(place, own)| (bits[place as usize] & own).count_ones()).sum()
    }

    /// The members that are in `bits` too.
    pub fn members_in<'a>(&'a self, bits: &'a [u64]) -> impl Iterator<Item = usize> + 'a {
        self.0.iter().flat_map(move |&(place, own)| Ones(bits[place as usize] & own).map(move |bit| place as usize * 64 + bit))
    }

    pub fn members(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|&(place, own)| Ones(own).map(move |bit| place * 64 + bit as u32))
    }
}

/// Sets one behind the other, each with its length in front: its members, as a section of an image has them.
pub fn listed<'s>(sets: impl Iterator<Item = &'s Sparse> + 's) -> impl Iterator<Item = u32> + 's {
    sets.flat_map(|set| std::iter::once(set.members().count() as u32).chain(set.members()))
}

/// The members of a set, in their order.
pub fn members(bits: &[u64]) -> impl Iterator<Item = usize> + '_ {
    bits.iter().enumerate().flat_map(|(place, &own)| Ones(own).map(move |bit| place * 64 + bit))
}
