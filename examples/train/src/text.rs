//! What is learnt: this repository's documentation, as numbers of characters.

use candle_core::{Device, Result, Tensor};

/// A text, and the characters that occur in it.
pub struct Text {
    characters: Vec<char>,
    numbers: Vec<u32>,
}

/// Characters, each with those before it.
pub struct Batch {
    /// `[batch, context]`.
    pub before: Tensor,
    /// `[batch]`.
    pub next: Tensor,
}

impl Text {
    pub fn of_this_repository() -> Self {
        let text = [
            include_str!("../../../README.md"),
            include_str!("../../../ARCHITECTURE.md"),
            include_str!("../../../docs/cookbook.md"),
        ]
        .concat();
        let mut characters: Vec<char> = text.chars().collect();
        characters.sort_unstable();
        characters.dedup();
        let number = |c: char| characters.binary_search(&c).unwrap_or(0) as u32;
        let numbers = text.chars().map(number).collect();
        Self { characters, numbers }
    }

    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// How many different characters there are.
    pub fn characters(&self) -> usize {
        self.characters.len()
    }

    /// The batch of a step: the same at every run.
    pub fn batch(&self, step: usize, size: usize, context: usize) -> Result<Batch> {
        let places: Vec<usize> = (0..size)
            .map(|i| ((step * size + i) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) as usize % (self.len() - context))
            .collect();
        let before = places.iter().flat_map(|place| self.numbers[*place..place + context].iter().copied());
        let next = places.iter().map(|place| self.numbers[place + context]);
        Ok(Batch {
            before: Tensor::from_vec(before.collect(), (size, context), &Device::Cpu)?,
            next: Tensor::from_vec(next.collect(), size, &Device::Cpu)?,
        })
    }
}
