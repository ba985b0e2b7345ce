//! Chat platforms: one process, a session for each chat, nothing lost and nothing doubled.
//!
//! Its law: what came in is stored before its platform is told, what goes out is planned before it
//! is sent, and nobody is served whom no rule let in. A platform only connects, reads and sends.
//!
//! | file | what it holds |
//! |---|---|
//! | `platform`, `platforms/` | what a platform is, and one a file; `no_platforms` where the feature is off |
//! | `api`, `socket` | JSON over HTTP and WebSockets, as most platforms speak it |
//! | `token` | keys that are lent for a while |
//! | `inbound`, `crypt` | a listener for platforms that call us, and how they prove themselves |
//! | `link`, `account` | what a platform is given, and the task that keeps it connected |
//! | `options` | the settings, read once |
//! | `access`, `pairing` | who may write, and codes by which strangers are let in |
//! | `routing` | which conversation a message belongs to |
//! | `intake` | what becomes of something that came in |
//! | `hold`, `flood` | messages that belong together, and more of them than anybody means |
//! | `offers` | what a person is asked outside of a turn: run something old, go on after a crash |
//! | `input` | what the model reads of a message |
//! | `hearing` | recordings that came in |
//! | `letters` | what sessions do unasked, and answers that are stored with their turns |
//! | `turns` | turns of chats: queues, limits, answers |
//! | `watch` | following a turn to its end, and ending one in which nothing happens |
//! | `typing` | the sign that somebody writes |
//! | `stage`, `display` | what a chat sees of a turn before its answer |
//! | `chosen` | what a chat chose for itself |
//! | `cards` | questions in a chat |
//! | `commands` | slash commands of chats |
//! | `menu` | the commands that a platform shows |
//! | `render` | Markdown in the dialect of a platform, in parts that fit |
//! | `media` | files that may be sent |
//! | `elsewhere` | files of places that are not this machine |
//! | `bare`, `bare/film` | what goes out, without its metadata |
//! | `delivery` | sending what is planned |
//! | `post`, `targets` | sending to people on request, and where a target leads |
//! | `recover` | going on after a crash |
//! | `upkeep` | what a gateway does now and then by itself |
//! | `roster` | the accounts that are served, and what new settings make of them |
//! | `explain`, `trying` | why somebody is let in, or not, and whether accounts work |
//! | `gateway`, `status` | the parts together, and how they are |

#![cfg_attr(
    not(feature = "platforms"),
    expect(dead_code, reason = "what only adapters use waits for those of an embedder")
)]

pub mod access;
mod account;
#[cfg(feature = "platforms")]
mod api;
mod bare;
mod cards;
mod chosen;
mod commands;
#[cfg(feature = "platforms")]
mod crypt;
mod delivery;
pub mod display;
mod elsewhere;
mod explain;
mod flood;
mod gateway;
mod hearing;
mod hold;
#[cfg(feature = "platforms")]
mod inbound;
mod input;
mod intake;
mod letters;
mod link;
mod media;
mod menu;
mod offers;
pub mod options;
pub mod pairing;
pub mod platform;
#[cfg(not(feature = "platforms"))]
#[path = "no_platforms.rs"]
mod platforms;
#[cfg(feature = "platforms")]
mod platforms;
mod post;
mod recover;
pub mod render;
mod roster;
pub mod routing;
#[cfg(feature = "platforms")]
mod socket;
mod stage;
mod status;
mod targets;
#[cfg(feature = "platforms")]
mod token;
mod trying;
mod turns;
mod typing;
mod upkeep;
mod watch;

pub use account::{Account, AccountState};
pub use commands::chat_commands;
pub use elsewhere::Wanted;
pub use explain::{Explained, explain};
pub use gateway::{Gateway, GatewayHost, GatewayParts};
pub use hearing::Hearing;
pub use link::Link;
pub use media::may_hold_secrets;
pub use menu::{MenuItem, MenuLimits};
pub use platforms::{LoopbackMessage, LoopbackServer, PLATFORMS};
pub use post::{Post, PostHost};
pub use status::{AccountStatus, GatewayStatus};
pub use trying::{Tried, try_accounts};
