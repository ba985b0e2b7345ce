//! Keeps the indexes of the provider families in step with their folders.

fn main() -> Result<(), petasos_index::Error> {
    petasos_index::Family {
        folder: "src/speech",
        index: "src/speech.rs",
        item: "VOICE",
        list: "pub static VOICES: &[&SpeechDef]",
        imports: "use crate::speaking::SpeechDef;",
        check: "const _: () = assert!(!VOICES.is_empty(), \"no voice is listed\");",
        doc: "Index of the voices.",
    }
    .sync()?;
    petasos_index::Family {
        folder: "src/hearing",
        index: "src/hearing.rs",
        item: "HEARING",
        list: "pub static HEARINGS: &[&HearingDef]",
        imports: "use crate::transcribing::HearingDef;",
        check: "const _: () = assert!(!HEARINGS.is_empty(), \"no recogniser is listed\");",
        doc: "Index of the recognisers.",
    }
    .sync()?;
    petasos_index::Family {
        folder: "src/images",
        index: "src/images.rs",
        item: "PAINTER",
        list: "pub static PAINTERS: &[&ImageDef]",
        imports: "use crate::creating::ImageDef;",
        check: "const _: () = assert!(!PAINTERS.is_empty(), \"nobody who draws is listed\");",
        doc: "Index of those who draw.",
    }
    .sync()?;
    petasos_index::Family {
        folder: "src/videos",
        index: "src/videos.rs",
        item: "FILMER",
        list: "pub static FILMERS: &[&VideoDef]",
        imports: "use crate::filming::VideoDef;",
        check: "const _: () = assert!(!FILMERS.is_empty(), \"nobody who films is listed\");",
        doc: "Index of those who film.",
    }
    .sync()
}
