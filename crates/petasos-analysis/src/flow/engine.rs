//! Walks a tree, command by command, with the state the shell would have.

use super::links::Linked;
use super::locals::Locals;
use super::report::Report;
use super::state::{Function, State};
use super::value::{Arg, Stream, Taint, Value};
use crate::facts::Facts;
use crate::rule::Signal;
use crate::shell::normalise::UNKNOWN;
use crate::shell::parse::Reader;
use crate::shell::tree::{Compound, Kind, Link, Node, Script, Simple, Step, Steps, Trouble};
use crate::shell::{Source, Span};
use crate::words::lists;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Texts and wrappers inside each other that we follow.
pub(crate) const NESTING_MAX: u32 = 40;
/// Constructs inside each other while walking, over all texts: the stack is finite.
const DEPTH_MAX: u32 = 120;
/// Loop passes over the whole analysis; the rest is judged with unknown values.
const PASSES_MAX: u32 = 1500;
/// Work allowed for any command, and more for each byte of it.
const WORK_BASE: u64 = 2_000_000;
pub(super) const WORK_PER_BYTE: u64 = 90;
/// So many scripts of others are looked into.
const FOREIGN_MAX: u32 = 8;
/// Functions that the shell calls by itself.
const CALLED: &str = "command_not_found_handle command_not_found_handler TRAPEXIT TRAPDEBUG TRAPERR \
    TRAPINT precmd preexec chpwd periodic zshexit";
/// Values longer than this are not carried around.
pub(crate) const VALUE_MAX: usize = 1 << 20;

#[expect(clippy::struct_excessive_bools, reason = "independent circumstances of the walk")]
pub(crate) struct Engine<'a> {
    pub(crate) facts: &'a Facts,
    /// The command as given, and whether something hidden was removed from it.
    pub(crate) original: &'a str,
    pub(crate) dirty: bool,
    pub(crate) state: State,
    pub(crate) report: Report,
    pub(crate) stdin: Stream,
    /// Whether somebody reads what the current command prints.
    pub(crate) captured: bool,
    pub(crate) nesting: u32,
    pub(crate) via: Vec<&'static str>,
    /// Inside `sudo` or the like.
    pub(crate) elevated: bool,
    /// Arguments come from a search (`xargs`, `find -exec`).
    pub(crate) bulk: bool,
    pub(crate) narrowed: bool,
    /// Which of several possible values is looked at, and how many were met.
    pub(crate) choice: usize,
    pub(crate) choices: usize,
    pub(crate) running: Vec<Box<str>>,
    /// Inside a pipe or background job of a running function.
    pub(crate) forked: u32,
    /// Loops around the current command.
    pub(crate) looping: u32,
    /// Directories that this line cloned from elsewhere.
    pub(crate) clones: HashSet<String>,
    /// The shell went into one of them.
    pub(crate) moved_into_clone: bool,
    /// Commands behind `>(…)` that wait for what is written to them, and how many there were.
    pub(crate) waiting: HashMap<String, (Rc<Script>, Steps)>,
    pub(crate) outlets: u32,
    /// An archive from the network was unpacked on this line.
    pub(crate) unpacked: bool,
    /// Programs that this line gave another name, by path and by name alone.
    pub(crate) copies: HashMap<String, String>,
    /// Names that this line made stand for another place.
    pub(crate) links: Vec<Linked>,
    /// Pipes that this line named, and the one that is read now; a shell reads those that are true.
    pub(crate) fifos: HashMap<String, bool>,
    pub(crate) fifo: Option<String>,
    /// Files that this line packed, by archive.
    pub(crate) packed: HashMap<String, Vec<(String, Stream)>>,
    /// Scripts that this line put into a package.
    pub(crate) scripts: HashMap<String, String>,
    /// Whether the line asks for `$_`.
    pub(crate) recalls: bool,
    /// A descriptor of this shell is a network connection.
    pub(crate) socket: bool,
    /// Where descriptors were opened to write to.
    pub(crate) descriptors: HashMap<u32, String>,
    /// What the unknown parts of the code in hand may hold.
    pub(crate) doubt: Taint,
    /// The command in hand is started by a program, not by the shell.
    pub(crate) external: bool,
    /// What runs when the shell ends or is signalled.
    pub(crate) traps: Vec<Arg>,
    /// Variables of the functions that are running, as they were before.
    pub(crate) locals: Vec<Locals>,
    /// Steps around the current one that run only if another one went well.
    pub(crate) conditional: u32,
    /// Scripts of others that may still be looked into.
    pub(super) foreign: u32,
    /// Where the program lies that is looked into, and the modules that were looked into already.
    pub(super) folder: String,
    pub(super) imported: HashSet<String>,
    pub(super) work: u64,
    passes: u32,
    pub(super) exhausted: bool,
    depth: u32,
}

