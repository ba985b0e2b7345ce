//! The `petasos` program, and the front door for programs that embed it.
//!
//! Its law: `host` is the only place that knows every engine; it wires and does nothing else.
//! Commands hold no logic: they ask the crates below and hand the answer to `out`, the only
//! printer.
//!
//! | file | what it holds |
//! |---|---|
//! | `host` | settings, tools and engines, wired once |
//! | `board` | giving the tasks of a board to workers |
//! | `cli` | from words to a command |
//! | `apart` | what runs in further processes of this program |
//! | `chats` | what the gateway asks of the program |
//! | `command` | what a command is |
//! | `commands`, `commands/` | the index, and one command a file |
//! | `console` | the person at the terminal |
//! | `copies` | copies of the workspace around every call |
//! | `conversation` | what `chat` and `run` have in common |
//! | `doorway` | the door for tools that call tools |
//! | `editor` | the program behind sessions in an editor |
//! | `everywhere` | every place that a message can go to |
//! | `extensions` | plugins and shell hooks |
//! | `foreign` | other agent programs as subagents |
//! | `halt` | the emergency stop of a home |
//! | `guests` | MCP servers beside a conversation |
//! | `logging`, `telemetry` | the program's log, and traces for a collector |
//! | `out`, `progress` | everything that is printed |
//! | `prompt` | questions to the person who typed a command |
//! | `reviewer` | the model that reviews calls where `approvals.mode` is `smart` |
//! | `screen` | how this terminal is written to |
//! | `signals` | told to end |
//! | `report` | errors for people: what, why, and the next step |

mod apart;
mod ask;
mod board;
mod board_news;
mod chats;
pub mod cli;
mod command;
mod commands;
mod console;
mod conversation;
mod copies;
mod doorway;
mod editor;
mod everywhere;
pub mod extensions;
mod foreign;
mod guests;
mod halt;
pub mod host;
mod http;
mod listed;
mod logging;
mod out;
mod panel;
mod pictures;
mod post;
mod progress;
mod prompt;
mod prune;
pub mod report;
mod reviewer;
mod scheduled;
mod screen;
mod services;
mod signals;
mod states;
mod telemetry;
mod upkeep;

pub use host::Host;
