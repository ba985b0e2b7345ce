//! Index of the terminal backends. Kept in step with the folder by the build; do not edit.

mod docker;
mod local;
mod singularity;
mod ssh;

use crate::backend::{BackendDef, unique};

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static BACKENDS: &[&BackendDef] = &[
    &docker::BACKEND,
    &local::BACKEND,
    &singularity::BACKEND,
    &ssh::BACKEND,
];

const _: () = unique(BACKENDS);