impl<'a> Engine<'a> {
    pub(crate) fn new(facts: &'a Facts, original: &'a str) -> Self {
        let mut state = State::default();
        state.cwd.clone_from(&facts.cwd);
        for (name, value) in &facts.variables {
            state.set(name, Value::known(value.as_str()));
        }
        Self {
            facts,
            original,
            dirty: false,
            state,
            report: Report::default(),
            stdin: Stream::unknown(Taint::NONE),
            captured: false,
            nesting: 0,
            via: Vec::new(),
            elevated: false,
            bulk: false,
            narrowed: false,
            choice: 0,
            choices: 1,
            running: Vec::new(),
            forked: 0,
            looping: 0,
            clones: HashSet::new(),
            moved_into_clone: false,
            waiting: HashMap::new(),
            outlets: 0,
            unpacked: false,
            copies: HashMap::new(),
            links: Vec::new(),
            fifos: HashMap::new(),
            fifo: None,
            packed: HashMap::new(),
            scripts: HashMap::new(),
            recalls: original.contains("$_"),
            socket: false,
            descriptors: HashMap::new(),
            doubt: Taint::NONE,
            external: false,
            traps: Vec::new(),
            locals: Vec::new(),
            conditional: 0,
            foreign: FOREIGN_MAX,
            folder: String::new(),
            imported: HashSet::new(),
            work: WORK_BASE + WORK_PER_BYTE.saturating_mul(original.len() as u64),
            passes: PASSES_MAX,
            exhausted: false,
            depth: 0,
        }
    }

    /// Pays for work; `false` once the limit is reached, and the limit is reported.
    pub(crate) fn charge(&mut self, units: usize, span: Span) -> bool {
        if self.exhausted {
            return false;
        }
        self.work = self.work.saturating_sub(units as u64);
        if self.work == 0 {
            self.exhausted = true;
            self.report.signal(Signal::Limit, span, "");
        }
        !self.exhausted
    }

    /// What flows in, once more; unknown where the copy cannot be paid for.
    pub(crate) fn copied_stdin(&mut self) -> Stream {
        let stdin = std::mem::take(&mut self.stdin);
        let copy = self.copied(&stdin);
        self.stdin = stdin;
        copy
    }

    /// The same text once more, paid for by its length.
    pub(crate) fn copied(&mut self, stream: &Stream) -> Stream {
        let size = stream.text.as_ref().map_or(0, String::len);
        if self.charge(size, Span::default()) {
            stream.clone()
        } else {
            Stream::unknown(stream.taint)
        }
    }

    /// What a file written by this line holds.
    pub(crate) fn held(&mut self, path: &str) -> Option<Stream> {
        self.recall(path);
        let size = self.state.files.get(path)?.text.as_ref().map_or(0, String::len);
        let paid = self.charge(size, Span::default());
        let stream = self.state.files.get(path)?;
        Some(if paid { stream.clone() } else { Stream::unknown(stream.taint) })
    }

    /// Parses and runs text that a command hands to a shell.
    pub(crate) fn run_text(&mut self, source: Source) -> Stream {
        let whole = source.span(crate::shell::Cut::new(0, source.text.len()));
        if self.nesting >= NESTING_MAX {
            self.report.signal(Signal::Limit, whole, "");
            return Stream::unknown(Taint::NONE);
        }
        if !self.charge(source.text.len().saturating_mul(16) + 400, whole) {
            return Stream::unknown(Taint::NONE);
        }
        self.nesting += 1;
        let mut reader = Reader::new(source);
        let mut output = Stream::empty();
        while let Some(script) = reader.portion() {
            let script = Rc::new(script);
            let stream = self.steps(&script, &script.steps);
            self.gather(&mut output, stream);
            if self.exhausted {
                break;
            }
        }
        match reader.trouble {
            Some(Trouble::Depth) => self.report.signal(Signal::Limit, whole, ""),
            // What zsh and its like have of their own is read loosely.
            Some(Trouble::Syntax) if self.via.iter().any(|name| lists("zsh ksh mksh", name)) => {
                let code = Arg::new(reader.text(), whole);
                crate::code::shells::run(self, &code);
            }
            Some(Trouble::Syntax) => self.report.signal(Signal::Malformed, whole, ""),
            None => {}
        }
        self.nesting -= 1;
        output
    }

