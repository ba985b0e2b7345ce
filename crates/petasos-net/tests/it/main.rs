//! The way out, tested through its public doors.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod redirects;
mod scopes;
mod serving;
mod sites;
