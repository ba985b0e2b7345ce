//! Keeps the index of the chat platforms in step with `src/platforms/`.

fn main() -> Result<(), petasos_index::Error> {
    petasos_index::Family {
        folder: "src/platforms",
        index: "src/platforms.rs",
        item: "PLATFORM",
        list: "pub static PLATFORMS: &[&PlatformDef]",
        imports: "pub use self::loopback::{LoopbackMessage, LoopbackServer};\nuse crate::platform::PlatformDef;",
        check: "",
        doc: "Index of the chat platforms.",
    }
    .sync()
}
