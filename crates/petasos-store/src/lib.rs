//! What is kept, and the traits that every store implements.
//!
//! Its law: it knows rows, never a database; every implementation keeps the same promises.
//!
//! | file | what it holds |
//! |---|---|
//! | `sessions` | conversations: the trait, its rows, its errors |
//! | `chat` | which conversation of a chat platform is meant |
//! | `inbox`, `outbox` | messages that came in, messages that go out |
//! | `routes` | where chats lead, who was let in, how far was read |

mod chat;
mod inbox;
mod outbox;
mod routes;
mod sessions;

pub use chat::*;
pub use inbox::*;
pub use outbox::*;
pub use routes::*;
pub use sessions::*;
