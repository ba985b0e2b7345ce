//! Index of the voices. Kept in step with the folder by the build; do not edit.

mod deepinfra;
mod edge;
mod elevenlabs;
mod espeak;
mod gemini;
mod kittentts;
mod minimax;
mod mistral;
mod neutts;
mod openai;
mod piper;
mod say;
mod xai;

use crate::speaking::SpeechDef;

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static VOICES: &[&SpeechDef] = &[
    &deepinfra::VOICE,
    &edge::VOICE,
    &elevenlabs::VOICE,
    &espeak::VOICE,
    &gemini::VOICE,
    &kittentts::VOICE,
    &minimax::VOICE,
    &mistral::VOICE,
    &neutts::VOICE,
    &openai::VOICE,
    &piper::VOICE,
    &say::VOICE,
    &xai::VOICE,
];

const _: () = assert!(!VOICES.is_empty(), "no voice is listed");
