//! The native reader: what `rules/matcher.py` does in Python, for many texts in one call.
//!
//! Python stays the reference. Its packs come as flat arrays of numbers, which are checked when they are loaded; its
//! texts come as code points. Hits go back as numbers. `learned` is the learned reader, of which Python is the reference
//! too. All `unsafe` code of the crate is in `boundary` and in `simd`.

#![deny(unsafe_code)]

mod bits;
mod blocks;
mod boundary;
mod cases;
pub mod characters;
mod code;
mod conversation;
mod cosine;
mod counts;
mod detection;
mod drafts;
mod facts;
mod formulas;
mod helplines;
mod image;
mod input;
mod json;
mod kernel;
mod learned;
mod looks;
mod machine;
mod marks;
pub mod matcher;
mod message;
mod program;
mod prose;
mod records;
mod repeated;
mod required;
mod selection;
mod sentences;
mod shape;
mod simd;
mod spans;
mod tables;
mod text;
mod tokens;
mod verdicts;
