//! A browser for a model: one process for all sessions, each with a context and a proxy of its own.
//!
//! Its law: no page's script decides what is clicked, typed or shown; every connection of a page
//! goes through our filtering proxy; whatever dies is told by name and never acted on again.
//!
//! | file | what it holds |
//! |---|---|
//! | `engine` | the sessions: who has one, who is idle and who is lost |
//! | `running` | which browser a session lives in, and one that answers |
//! | `chrome` | finding a browser, the folder and the flags it is started with |
//! | `attach` | a browser that somebody else runs |
//! | `cloud`, `clouds/` | browsers that a service runs, one service a file |
//! | `wire` | the DevTools protocol: calls, answers, events |
//! | `session`, `tab` | what is known of a session and its tabs |
//! | `events` | what the browser tells, turned into that knowledge |
//! | `snapshot/` | pages as text with references |
//! | `call` | one call of a tool: its turn, its deadline, its tab |
//! | `navigate`, `settle` | going somewhere, and when a page is ready |
//! | `element`, `click`, `typing`, `keys` | acting on what a reference names |
//! | `form` | where a form goes, and what it asks for that people keep to themselves |
//! | `look`, `paint` | images, pictures with numbers on them, console, scripts |
//! | `render` | a page after its scripts ran, for readers without a browser |
//! | `login` | a profile in a person's own hands |
//! | `record` | what a session looked like, as a film |
//! | `dialog`, `download`, `raw` | dialogs, files, the bare protocol |
//! | `world` | questions to a document that its scripts have no say in |
//! | `options` | the settings |
//! | `error` | what can go wrong, in the words of the tools |

mod attach;
mod call;
mod chrome;
mod click;
mod cloud;
mod clouds;
mod dialog;
mod download;
mod element;
mod engine;
mod error;
mod events;
mod form;
mod keys;
mod login;
mod look;
mod navigate;
mod options;
mod paint;
mod raw;
mod record;
mod render;
mod running;
mod session;
mod settle;
mod snapshot;
mod tab;
mod typing;
mod wire;
mod world;

pub use chrome::find;
pub use click::{ClickKind, ScrollAsk};
pub use engine::{Browsers, Usage};
pub use error::BrowserError;
pub use form::Form;
pub use options::BrowserSettings;
pub use raw::RawAsk;
pub use snapshot::SnapshotAsk;
pub use typing::TypeAsk;
