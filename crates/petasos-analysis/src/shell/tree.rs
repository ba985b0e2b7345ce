//! The syntax tree of shell text. Words keep their quoting; nothing is expanded.

use super::source::{Cut, Source};
use smallvec::SmallVec;
use std::rc::Rc;

/// A portion of parsed text together with the text and the here-documents its nodes point into.
#[derive(Debug)]
pub(crate) struct Script {
    pub(crate) source: Rc<Source>,
    pub(crate) steps: Vec<Step>,
    pub(crate) documents: Vec<Document>,
}

/// Why parsing stopped or had to resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// Nested deeper than we follow.
    Depth,
    /// Not a valid program.
    Syntax,
}

/// The body of a here-document.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) parts: Vec<Part>,
}

/// How a step follows the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    Then,
    And,
    Or,
}

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) node: Node,
    pub(crate) link: Link,
    pub(crate) background: bool,
}

pub(crate) type Steps = Rc<Vec<Step>>;

#[derive(Debug)]
pub(crate) enum Node {
    Simple(Box<Simple>),
    Pipeline(Vec<Node>),
    Compound(Box<Compound>),
}

#[derive(Debug)]
pub(crate) struct Compound {
    pub(crate) kind: Kind,
    pub(crate) redirects: Vec<Redirect>,
}

#[derive(Debug)]
pub(crate) enum Kind {
    Subshell(Steps),
    Group(Steps),
    /// Conditions and bodies of `if`, in order; `else` comes last as a body alone.
    If(Vec<Steps>),
    While {
        condition: Steps,
        body: Steps,
    },
    For {
        name: Cut,
        words: Option<Vec<Word>>,
        body: Steps,
    },
    ForArithmetic {
        parts: Vec<Part>,
        body: Steps,
    },
    Case {
        subject: Word,
        patterns: Vec<Word>,
        arms: Vec<Steps>,
    },
    Function {
        name: Cut,
        body: Steps,
    },
    /// `coproc`: a command with a pipe to it and one from it.
    Coprocess {
        name: Option<Cut>,
        steps: Steps,
    },
    /// `[[ ]]`: only its substitutions matter.
    Test(Vec<Word>),
    Arithmetic(Vec<Part>),
}

#[derive(Debug, Default)]
pub(crate) struct Simple {
    pub(crate) assigns: Vec<Assign>,
    pub(crate) words: SmallVec<[Word; 1]>,
    pub(crate) redirects: Vec<Redirect>,
    pub(crate) cut: Cut,
}

#[derive(Debug)]
pub(crate) struct Assign {
    pub(crate) name: Cut,
    pub(crate) index: Option<Word>,
    pub(crate) append: bool,
    pub(crate) value: AssignValue,
    /// Position among the words, for `declare x=(…)`.
    pub(crate) declared: bool,
}

#[derive(Debug)]
pub(crate) enum AssignValue {
    Word(Word),
    Array(Vec<Word>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedirectKind {
    Read,
    Write,
    Append,
    ReadWrite,
    /// `>&` and `<&`.
    Duplicate,
    /// `&>` and `&>>`.
    Both,
    HereString,
    HereDocument,
}

#[derive(Debug)]
pub(crate) struct Redirect {
    pub(crate) descriptor: Option<u32>,
    pub(crate) kind: RedirectKind,
    pub(crate) target: Word,
    /// Index into the script's documents.
    pub(crate) document: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Word {
    pub(crate) parts: SmallVec<[Part; 1]>,
    pub(crate) cut: Cut,
    /// Has an unquoted `{`, so brace expansion is worth trying.
    pub(crate) braces: bool,
}

#[derive(Debug)]
pub(crate) enum Part {
    /// Unquoted text.
    Literal(Cut),
    /// Text that quoting made literal.
    Quoted(Cut),
    /// Content of `$'…'`, still escaped.
    Escaped(Cut),
    Double(Vec<Part>),
    Parameter(Box<Parameter>),
    Command(Steps),
    /// Content of a backquote pair, unescaped, with where it stood.
    Backquote(Box<str>, Cut),
    Arithmetic(Vec<Part>),
    ProcessIn(Steps),
    ProcessOut(Steps),
}

#[derive(Debug)]
pub(crate) struct Parameter {
    pub(crate) name: Cut,
    pub(crate) index: Option<Word>,
    pub(crate) length: bool,
    pub(crate) indirect: bool,
    pub(crate) operation: Operation,
}

#[derive(Debug)]
pub(crate) enum Operation {
    None,
    Default { assign: bool, word: Word },
    Alternate(Word),
    Error,
    TrimPrefix { longest: bool, pattern: Word },
    TrimSuffix { longest: bool, pattern: Word },
    Replace { all: bool, anchor: u8, pattern: Word, with: Word },
    Substring { offset: Word, length: Option<Word> },
    Upper(bool),
    Lower(bool),
    Transform(u8),
}
