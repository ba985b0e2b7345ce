//! What is kept, and the traits that every store implements.
//!
//! Its law: it knows rows, never a database; every implementation keeps the same promises.
//!
//! | file | what it holds |
//! |---|---|
//! | `sessions`, `chosen` | conversations: the trait, its rows, its errors; what people chose for one |
//! | `scope` | whose conversations somebody may see |
//! | `leases` | the right to add to a conversation |
//! | `usage` | what requests to models used and cost |
//! | `grants` | what was granted for good |
//! | `decisions` | what became of every call that was judged |
//! | `questions` | questions to people, and their answers |
//! | `chat` | which conversation of a chat platform is meant |
//! | `inbox`, `outbox` | messages that came in, messages that go out |
//! | `routes` | where chats lead, who was let in, how far was read |
//! | `schedules` | scheduled jobs and their occurrences |
//! | `api` | what the HTTP interface keeps |
//! | `boards`, `boards/` | tasks that many agents work on |
//! | `databases` | databases of others, read for whoever asks |
//! | `changes` | hearing that another process wrote |
//! | `stores` | all of them together |

mod api;
mod boards;
mod changes;
mod chat;
mod chosen;
mod databases;
mod decisions;
mod grants;
mod inbox;
mod leases;
mod outbox;
mod questions;
mod routes;
mod schedules;
mod scope;
mod sessions;
mod stores;
mod usage;

pub use api::*;
pub use boards::*;
pub use changes::{CHANGE_LATE_MAX, ChangeFeed};
pub use chat::*;
pub use chosen::Chosen;
pub use databases::*;
pub use decisions::*;
pub use grants::*;
pub use inbox::*;
pub use leases::*;
pub use outbox::*;
pub use questions::*;
pub use routes::*;
pub use schedules::*;
pub use scope::{SessionScope, owner_of};
pub use sessions::*;
pub use stores::Stores;
pub use usage::*;
