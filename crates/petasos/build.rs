//! Keeps the index of the commands in step with `src/commands/`.

fn main() -> Result<(), petasos_index::Error> {
    petasos_index::Family {
        folder: "src/commands",
        index: "src/commands.rs",
        item: "COMMAND",
        list: "pub(crate) static COMMANDS: &[&Command]",
        imports: "use crate::command::Command;",
        check: "",
        doc: "Index of the commands.",
    }
    .sync()
}
