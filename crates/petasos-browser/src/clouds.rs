//! Index of the cloud browsers. Kept in step with the folder by the build; do not edit.

mod browser_use;
mod browserbase;
mod firecrawl;

use crate::cloud::{CloudDef, some};

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub(crate) static CLOUDS: &[&CloudDef] = &[
    &browser_use::CLOUD,
    &browserbase::CLOUD,
    &firecrawl::CLOUD,
];

const _: () = some(CLOUDS);
