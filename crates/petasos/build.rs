//! Keeps the index of the commands in step with `src/commands/`, and links the program for a quick
//! start on Linux.
//!
//! The program stays position-independent, so that its address is random like that of everything
//! else; relocations are packed, which leaves the loader a few kilobytes to read instead of
//! hundreds. The unwinder is linked in where the compiler has it as an archive: finding and mapping
//! the shared one costs a seventh of the time of the smallest program.

use std::path::Path;
use std::process::Command;

#[expect(clippy::disallowed_methods, reason = "this is how cargo talks to a build script")]
fn main() -> Result<(), petasos_index::Error> {
    let target = |part: &str| std::env::var(format!("CARGO_CFG_TARGET_{part}")).unwrap_or_default();
    if target("OS") == "linux" && target("ENV") == "gnu" {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        link_the_unwinder();
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

/// The standard library asks for `-lgcc_s`; a linker script of that name, found first, answers with
/// the archive.
#[expect(clippy::disallowed_methods, reason = "this is how cargo talks to a build script")]
fn link_the_unwinder() {
    const ARCHIVE: &str = "libgcc_eh.a";
    let compiler = Command::new("cc").arg(format!("-print-file-name={ARCHIVE}")).output();
    let there = compiler
        .is_ok_and(|said| Path::new(String::from_utf8_lossy(&said.stdout).trim()).is_absolute());
    let Some(folder) = std::env::var_os("OUT_DIR").filter(|_| there) else { return };
    let script = Path::new(&folder).join("libgcc_s.so");
    if std::fs::write(script, "INPUT(-lgcc_eh -lgcc -lc)\n").is_ok() {
        println!("cargo::rustc-link-search=native={}", Path::new(&folder).display());
    }
}
