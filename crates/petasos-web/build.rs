//! Keeps the index of the search providers in step with `src/providers/`.

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
    .sync()
}
