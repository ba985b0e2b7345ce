//! Skills: folders of instructions that a model reads when it needs them.
//!
//! Its law: a skill is data until somebody trusts it. Text of a skill reaches a model only through
//! [`Library`], which knows where each one comes from, whether a person agreed to it, and what it
//! lacks here; nothing in a skill grants anything by itself.
//!
//! | file | what it holds |
//! |---|---|
//! | `format`, `front` | `SKILL.md`: the front matter, what is wrong with it, the body |
//! | `places`, `discover` | where skills are looked for, in which order, and what is there |
//! | `digest`, `consent` | what a folder holds, and what a person agreed to about it |
//! | `readiness` | what a skill lacks here: variables, programs, files, platform |
//! | `disclose` | the index in the prompt, within its budget |
//! | `lookup`, `view` | one skill by name; its text, its files |
//! | `inline` | variables and commands inside a text |
//! | `lending` | variables and files that commands have while a skill is in use |
//! | `change`, `writer`, `pending` | changes: what may be done, doing it whole, those that wait for a person |
//! | `hub`, `lock` | getting skills of others; what was installed from where |
//! | `scan` | what speaks against a skill |
//! | `starter`, `../starter/` | skills of our own, and their folder in the home |
//! | `curator` | what nobody uses is put away, and can be brought back |
//! | `usage` | how often each one is read, used and changed |
//! | `library` | all of it behind the port that sessions and tools use |
//! | `settings`, `error` | the section `skills`, and why something was not done |

pub mod change;
mod consent;
pub mod curator;
mod digest;
mod disclose;
mod discover;
mod error;
pub mod format;
mod front;
pub mod hub;
mod inline;
mod lending;
mod library;
pub mod lock;
mod lookup;
pub mod pending;
mod places;
mod readiness;
pub mod scan;
mod settings;
mod starter;
mod usage;
mod view;
pub mod writer;

pub use consent::Consent;
pub use digest::{Digest, digest_of, files_of};
pub use discover::{Skill, Survey, Why, Withheld, problems_of};
pub use error::SkillError;
pub use format::{Checked, Level, Problem};
pub use front::Front;
pub use library::Library;
pub use places::{Place, PlaceKind};
pub use readiness::may_be_offered;
pub use settings::SkillSettings;
pub use starter::names as starter_names;
pub use usage::{Record as UsageRecord, Usage};
