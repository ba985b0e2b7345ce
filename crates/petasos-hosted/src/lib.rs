//! Terminal backends that a vendor hosts: sandboxes reached over the vendor's own interface.
//!
//! Its law: no process is started and no `unsafe` is written here; everything goes out through
//! `petasos-net`, and a backend is only a carrier under the terminal's shared remote layer.
//!
//! | file | what it holds |
//! |---|---|
//! | `backends` | one file a vendor, with its folder |
//! | `error`, `retry` | what a failed call may have done, and when it is made again |
//! | `rest` | calls in JSON over HTTP |
//! | `programs` | programs run through a vendor's own exec call |
//! | `opening`, `settings` | from the settings to an open environment |
//! | `ledger` | sandboxes and snapshots that outlive the program |

pub mod backends;
mod error;
mod ledger;
mod opening;
mod programs;
mod rest;
mod retry;
mod settings;
#[cfg(test)]
mod test_double;

pub(crate) use error::VendorError;
pub(crate) use ledger::{Ledger, Owner};
pub(crate) use opening::{Given, place, required};
pub(crate) use programs::{Calls, Programs, Said, has_terminals, program_text};
pub(crate) use rest::{Call, Rest, below, read};
pub(crate) use retry::{Repeat, with_retry};
pub(crate) use settings::{HostedSettings, address, plain_name, variable};
