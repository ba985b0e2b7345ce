//! A build without adapters: only the platform inside the process, for an embedder's tests.

#[path = "platforms/loopback.rs"]
mod loopback;

pub use self::loopback::{LoopbackMessage, LoopbackServer};
use crate::platform::PlatformDef;

/// None.
pub static PLATFORMS: &[&PlatformDef] = &[];
