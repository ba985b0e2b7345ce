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
//! | `board_news` | telling a conversation what became of its tasks |
//! | `cli` | from words to a command |
//! | `apart` | what runs in further processes of this program |
//! | `ask` | questions at a terminal |
//! | `chats` | what the gateway asks of the program |
//! | `command` | what a command is |
//! | `commands`, `commands/` | the index, and one command a file |
//! | `console` | the person at the terminal |
//! | `copies` | copies of the workspace around every call |
//! | `conversation` | what `chat` and `run` have in common |
//! | `doorway` | the door for tools that call tools |
//! | `editor` | the program behind sessions in an editor |
//! | `panel` | the panel of a client |
//! | `everywhere` | every place that a message can go to |
//! | `elsewhere` | files between this machine and where commands run |
//! | `extensions` | plugins and shell hooks |
//! | `extras` | slash commands that need the program around sessions |
//! | `foreign` | other agent programs as subagents |
//! | `halt` | the emergency stop of a home |
//! | `guests` | MCP servers beside a conversation |
//! | `http` | the listeners of a program |
//! | `listed` | a model of a provider's list, as people read it |
//! | `logging`, `telemetry` | the program's log, and traces for a collector |
//! | `out`, `progress` | everything that is printed |
//! | `prompt` | questions to the person who typed a command |
//! | `pictures` | pictures in messages |
//! | `post` | sending to people on request |
//! | `prune`, `upkeep` | old conversations and unused skills go by themselves |
//! | `reviewer` | the model that reviews calls where `approvals.mode` is `smart` |
//! | `screen` | how this terminal is written to |
//! | `scheduled` | what schedules ask of the program |
//! | `services`, `states` | what sessions ask of the program, and engines that hear of their end |
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
mod elsewhere;
mod everywhere;
pub mod extensions;
mod extras;
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
