//! Index of those who film. Kept in step with the folder by the build; do not edit.

mod deepinfra;
mod fal;
mod xai;

use crate::filming::VideoDef;

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static FILMERS: &[&VideoDef] = &[
    &deepinfra::FILMER,
    &fal::FILMER,
    &xai::FILMER,
];

const _: () = assert!(!FILMERS.is_empty(), "nobody who films is listed");
