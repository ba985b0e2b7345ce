//! Index of the services that read pages. Kept in step with the folder by the build; do not edit.

mod exa;
mod firecrawl;
mod parallel;
mod tavily;

use crate::reader::{ReaderDef, unique};

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static READERS: &[&ReaderDef] = &[
    &exa::READER,
    &firecrawl::READER,
    &parallel::READER,
    &tavily::READER,
];

const _: () = unique(READERS);
