//! Home, config file, dotenv and environment, read once into one immutable snapshot.
//!
//! The law: nothing else in the project reads the process environment or the config files, and
//! nothing writes them but [`edit`], [`dotenv::set`] and [`petasos_fs::write`]. The way in is
//! [`Inputs::from_process`], then [`load`].
//!
//! | file | what it holds |
//! |---|---|
//! | `inputs`, `home` | what the process was started with, and where things are |
//! | `yaml`, `expand` | text to nodes with positions; variables inside values |
//! | `keys`, `variables`, `reserved` | what we know, as data, and what has no effect yet |
//! | `strict` | nodes to checked leaves |
//! | `layers`, `tighten` | which leaf wins, and what a project's file may do |
//! | `edit`, `dotenv` | changing one thing, keeping the rest |
//! | `explain`, `reference`, `mask` | for people: why a value counts, the page of keys, without secrets |
//! | `logins` | secrets beside the settings, which must be hidden, too |
//! | `error` | what is wrong with a file, and where |

pub mod dotenv;
pub mod edit;
mod error;
mod expand;
pub mod explain;
pub mod home;
mod inputs;
pub mod keys;
mod layers;
mod logins;
mod mask;
pub mod reference;
mod reserved;
mod strict;
mod tighten;
pub mod variables;
mod yaml;

pub use error::{ConfigError, Position, Problem};
pub use inputs::{Inputs, Override};
pub use layers::{Reading, load, read};
