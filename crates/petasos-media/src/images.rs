//! Index of those who draw. Kept in step with the folder by the build; do not edit.

mod deepinfra;
mod fal;
mod gemini;
mod krea;
mod openai;
mod openai_codex;
mod openrouter;
mod xai;

use crate::creating::ImageDef;

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static PAINTERS: &[&ImageDef] = &[
    &deepinfra::PAINTER,
    &fal::PAINTER,
    &gemini::PAINTER,
    &krea::PAINTER,
    &openai::PAINTER,
    &openai_codex::PAINTER,
    &openrouter::PAINTER,
    &xai::PAINTER,
];

const _: () = assert!(!PAINTERS.is_empty(), "nobody who draws is listed");
