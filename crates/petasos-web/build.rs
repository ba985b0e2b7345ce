//! Keeps the indexes of the search providers and of the readers in step with their folders.

fn main() -> Result<(), petasos_index::Error> {
    petasos_index::Family {
        folder: "src/providers",
        index: "src/providers.rs",
        item: "PROVIDER",
        list: "pub static PROVIDERS: &[&SearchDef]",
        imports: "use crate::search::{SearchDef, unique};",
        check: "const _: () = unique(PROVIDERS);",
        doc: "Index of the search providers.",
    }
    .sync()?;
    petasos_index::Family {
        folder: "src/readers",
        index: "src/readers.rs",
        item: "READER",
        list: "pub static READERS: &[&ReaderDef]",
        imports: "use crate::reader::{ReaderDef, unique};",
        check: "const _: () = unique(READERS);",
        doc: "Index of the services that read pages.",
    }
    .sync()
}
