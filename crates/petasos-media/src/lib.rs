//! Pictures, speech and film: what comes in is decoded within limits, what goes out is stored.
//!
//! Its law: no decoder sees bytes whose header was not checked; nothing that is paid for is asked
//! unless the user chose it by name; whatever a provider makes becomes a file of ours.
//!
//! | file | what it holds |
//! |---|---|
//! | `sniff` | what a file is, by its content |
//! | `picture`, `svg` | pictures checked, decoded, turned, made smaller, written anew |
//! | `media` | the gate before decoders that all calls share |
//! | `source` | where a picture or film comes from: an address, data, a file |
//! | `store` | the caches of a home, their limits and their cleaning |
//! | `fault` | what can go wrong, in the words of the tools |

mod fault;
mod media;
pub mod picture;
pub mod sniff;
mod source;
mod store;
mod svg;

pub use fault::MediaError;
pub use media::Media;
pub use source::{Source, fetched};
pub use store::{Cleaned, Shelf, Store};
