//! Index of the terminal backends. Kept in step with the folder by the build; do not edit.

mod local;

use crate::backend::{BackendDef, unique};

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static BACKENDS: &[&BackendDef] = &[
    &local::BACKEND,
];

const _: () = unique(BACKENDS);
