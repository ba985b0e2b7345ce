//! Index of the recognisers. Kept in step with the folder by the build; do not edit.

mod deepinfra;
mod elevenlabs;
mod faster_whisper;
mod groq;
mod local;
mod mistral;
mod openai;
mod xai;

use crate::transcribing::HearingDef;

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static HEARINGS: &[&HearingDef] = &[
    &deepinfra::HEARING,
    &elevenlabs::HEARING,
    &faster_whisper::HEARING,
    &groq::HEARING,
    &local::HEARING,
    &mistral::HEARING,
    &openai::HEARING,
    &xai::HEARING,
];

const _: () = assert!(!HEARINGS.is_empty(), "no recogniser is listed");
