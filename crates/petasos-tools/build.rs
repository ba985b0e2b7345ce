//! Keeps the index of the built-in tools in step with `src/builtin/`.

fn main() -> Result<(), petasos_index::Error> {
    petasos_index::Family {
        folder: "src/builtin",
        index: "src/builtin.rs",
        item: "TOOL",
        list: "pub static BUILTIN: &[&ToolDef]",
        imports: "use petasos_contract::{ToolDef, define};",
        check: "const _: () = define::unique(BUILTIN);",
        doc: "Index of the built-in tools.",
    }
    .sync()
}
