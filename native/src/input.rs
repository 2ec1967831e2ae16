//! Reading what Python wrote: flat arrays of 32-bit numbers, each preceded by its length. Nothing in them is trusted.

/// What is wrong with a program, in words for a maintainer: a user never sees it, since Python does the work then.
pub type Problem = String;

/// Sections of numbers, taken one after the other.
pub struct Sections<'a> {
    numbers: &'a [u32],
}

impl<'a> Sections<'a> {
    pub fn new(numbers: &'a [u32]) -> Self {
        Self { numbers }
    }

    /// The next section.
    pub fn next(&mut self, name: &str) -> Result<Section<'a>, Problem> {
        let (&length, rest) = self.numbers.split_first().ok_or_else(|| format!("{name} is missing"))?;
        let length = length as usize;
        if length > rest.len() {
            return Err(format!("{name} has {} of {length} numbers", rest.len()));
        }
        let (content, rest) = rest.split_at(length);
        self.numbers = rest;
        Ok(Section { name: name.to_string(), numbers: content })
    }

    /// The two numbers with which every program begins: what it is, and the version of its format.
    pub fn expect(&mut self, magic: u32, format: u32) -> Result<(), Problem> {
        let mut head = self.next("head")?;
        if head.number()? != magic {
            return Err("this is not a program of the native reader".into());
        }
        let found = head.number()?;
        if found != format {
            return Err(format!("format {found}, and this library reads {format}"));
        }
        head.end()
    }

    pub fn end(&self) -> Result<(), Problem> {
        if self.numbers.is_empty() { Ok(()) } else { Err(format!("{} numbers too many", self.numbers.len())) }
    }
}

/// One section. Every read is checked against its end.
pub struct Section<'a> {
    name: String,
    numbers: &'a [u32],
}

impl<'a> Section<'a> {
    /// Numbers that are no section of a program.
    pub fn of(numbers: &'a [u32]) -> Self {
        Self { name: "the call".to_string(), numbers }
    }

    pub fn number(&mut self) -> Result<u32, Problem> {
        let (&first, rest) = self.numbers.split_first().ok_or_else(|| format!("{} ends too early", self.name))?;
        self.numbers = rest;
        Ok(first)
    }

    /// A number below a bound.
    pub fn below(&mut self, bound: usize) -> Result<u32, Problem> {
        let found = self.number()?;
        if (found as usize) < bound { Ok(found) } else { Err(format!("{}: {found} is not below {bound}", self.name)) }
    }

    pub fn truth(&mut self) -> Result<bool, Problem> {
        Ok(self.below(2)? == 1)
    }

    /// So many numbers as they are.
    pub fn take(&mut self, count: usize) -> Result<&'a [u32], Problem> {
        if count > self.numbers.len() {
            return Err(format!("{} ends too early", self.name));
        }
        let (taken, rest) = self.numbers.split_at(count);
        self.numbers = rest;
        Ok(taken)
    }

    /// A list with its length in front.
    pub fn list(&mut self) -> Result<&'a [u32], Problem> {
        let count = self.number()? as usize;
        self.take(count)
    }

    /// The same, with every number below a bound.
    pub fn list_below(&mut self, bound: usize) -> Result<&'a [u32], Problem> {
        let found = self.list()?;
        match found.iter().find(|&&number| number as usize >= bound) {
            Some(number) => Err(format!("{}: {number} is not below {bound}", self.name)),
            None => Ok(found),
        }
    }

    /// All that is left, as numbers of 64 bits.
    pub fn words(&mut self) -> Result<Vec<u64>, Problem> {
        let rest = self.rest();
        if rest.len() % 2 != 0 {
            return Err(format!("{} has half a word", self.name));
        }
        Ok(rest.chunks_exact(2).map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32).collect())
    }

    /// All that is left, so many numbers at a time.
    pub fn rows<const N: usize>(&mut self) -> Result<Vec<[u32; N]>, Problem> {
        let rest = self.rest();
        if rest.len() % N != 0 {
            return Err(format!("{} is cut off", self.name));
        }
        Ok(rest.chunks_exact(N).map(|row| std::array::from_fn(|place| row[place])).collect())
    }

    pub fn rest(&mut self) -> &'a [u32] {
        std::mem::take(&mut self.numbers)
    }

    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    pub fn end(&self) -> Result<(), Problem> {
        if self.is_empty() { Ok(()) } else { Err(format!("{} has {} numbers too many", self.name, self.numbers.len())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_end_where_they_say() {
        let numbers = [2, 7, 8, 3, 1, 9];
        let mut sections = Sections::new(&numbers);
        let mut first = sections.next("first").unwrap();
        assert_eq!((first.number(), first.below(9), first.number().is_err()), (Ok(7), Ok(8), true));
        assert!(sections.next("second").is_err_and(|problem| problem == "second has 2 of 3 numbers"));
    }

    #[test]
    fn a_list_longer_than_its_section_is_refused() {
        let mut sections = Sections::new(&[2, u32::MAX, 1]);
        assert!(sections.next("numbers").unwrap().list().is_err());
    }

    #[test]
    fn programs_of_another_format_are_refused() {
        assert!(Sections::new(&[2, 5, 1]).expect(5, 1).is_ok());
        assert!(Sections::new(&[2, 5, 2]).expect(5, 1).is_err());
        assert!(Sections::new(&[]).expect(5, 1).is_err());
    }
}
