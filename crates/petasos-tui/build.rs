//! Keeps the index of the commands of the screen in step with `src/slash/`.

fn main() -> Result<(), petasos_index::Error> {
    petasos_index::Family {
        folder: "src/slash",
        index: "src/slash.rs",
        item: "SLASH",
        list: "pub(crate) static SLASHES: &[&Slash]",
        imports: "use crate::command::Slash;",
        check: "",
        doc: "Index of the commands of the screen.",
    }
    .sync()
}
