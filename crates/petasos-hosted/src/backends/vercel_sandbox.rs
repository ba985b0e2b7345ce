//! `vercel_sandbox`: a sandbox that the vendor of that name runs, in programs that were built with
//! the feature `vercel_sandbox`.
//!
//! Without the feature it is known by name and says why it cannot be used. What it does is in the
//! folder beside this file.

#[cfg(feature = "vercel_sandbox")]
mod api;
#[cfg(feature = "vercel_sandbox")]
mod carrier;
#[cfg(feature = "vercel_sandbox")]
mod credential;
#[cfg(feature = "vercel_sandbox")]
#[cfg(test)]
mod tests;

use petasos_terminal::backend::BackendDef;

/// The backend.
#[cfg(feature = "vercel_sandbox")]
pub(super) static BACKEND: BackendDef = BackendDef {
    name: "vercel_sandbox",
    summary: "a sandbox hosted by Vercel",
    usable: carrier::usable,
    reach: None,
    open: |opening| Box::pin(carrier::open(opening)),
};

/// The backend, which is not in this program.
#[cfg(not(feature = "vercel_sandbox"))]
pub(super) static BACKEND: BackendDef = BackendDef {
    name: "vercel_sandbox",
    summary: "a sandbox hosted by Vercel (not in this build)",
    usable: |_| Err(ABSENT.to_owned()),
    reach: None,
    open: |_| {
        Box::pin(async {
            Err(petasos_contract::environment::EnvError::Settings(ABSENT.to_owned()))
        })
    },
};

#[cfg(not(feature = "vercel_sandbox"))]
const ABSENT: &str = "this program was built without `vercel_sandbox`: build it with \
                      `--features vercel_sandbox`, or choose another `terminal.backend`";
