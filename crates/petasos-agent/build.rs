//! Keeps the index of the loop's own tools in step with `src/loop_tools/`.

fn main() -> Result<(), petasos_index::Error> {
    petasos_index::Family {
        folder: "src/loop_tools",
        index: "src/loop_tools.rs",
        item: "TOOL",
        list: "pub static LOOP_TOOLS: &[&ToolDef]",
        imports: "use petasos_contract::{ToolDef, define};",
        check: "const _: () = define::unique(LOOP_TOOLS);",
        doc: "Index of the tools that belong to the agent loop.",
    }
    .sync()
}
