//! The Python module that a script imports: one function for each tool it has.

use std::collections::BTreeSet;
use std::fmt::Write;

use petasos_contract::ToolName;

/// The part that every script has.
const COMMON: &str = include_str!("module/common.py");

/// A tool as a Python function.
struct Function {
    name: &'static str,
    parameters: &'static str,
    about: &'static str,
}

const FUNCTIONS: &[Function] = &[
    Function { name: "web_search", parameters: "query, limit=5", about: "search the web" },
    Function { name: "web_extract", parameters: "urls", about: "text of web pages" },
    Function {
        name: "read_file",
        parameters: "path, offset=1, limit=500",
        about: "numbered lines of a file under `content`",
    },
    Function { name: "write_file", parameters: "path, content", about: "write a whole file" },
    Function {
        name: "search_files",
        parameters: "pattern, target=\"content\", path=\".\", file_glob=None, limit=50, offset=0, \
                     output_mode=\"content\", context=0",
        about: "search contents or find files",
    },
    Function {
        name: "patch",
        parameters: "path=None, old_string=None, new_string=None, replace_all=False, \
                     mode=\"replace\", patch=None",
        about: "change part of a file",
    },
    Function {
        name: "terminal",
        parameters: "command, timeout=None, workdir=None",
        about: "run a shell command in the foreground; see `output` and `exit_code`",
    },
];

/// The module's text.
pub(super) fn text(tools: &BTreeSet<ToolName>) -> String {
    let mut text = COMMON.to_owned();
    for function in offered(tools) {
        let Function { name, parameters, about } = function;
        // Writing to a string cannot fail.
        write!(
            text,
            "\n\ndef {name}({parameters}):\n    \"\"\"{about}\"\"\"\n    \
             return _call(\"{name}\", dict(locals()))\n"
        )
        .unwrap_or_default();
    }
    text
}

/// The functions, as the model is told of them: it knows their parameters from the tools.
pub(crate) fn described(tools: &BTreeSet<ToolName>) -> String {
    let names = offered(tools).map(|function| match function.name {
        // The rest of its parameters make no sense in a script.
        "terminal" => format!("terminal({})", function.parameters),
        name => name.to_owned(),
    });
    names.collect::<Vec<_>>().join(", ")
}

fn offered(tools: &BTreeSet<ToolName>) -> impl Iterator<Item = &'static Function> {
    FUNCTIONS.iter().filter(|function| tools.contains(function.name))
}

#[cfg(test)]
mod tests {
    use super::super::TOOLS;
    use super::*;

    #[test]
    fn there_is_a_function_for_every_tool_and_only_for_those_a_script_has() {
        let all: BTreeSet<_> = TOOLS.iter().map(|tool| ToolName::new(*tool)).collect();
        assert_eq!(offered(&all).map(|function| function.name).collect::<Vec<_>>(), TOOLS);
        let one = BTreeSet::from([ToolName::new("read_file"), ToolName::new("other")]);
        assert!(text(&one).contains("def read_file(") && !text(&one).contains("def patch("));
        assert_eq!(described(&one), "read_file");
        assert_eq!(described(&BTreeSet::new()), "");
    }
}
