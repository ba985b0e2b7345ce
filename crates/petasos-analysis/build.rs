//! Keeps the indexes of the rules, programs and wrappers in step with their folders.

fn main() -> Result<(), petasos_index::Error> {
    petasos_index::Family {
        folder: "src/rules",
        index: "src/rules.rs",
        item: "RULE",
        list: "pub static RULES: &[&Rule]",
        imports: "use crate::rule::Rule;",
        check: "",
        doc: "Index of the rules: what is blocked and what is asked about.",
    }
    .sync()?;
    petasos_index::Family {
        folder: "src/programs",
        index: "src/programs.rs",
        item: "PROGRAMS",
        list: "pub(crate) static PROGRAMS: &[&&[Program]]",
        imports: "use crate::program::Program;",
        check: "",
        doc: "Index of the programs and what they do.",
    }
    .sync()?;
    petasos_index::Family {
        folder: "src/wrappers",
        index: "src/wrappers.rs",
        item: "WRAPPER",
        list: "pub(crate) static WRAPPERS: &[&Wrapper]",
        imports: "use crate::wrapper::Wrapper;

pub(crate) use each::{find_actions, find_roots, is_narrowed};
pub(crate) use interpreters::tcl_commands;
pub(crate) use make::rules as make_rules;",
        check: "",
        doc: "Index of the programs that run other programs.",
    }
    .sync()
}
