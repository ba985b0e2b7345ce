//! Keeps the index of the providers in step with `src/rows/`.

fn main() -> Result<(), petasos_index::Error> {
    petasos_index::Family {
        folder: "src/rows",
        index: "src/rows.rs",
        item: "ROW",
        list: "pub static ROWS: &[&Row]",
        imports: "use crate::row::Row;",
        check: "",
        doc: "Index of the providers.",
    }
    .sync()
}
