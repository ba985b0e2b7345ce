//! Index of the hosted backends. Kept in step with the folder by the build; do not edit.

mod daytona;
mod modal;
mod vercel_sandbox;

use petasos_terminal::backend::{BackendDef, unique};

/// Every member, in the order of its file name.
#[rustfmt::skip]
pub static BACKENDS: &[&BackendDef] = &[
    &daytona::BACKEND,
    &modal::BACKEND,
    &vercel_sandbox::BACKEND,
];

const _: () = unique(BACKENDS);