    pub(crate) fn steps(&mut self, script: &Rc<Script>, steps: &[Step]) -> Stream {
        let mut output = Stream::empty();
        if self.depth >= DEPTH_MAX {
            self.report.signal(Signal::Limit, Span::default(), "");
            return Stream::unknown(Taint::NONE);
        }
        self.depth += 1;
        if steps.iter().any(|step| step.background && starts_itself(script, &step.node))
            && steps.iter().filter(|step| starts_itself(script, &step.node)).count() > 1
        {
            self.report.signal(Signal::ForkBomb, Span::default(), "$0");
        }
        for step in steps {
            if !self.charge(60, Span::default()) {
                break;
            }
            let branch = (step.link == Link::Or).then(|| self.state.branch());
            if step.background {
                self.forked += 1;
                if self.looping > 0 && starts_itself(script, &step.node) {
                    self.report.signal(Signal::ForkBomb, Span::default(), "$0");
                }
            }
            let follows = u32::from(step.link != Link::Then);
            self.conditional += follows;
            let stream = self.node(script, &step.node);
            self.conditional -= follows;
            if step.background {
                self.forked -= 1;
            }
            if let Some(start) = branch {
                self.state.join(start);
            }
            self.gather(&mut output, stream);
        }
        self.depth -= 1;
        output
    }

    /// Adds what a command prints to what was printed before it, if somebody reads that.
    fn gather(&self, output: &mut Stream, more: Stream) {
        if self.captured {
            output.append_mixed(more);
        } else {
            output.taint = output.taint.with(more.taint);
        }
    }

    fn node(&mut self, script: &Rc<Script>, node: &Node) -> Stream {
        match node {
            Node::Simple(simple) => self.simple(script, simple),
            Node::Pipeline(stages) => self.pipeline(script, stages),
            Node::Compound(compound) => self.compound(script, compound),
        }
    }

    fn pipeline(&mut self, script: &Rc<Script>, stages: &[Node]) -> Stream {
        let outer_stdin = self.copied_stdin();
        let outer_captured = self.captured;
        let last = stages.len().saturating_sub(1);
        let mut stream = Stream::empty();
        self.forked += 1;
        if stages.iter().filter(|stage| starts_itself(script, stage)).count() > 1 {
            self.report.signal(Signal::ForkBomb, Span::default(), "$0");
        }
        for (position, stage) in stages.iter().enumerate() {
            if !self.charge(150, Span::default()) {
                break;
            }
            if position > 0 {
                self.stdin = std::mem::take(&mut stream);
            }
            self.captured = position < last || outer_captured;
            if position == last && self.state.lastpipe {
                stream = self.node(script, stage);
                break;
            }
            let mark = self.state.enter();
            stream = self.node(script, stage);
            self.state.leave(mark);
        }
        self.forked -= 1;
        self.captured = outer_captured;
        self.stdin = outer_stdin;
        stream
    }

    fn simple(&mut self, script: &Rc<Script>, simple: &Simple) -> Stream {
        let (choice, choices) = (self.choice, self.choices);
        self.choice = 0;
        self.choices = 1;
        let mut output = self.command(script, simple);
        for other in 1..self.choices.min(5) {
            self.choice = other;
            output = self.command(script, simple);
        }
        self.choice = choice;
        self.choices = choices;
        output
    }

    fn compound(&mut self, script: &Rc<Script>, compound: &Compound) -> Stream {
        if let Kind::Function { name, body } = &compound.kind {
            let function = Function { script: Rc::clone(script), body: Rc::clone(body) };
            let name = script.source.get(*name).to_owned();
            // Some are called by the shell itself.
            let called = lists(CALLED, &name).then(|| function.clone());
            self.state.set_function(&name, Some(function));
            if let Some(function) = called {
                self.call_function(&name, &function, Vec::new(), Span::default());
            }
            return Stream::empty();
        }
        let outer_stdin = (!compound.redirects.is_empty()).then(|| self.copied_stdin());
        let outer_captured = self.captured;
        let outlet = self.redirects(script, &compound.redirects);
        self.captured |= !outlet.files.is_empty();
        let stream = self.kind(script, &compound.kind);
        self.captured = outer_captured;
        if let Some(stdin) = outer_stdin {
            self.stdin = stdin;
        }
        self.settle(&outlet, stream)
    }

