//! The words of a `git` command: global options gone, the verb apart from the rest.
//! Shared by the rules about `git`; no rule itself.

use crate::flow::call::Call;
use crate::flow::value::Arg;
use crate::words::lists;

#[derive(Debug)]
pub(crate) struct Git<'c> {
    pub(crate) verb: &'c str,
    tail: &'c [Arg],
}

impl<'c> Git<'c> {
    pub(crate) fn of(call: &Call<'c>) -> Self {
        let mut at = 0;
        while let Some(arg) = call.args.get(at) {
            match arg.text.as_str() {
                "-c" | "-C" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path"
                | "--super-prefix" | "--config-env" => at += 2,
                text if text.starts_with('-') => at += 1,
                _ => break,
            }
        }
        let verb = call.args.get(at).map(|arg| arg.text.as_str()).unwrap_or_default();
        Self { verb, tail: call.args.get(at + 1..).unwrap_or_default() }
    }

    /// Options and operands before `--`.
    pub(crate) fn args(&self) -> impl Iterator<Item = &'c Arg> + use<'c> {
        self.tail.iter().take_while(|arg| !arg.is("--"))
    }

    pub(crate) fn operands(&self) -> impl Iterator<Item = &'c Arg> + use<'c> {
        self.tail.iter().filter(|arg| !arg.text.starts_with('-'))
    }

    pub(crate) fn operand(&self, position: usize) -> &'c str {
        self.operands().nth(position).map(|arg| arg.text.as_str()).unwrap_or_default()
    }

    pub(crate) fn exact(&self, word: &str) -> bool {
        self.args().any(|arg| arg.is(word))
    }

    /// A long option, also shortened as git allows.
    pub(crate) fn long(&self, name: &str) -> bool {
        self.args().any(|arg| {
            let stem = arg.text.split('=').next().unwrap_or_default();
            stem == name || stem.len() >= 4 && stem.starts_with("--") && name.starts_with(stem)
        })
    }

    pub(crate) fn flag(&self, letter: char) -> bool {
        self.args().any(|arg| {
            let text = arg.text.as_str();
            text.starts_with('-')
                && !text.starts_with("--")
                && text.contains(letter)
                && text.len() <= 6
        })
    }

    /// `checkout` that throws work away: forced, or of paths.
    pub(crate) fn flag_checkout(&self) -> bool {
        if self.flag('f')
            || self.exact("--force")
            || self.flag('B')
            || self.exact("--ours")
            || self.exact("--theirs")
        {
            return true;
        }
        if let Some(at) = self.tail.iter().position(|arg| arg.is("--")) {
            return self.tail.get(at + 1..).is_some_and(|paths| !paths.is_empty());
        }
        if self.exact("--pathspec-from-file") {
            return true;
        }
        let creates = self.flag('b')
            || self.exact("--orphan")
            || self.exact("--track")
            || self.exact("-t")
            || self.exact("--detach");
        // Behind the name of a commit stand the paths that are taken from it.
        let whole = |arg: &Arg| lists(". ./ :/ * : ..", &arg.text);
        !creates && (self.operands().count() > 1 || self.operands().any(whole))
    }
}
