//! The one redactor: every text that leaves for a model, a log, a file or a screen goes through it.
//!
//! Its law: it knows secrets and shapes, never where a text goes; equal texts are redacted alike
//! at every sink. It does no I/O.
//!
//! | file | what it holds |
//! |---|---|
//! | `redactor` | the redactor: whole texts, ranges, JSON values, streams |
//! | `values` | which values of a settings snapshot are secrets |
//! | `encodings` | how a secret looks in base64, hex, percent encoding, reversed |
//! | `shapes` | keys by their shape, and secrets by their place in a command |
//! | `names` | names that say their value is a secret |

mod encodings;
mod names;
mod redactor;
mod shapes;
mod values;

pub use names::is_secret_name;
pub use redactor::{MARK, RedactState, Redactor, redact_assignments};
