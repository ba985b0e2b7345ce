//! Keeps the index of the commands in step with `src/commands/`, and links the program to a fixed
//! place on Linux.
//!
//! A position-independent program of this size is patched in 130 pages before `main`, which was a
//! fifth of the time of `petasos --version`. Libraries and stack stay randomised.

#[expect(clippy::disallowed_methods, reason = "this is how cargo talks to a build script")]
fn main() -> Result<(), petasos_index::Error> {
    let target = |part: &str| std::env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
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
