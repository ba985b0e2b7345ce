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
//! | `speaking`, `speech`, `speech/` | text into speech, and one voice a file |
//! | `transcribing`, `hearing`, `hearing/` | recordings into text, and one recogniser a file |
//! | `creating`, `images`, `images/` | words into pictures, and one painter a file |
//! | `filming`, `videos`, `videos/`, `frames` | words into films, one filmer a file; films as pictures |
//! | `inline` | pictures as terminals take them |
//! | `recording` | a microphone, by whichever program records |
//! | `course`, `falqueue` | what is made at once or as a job at a vendor; FAL's queue |
//! | `vendor`, `programs`, `template` | requests to vendors, programs of this machine, commands of the user's own |
//! | `words`, `sound` | Markdown as spoken words, and recordings |
//! | `store` | the caches of a home, their limits and their cleaning |
//! | `voicing` | a voice for Piper, fetched when its person asks |
//! | `fault` | what can go wrong, in the words of the tools |

pub mod course;
pub mod creating;
mod falqueue;
mod fault;
pub mod filming;
pub mod frames;
pub mod hearing;
pub mod images;
pub mod inline;
mod media;
pub mod picture;
mod programs;
pub mod recording;
pub mod sniff;
mod sound;
mod source;
pub mod speaking;
pub mod speech;
mod store;
mod svg;
mod template;
pub mod transcribing;
pub mod vendor;
pub mod videos;
pub mod voicing;
mod words;

pub use fault::MediaError;
pub use media::Media;
pub use source::{Source, fetched};
pub use store::{Cleaned, Shelf, Store};
