//! The languages, as data: how comments and texts are written, and which words stand out.

/// What the text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A program.
    Code,
    /// Keys and values.
    Data,
    /// Changes, line by line.
    Diff,
}

/// How far a text may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Only a short one is a text.
    Brief,
    /// To the end of the line.
    Line,
    /// Into the next lines.
    Lines,
}

/// How a text is written.
#[derive(Debug)]
pub(super) struct Quote {
    pub(super) mark: &'static str,
    /// A backslash takes the meaning of the next sign.
    pub(super) escapes: bool,
    /// How far it may reach.
    pub(super) reach: Reach,
}

/// One language.
#[derive(Debug)]
pub(super) struct Language {
    pub(super) names: &'static [&'static str],
    pub(super) kind: Kind,
    pub(super) comments: &'static [&'static str],
    pub(super) block: Option<(&'static str, &'static str)>,
    pub(super) quotes: &'static [Quote],
    pub(super) keywords: &'static [&'static str],
    pub(super) constants: &'static [&'static str],
    /// Other signs that belong to words.
    pub(super) joins: &'static str,
    /// Words are the same in capitals.
    pub(super) folds: bool,
}

const fn quote(mark: &'static str) -> Quote {
    Quote { mark, escapes: true, reach: Reach::Line }
}

const fn long(mark: &'static str) -> Quote {
    Quote { mark, escapes: true, reach: Reach::Lines }
}

const fn raw(mark: &'static str) -> Quote {
    Quote { mark, escapes: false, reach: Reach::Line }
}

const PLAIN: Language = Language {
    names: &[],
    kind: Kind::Code,
    comments: &["//"],
    block: Some(("/*", "*/")),
    quotes: &[quote("\""), quote("'")],
    keywords: &[],
    constants: &["true", "false", "null"],
    joins: "",
    folds: false,
};

