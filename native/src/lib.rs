//! The native reader: what `rules/matcher.py` does in Python, for many texts in one call.
//!
//! Python stays the reference. Its packs come as flat arrays of numbers, which are checked when they are loaded; its
//! texts come as code points. Hits go back as numbers. `learned` is the learned reader, of which Python is the reference
//! too. All `unsafe` code of the crate is in `boundary` and in `simd`.

#![deny(unsafe_code)]

mod boundary;
pub mod characters;
mod code;
mod cosine;
mod detection;
mod input;
mod learned;
mod machine;
pub mod matcher;
mod required;
mod rules;
mod sentences;
mod simd;
mod text;
mod tokens;
