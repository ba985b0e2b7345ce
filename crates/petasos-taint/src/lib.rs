//! Whose words a conversation took in, and whether a deed repeats them.
//!
//! The law: the runtime keeps this record, the model never does; rewriting never lowers a label.
//!
//! | file | what |
//! |---|---|
//! | `words` | the record of one conversation: sources, turns, trust |
//! | `features` | what a text can be recognised by: words in a row, addresses, paths, commands |
//! | `ledger` | files that strangers wrote, known again in later conversations |
//! | `trust` | whom the user's own settings trust |
//! | `windows` | private text by its windows, also when it was encoded |

mod features;
mod ledger;
mod trust;
mod windows;
mod words;

pub use ledger::Ledger;
pub use trust::{is_trusted, place_of};
pub use words::Words;
