//! Keeps the index of the hosted backends in step with `src/backends/`.

fn main() -> Result<(), petasos_index::Error> {
    petasos_index::Family {
        folder: "src/backends",
        index: "src/backends.rs",
        item: "BACKEND",
        list: "pub static BACKENDS: &[&BackendDef]",
        imports: "use petasos_terminal::backend::{BackendDef, unique};",
        check: "const _: () = unique(BACKENDS);",
        doc: "Index of the hosted backends.",
    }
    .sync()
}
