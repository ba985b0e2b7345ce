//! The Agent Client Protocol: sessions in an editor.
//!
//! Its law: standard output belongs to the protocol, an editor decides nothing by itself, and what it
//! is shown is what happens in a [`petasos_session::Session`]. The types of the wire are the official
//! schema's and stay in here.
//!
//! | file | what it holds |
//! |---|---|
//! | `wire`, `rpc` | lines, and JSON-RPC in both directions |
//! | `serve`, `sessions`, `capabilities`, `paging` | the methods of an agent |
//! | `editor`, `follow`, `render`, `replay`, `shown`, `texts` | a session at a client, and what it is shown |
//! | `content`, `prompt` | from a prompt to its stop reason |
//! | `permit` | questions to the person at the client |
//! | `mode`, `rules`, `reach`, `options` | what is asked before it happens, and what can be chosen |
//! | `files`, `places`, `terminals` | texts of the client, saved or not; where files really are; commands in its terminals |
//! | `panel`, `time` | the client's panel, and moments as editors read them |
//! | `client` | the other direction: another agent as ours |
//! | `check`, `snippets` | whether the server works here, and what editors must be told |
//! | `port` | what the program around must offer |

mod capabilities;
pub mod check;
pub mod client;
mod content;
mod editor;
mod files;
mod follow;
mod mode;
mod options;
mod paging;
mod panel;
mod permit;
mod places;
pub mod port;
mod prompt;
mod reach;
mod render;
mod replay;
pub mod rpc;
mod rules;
pub mod serve;
mod sessions;
mod shown;
pub mod snippets;
mod terminals;
mod texts;
mod time;
pub mod wire;

pub use check::{CheckStep, check};
pub use client::{
    AgentCall, AgentCallState, AgentConnection, AgentEnd, AgentWatcher, WantedAction,
};
pub use panel::{ClientPanel, PanelAsk};
pub use port::{
    EditorHost, EditorPlace, ModelOption, PreparedSession, StoredMessage, StoredSession,
    UsableProvider,
};
pub use rules::EditorRules;
pub use serve::{ServerParts, serve};
pub use snippets::{EditorSnippet, SNIPPETS};
pub use terminals::{ClientTerminals, TerminalEnd, TerminalRan, TerminalTask};
pub use wire::Transport;