    fn kind(&mut self, script: &Rc<Script>, kind: &Kind) -> Stream {
        match kind {
            Kind::Subshell(steps) => {
                let mark = self.state.enter();
                let stream = self.steps(script, steps);
                self.state.leave(mark);
                stream
            }
            Kind::Group(steps) => self.steps(script, steps),
            Kind::If(parts) => self.branches(script, parts),
            Kind::Case { subject, patterns, arms } => {
                for word in std::iter::once(subject).chain(patterns) {
                    self.expand_text(script, word);
                }
                self.branches(script, arms)
            }
            Kind::While { condition, body } => self.repeat(script, condition, body),
            Kind::For { name, words, body } => {
                let name = script.source.get(*name).to_owned();
                let items = match words {
                    Some(words) => self.expand_all(script, words),
                    None => self.positional(Span::default()),
                };
                self.each(script, &name, items, body)
            }
            Kind::ForArithmetic { parts, body } => {
                let text = self.expand_parts_text(script, parts);
                self.evaluate_subscripts(&text);
                // The first pass is looked at, with the values it begins with.
                self.arithmetic_assign(text.split(';').next().unwrap_or_default());
                self.steps(script, body)
            }
            Kind::Test(words) => {
                let texts: Vec<String> =
                    words.iter().map(|word| self.expand_text(script, word).text).collect();
                let compares = |text: &String| lists("-v -eq -ne -lt -le -gt -ge", text);
                if texts.iter().any(compares) {
                    for text in &texts {
                        self.evaluate_subscripts(text);
                    }
                }
                Stream::empty()
            }
            Kind::Arithmetic(parts) => {
                let text = self.expand_parts_text(script, parts);
                self.arithmetic_assign(&text);
                self.evaluate_subscripts(&text);
                Stream::empty()
            }
            Kind::Coprocess { name, steps } => {
                let name = name.map_or("COPROC", |name| script.source.get(name)).to_owned();
                self.coprocess(script, &name, steps);
                Stream::empty()
            }
            Kind::Function { .. } => Stream::empty(),
        }
    }

    fn branches(&mut self, script: &Rc<Script>, parts: &[Steps]) -> Stream {
        let mut output = Stream::empty();
        let start = self.state.branch();
        for part in parts {
            output.append(self.steps(script, part));
        }
        self.state.join(start);
        output
    }

    fn spend_pass(&mut self) -> bool {
        let left = self.passes > 0;
        self.passes = self.passes.saturating_sub(1);
        left
    }

    fn repeat(&mut self, script: &Rc<Script>, condition: &Steps, body: &Steps) -> Stream {
        let mut output = Stream::empty();
        let lines = match &self.stdin.text {
            Some(text) => text.lines().count().clamp(1, 256),
            None => 2,
        };
        // A loop that copies itself is entered twice, never more.
        let rounds = if self.passes > 0 { lines.max(2) } else { 1 };
        self.looping += 1;
        for _ in 0..rounds {
            if !self.spend_pass() && output.taint != Taint::NONE {
                break;
            }
            self.steps(script, condition);
            output.append(self.steps(script, body));
        }
        self.looping -= 1;
        output
    }

    fn each(&mut self, script: &Rc<Script>, name: &str, items: Vec<Arg>, body: &Steps) -> Stream {
        let mut output = Stream::empty();
        let count = items.len();
        let outer_bulk = self.bulk;
        for (position, item) in items.into_iter().enumerate() {
            let known = self.spend_pass();
            self.bulk = outer_bulk || item.taint.has(Taint::LISTING);
            let text = if known { item.text } else { UNKNOWN.to_string() };
            self.state.set(name, Value { text, taint: item.taint, ..Value::default() });
            output.append(self.steps(script, body));
            if !known && position + 1 < count {
                self.report.signal(Signal::Limit, item.span, "");
                break;
            }
        }
        self.bulk = outer_bulk;
        output
    }
}

/// Whether `node` runs the script it stands in once more.
fn starts_itself(script: &Script, node: &Node) -> bool {
    let Node::Simple(simple) = node else { return false };
    let mut words = simple.words.iter().map(|word| script.source.get(word.cut).trim_matches('"'));
    let first = words.next().unwrap_or_default();
    let itself =
        |text: &str| lists("$0 ${0} $BASH_SOURCE", text.strip_prefix("./").unwrap_or(text));
    itself(first) || lists("sh bash zsh dash ksh", first) && words.next().is_some_and(itself)
}
