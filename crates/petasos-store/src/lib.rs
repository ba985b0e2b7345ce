//! What is kept, and the traits that every store implements.
//!
//! Its law: it knows rows, never a database; every implementation keeps the same promises.
//!
//! | file | what it holds |
//! |---|---|
//! | `sessions` | conversations: the trait, its rows, its errors |

mod sessions;

pub use sessions::*;
