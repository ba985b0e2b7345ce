//! Keeps the index of the slash commands in step with `src/commands/`.

fn main() -> Result<(), petasos_index::Error> {
    petasos_index::Family {
        folder: "src/commands",
        index: "src/commands.rs",
        item: "COMMAND",
        list: "pub(crate) static COMMANDS: &[&SlashCommand]",
        imports: "use crate::command::SlashCommand;",
        check: "",
        doc: "Index of the slash commands.",
    }
    .sync()
}
