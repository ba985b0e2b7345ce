//! Index of the terminal backends. Kept in step with the folder by the build; do not edit.

mod daytona;
mod docker;
mod local;
mod modal;
mod singularity;
mod ssh;
mod vercel_sandbox;

use crate::backend::{BackendDef, unique};

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static BACKENDS: &[&BackendDef] = &[
    &daytona::BACKEND,
    &docker::BACKEND,
    &local::BACKEND,
    &modal::BACKEND,
    &singularity::BACKEND,
    &ssh::BACKEND,
    &vercel_sandbox::BACKEND,
];

const _: () = unique(BACKENDS);
