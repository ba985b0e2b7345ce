//! Clients of services that tools speak to, a folder each, over the one network crate.
//!
//! Its law: a client knows its vendor's wire and nothing of tools, policy or models; its key goes
//! to its own origin alone; what comes back is bounded, and a failure is a word of the closed list
//! with a sentence that says what to do.
//!
//! | file | what it holds |
//! |---|---|
//! | `fault` | what can go wrong, in the words of the tools |
//! | `service` | one request to an HTTP interface, and what its status means |
//! | `text` | text cut to a length, encoded for an address, compared by likeness |
//! | `dav`, `dav/` | calendars and address books |
//! | `discord`, `discord/` | servers, by a bot's account |
//! | `feishu` | documents and comments, by an app |
//! | `spotify`, `spotify/` | the catalogue, the player and the library |
//! | `xsearch` | posts on X, by xAI |
//! | `wandb` | metrics of training runs |
//! | `mail`, `mail/` | IMAP, SMTP and letters, for tools and for the gateway |
//! | `ntfy` | a topic that a person listens to |
//! | `postgres`, `postgres/` | PostgreSQL: one statement, its rows |
//! | `x11`, `x11/` | a desktop: windows, picture, pointer, keyboard |
//! | `yuanbao`, `yuanbao/` | groups, private messages and stickers, by a bot's account |
//! | `homeassistant`, `homeassistant/` | a house: states, areas, services and what guards them |

pub mod dav;
pub mod discord;
pub mod fault;
pub mod feishu;
pub mod homeassistant;
pub mod mail;
pub mod ntfy;
pub mod postgres;
pub mod service;
pub mod spotify;
pub mod text;
pub mod wandb;
pub mod x11;
pub mod xsearch;
pub mod yuanbao;

pub use fault::VendorError;
