//! The built-in tools, one file each.
//!
//! Its law: a tool is one file under `builtin/` that declares `pub static TOOL: ToolDef`; the
//! build lists the folder, so there is nothing else to edit. Engines that more than one tool
//! uses live beside the folder and know nothing of tools.
//!
//! | file | what it holds |
//! |---|---|
//! | `board`, `browser`, `web`, `vendors`, `diary`, `guild`, `house`, `music`, `notice`, `paper`, `post`, `yuanbao` | what the tools of a family share |
//! | `builtin`, `builtin/` | the index, and one tool a file |
//! | `change`, `change/` | bringing new contents into files, safely |
//! | `code`, `code/` | running scripts that call tools |
//! | `discover` | what the index holds, in its order |
//! | `edit`, `edit/` | changing text, without touching a file |
//! | `files`, `files/` | reading, searching and writing files |
//! | `film` | what the tools that make films share |
//! | `media` | sources and answers of the media tools |
//! | `memory`, `memory/` | what the file tools remember of each session |
//! | `mention` | what a schema says of other tools |
//! | `panel`, `projects` | what the tools of a desktop client share; workspaces that have names |
//! | `trainer`, `trainer/` | training runs: environments, settings, programs, records |
//! | `trouble` | a failure in the shape that everyday tools share |
//! | `waiting` | long waits that people hear of |

mod board;
mod browser;
pub mod builtin;
mod change;
mod code;
mod diary;
mod discover;
mod edit;
mod files;
mod film;
mod guild;
mod house;
mod media;
mod memory;
mod mention;
mod music;
mod notice;
mod panel;
mod paper;
mod post;
mod projects;
mod trainer;
mod trouble;
mod vendors;
mod waiting;
mod web;
mod yuanbao;

pub use board::is_listed as lists_boards;
pub use builtin::BUILTIN;
pub use discover::discover_builtin_tools;
pub use memory::FileMemory;
pub use panel::{Panel, PanelText, Panels};
