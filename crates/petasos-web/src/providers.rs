//! Index of the search providers. Kept in step with the folder by the build; do not edit.

mod brave;
mod ddgs;
mod exa;
mod firecrawl;
mod parallel;
mod searxng;
mod serper;
mod tavily;
mod xai;

use crate::search::{SearchDef, unique};

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static PROVIDERS: &[&SearchDef] = &[
    &brave::PROVIDER,
    &ddgs::PROVIDER,
    &exa::PROVIDER,
    &firecrawl::PROVIDER,
    &parallel::PROVIDER,
    &searxng::PROVIDER,
    &serper::PROVIDER,
    &tavily::PROVIDER,
    &xai::PROVIDER,
];

const _: () = unique(PROVIDERS);