/// Every language that is known.
#[rustfmt::skip]
pub(super) static LANGUAGES: &[Language] = &[
    Language {
        names: &["rust", "rs"],
        quotes: &[long("\""), Quote { mark: "'", escapes: true, reach: Reach::Brief }],
        keywords: &[
            "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum",
            "extern", "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut",
            "pub", "ref", "return", "self", "Self", "static", "struct", "super", "trait", "type",
            "unsafe", "use", "where", "while", "yield",
        ],
        constants: &["true", "false", "None", "Some", "Ok", "Err"],
        ..PLAIN
    },
    Language {
        names: &["python", "py", "python3", "pycon"],
        comments: &["#"],
        block: None,
        quotes: &[long("\"\"\""), long("'''"), quote("\""), quote("'")],
        keywords: &[
            "and", "as", "assert", "async", "await", "break", "case", "class", "continue", "def",
            "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
            "in", "is", "lambda", "match", "nonlocal", "not", "or", "pass", "raise", "return",
            "try", "while", "with", "yield",
        ],
        constants: &["True", "False", "None", "self", "cls"],
        ..PLAIN
    },
    Language {
        names: &["javascript", "js", "jsx", "typescript", "ts", "tsx", "mjs", "vue", "svelte"],
        quotes: &[quote("\""), quote("'"), long("`")],
        keywords: &[
            "abstract", "any", "as", "async", "await", "break", "case", "catch", "class", "const",
            "continue", "debugger", "declare", "default", "delete", "do", "else", "enum", "export",
            "extends", "finally", "for", "from", "function", "get", "if", "implements", "import",
            "in", "instanceof", "interface", "keyof", "let", "namespace", "never", "new", "of",
            "private", "protected", "public", "readonly", "return", "set", "static", "super",
            "switch", "throw", "try", "type", "typeof", "unknown", "var", "void", "while", "with",
            "yield",
        ],
        constants: &["true", "false", "null", "undefined", "this", "NaN", "Infinity"],
        joins: "$",
        ..PLAIN
    },
    Language {
        names: &["go", "golang"],
        quotes: &[quote("\""), quote("'"), Quote { mark: "`", escapes: false, reach: Reach::Lines }],
        keywords: &[
            "break", "case", "chan", "const", "continue", "default", "defer", "else", "fallthrough",
            "for", "func", "go", "goto", "if", "import", "interface", "map", "package", "range",
            "return", "select", "struct", "switch", "type", "var",
        ],
        constants: &["true", "false", "nil", "iota"],
        ..PLAIN
    },
    Language {
        names: &[
            "c", "h", "cpp", "c++", "cc", "hpp", "cxx", "objc", "cuda", "java", "csharp", "cs", "c#",
            "kotlin", "kt", "swift", "scala", "dart", "zig", "groovy",
        ],
        keywords: &[
            "abstract", "alignas", "as", "async", "auto", "await", "bool", "boolean", "break", "byte",
            "case", "catch", "char", "class", "concept", "const", "constexpr", "continue", "data",
            "default", "defer", "delete", "do", "double", "else", "enum", "explicit", "export",
            "extends", "extension", "extern", "final", "finally", "float", "fn", "for", "func", "fun",
            "goto", "guard", "if", "implements", "import", "in", "init", "inline", "instanceof",
            "int", "interface", "internal", "is", "let", "long", "mutable", "namespace", "new",
            "noexcept", "object", "operator", "override", "package", "private", "protected",
            "protocol", "public", "pub", "record", "register", "return", "sealed", "short", "signed",
            "sizeof", "static", "string", "struct", "super", "switch", "synchronized", "template",
            "throw", "throws", "try", "typedef", "typename", "union", "unsigned", "using", "val",
            "var", "virtual", "void", "volatile", "when", "where", "while", "yield",
        ],
        constants: &["true", "false", "null", "nullptr", "NULL", "nil", "this", "self"],
        joins: "#",
        ..PLAIN
    },
    Language {
        names: &[
            "bash", "sh", "shell", "zsh", "console", "shell-session", "fish", "dockerfile",
            "makefile", "make",
        ],
        comments: &["# ", "#!"],
        block: None,
        quotes: &[long("\""), Quote { mark: "'", escapes: false, reach: Reach::Lines }],
        keywords: &[
            "alias", "break", "case", "cd", "continue", "declare", "do", "done", "echo", "elif",
            "else", "esac", "eval", "exec", "exit", "export", "fi", "for", "function", "if", "in",
            "local", "printf", "read", "readonly", "return", "set", "shift", "source", "sudo", "test",
            "then", "trap", "unset", "until", "while", "FROM", "RUN", "COPY", "ADD", "ENV", "ARG",
            "CMD", "ENTRYPOINT", "WORKDIR", "EXPOSE", "USER", "VOLUME",
        ],
        constants: &["true", "false"],
        joins: "$",
        ..PLAIN
    },
    Language {
        names: &["powershell", "ps1", "pwsh"],
        comments: &["#"],
        block: Some(("<#", "#>")),
        keywords: &[
            "begin", "break", "catch", "class", "continue", "do", "else", "elseif", "end", "exit",
            "filter", "finally", "for", "foreach", "function", "if", "in", "param", "process",
            "return", "switch", "throw", "trap", "try", "until", "while",
        ],
        constants: &["$true", "$false", "$null"],
        joins: "$-",
        folds: true,
        ..PLAIN
    },
    Language {
        names: &["ruby", "rb", "elixir", "ex", "crystal", "perl", "pl", "julia", "jl", "r"],
        comments: &["#"],
        block: None,
        keywords: &[
            "alias", "and", "begin", "break", "case", "class", "def", "defmodule", "defp", "do",
            "else", "elsif", "end", "ensure", "fn", "for", "foreach", "function", "if", "import",
            "in", "local", "loop", "module", "my", "next", "not", "or", "our", "package", "redo",
            "rescue", "require", "retry", "return", "sub", "super", "then", "undef", "unless",
            "until", "use", "using", "when", "while", "with", "yield",
        ],
        constants: &["true", "false", "nil", "self", "TRUE", "FALSE", "NULL", "nothing"],
        joins: "@$",
        ..PLAIN
    },
    Language {
        names: &["php"],
        comments: &["//", "#"],
        keywords: &[
            "abstract", "array", "as", "break", "case", "catch", "class", "const", "continue",
            "declare", "default", "do", "echo", "else", "elseif", "extends", "final", "finally",
            "fn", "for", "foreach", "function", "global", "if", "implements", "include", "instanceof",
            "interface", "match", "namespace", "new", "private", "protected", "public", "readonly",
            "require", "return", "static", "switch", "throw", "trait", "try", "use", "var", "while",
            "yield",
        ],
        joins: "$",
        ..PLAIN
    },
    Language {
        names: &["lua", "haskell", "hs", "ada", "elm"],
        comments: &["--"],
        block: Some(("{-", "-}")),
        quotes: &[quote("\"")],
        keywords: &[
            "and", "as", "begin", "break", "case", "class", "data", "deriving", "do", "else",
            "elseif", "end", "for", "function", "goto", "if", "import", "in", "instance", "let",
            "local", "module", "newtype", "not", "of", "or", "repeat", "return", "then", "type",
            "until", "where", "while",
        ],
        constants: &["true", "false", "nil", "True", "False"],
        ..PLAIN
    },
    Language {
        names: &["ocaml", "ml", "fsharp", "fs", "f#"],
        comments: &["//"],
        block: Some(("(*", "*)")),
        quotes: &[long("\"")],
        keywords: &[
            "and", "as", "begin", "do", "done", "else", "end", "exception", "for", "fun",
            "function", "if", "in", "let", "match", "member", "module", "mutable", "new", "of",
            "open", "rec", "then", "to", "try", "type", "val", "when", "while", "with",
        ],
        ..PLAIN
    },
    Language {
        names: &["sql", "sqlite", "postgres", "postgresql", "mysql", "plsql"],
        comments: &["--"],
        quotes: &[raw("'"), raw("\"")],
        keywords: &[
            "add", "all", "alter", "and", "as", "asc", "begin", "between", "by", "case", "check",
            "column", "commit", "constraint", "create", "cross", "default", "delete", "desc",
            "distinct", "drop", "else", "end", "exists", "explain", "foreign", "from", "full",
            "group", "having", "if", "in", "index", "inner", "insert", "into", "is", "join", "key",
            "left", "like", "limit", "not", "offset", "on", "or", "order", "outer", "primary",
            "references", "returning", "right", "rollback", "select", "set", "table", "then",
            "transaction", "trigger", "union", "unique", "update", "using", "values", "view", "when",
            "where", "with",
        ],
        folds: true,
        ..PLAIN
    },
    Language {
        names: &["json", "jsonc", "json5", "jsonl"],
        kind: Kind::Data,
        quotes: &[quote("\"")],
        ..PLAIN
    },
    Language {
        names: &[
            "yaml", "yml", "toml", "ini", "cfg", "conf", "env", "dotenv", "properties", "hcl",
            "terraform", "tf", "nix",
        ],
        kind: Kind::Data,
        comments: &["# ", "; "],
        block: None,
        constants: &["true", "false", "null", "yes", "no", "on", "off"],
        ..PLAIN
    },
    Language {
        names: &["html", "xml", "svg", "xhtml"],
        comments: &[],
        block: Some(("<!--", "-->")),
        constants: &[],
        ..PLAIN
    },
    Language {
        names: &["css", "scss", "sass", "less"],
        comments: &[],
        constants: &["important", "inherit", "initial", "none", "auto"],
        keywords: &[
            "@media", "@import", "@font-face", "@keyframes", "@supports", "@use", "@mixin",
            "@include",
        ],
        joins: "-@",
        ..PLAIN
    },
    Language { names: &["diff", "patch"], kind: Kind::Diff, ..PLAIN },
];
