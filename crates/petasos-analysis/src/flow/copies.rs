//! Programs under another name: copied, linked or renamed by this line, and then run.
//! Nothing is looked up; only what the line itself did is known.

use super::call::Call;
use super::engine::Engine;
use super::redirect::Outlet;
use super::value::{Arg, Taint};
use crate::shell::normalise::UNKNOWN;
use crate::words::begins;
use crate::{rule, wrapper};

/// Directories that programs live in.
const PLACES: &str = "/bin/ /sbin/ /usr/bin/ /usr/sbin/ /usr/local/bin/ /usr/local/sbin/ /opt/homebrew/bin/ \
    /snap/bin/ /run/current-system/sw/bin/";

impl Engine<'_> {
    /// Remembers a program that got another name.
    pub(super) fn track_copy(&mut self, call: &Call<'_>) {
        match call.program {
            "cp" | "gcp" | "mv" | "install" | "ginstall" | "ln" | "link" | "rsync" | "ditto" => {
                let operands: Vec<&Arg> = call.operands().collect();
                if let [.., source, destination] = operands.as_slice() {
                    self.copied_program(source, &destination.text);
                }
            }
            "dd" => {
                let value = |name: &str| {
                    call.args.iter().find_map(|arg| {
                        let text = arg.text.strip_prefix(name)?.to_owned();
                        Some(arg.with_text(text))
                    })
                };
                if let (Some(source), Some(destination)) = (value("if="), value("of=")) {
                    self.copied_program(&source, &destination.text);
                }
            }
            "hash" => {
                if let [flag, source, name] = call.args
                    && flag.is("-p")
                {
                    self.copied_program(source, &name.text);
                }
            }
            _ => {}
        }
    }

    /// `cat /bin/x > y`: what is printed is the program.
    pub(super) fn track_printed(&mut self, argv: &[Arg], outlet: &Outlet) {
        if let ([first, source], [(path, _)]) = (argv, outlet.files.as_slice())
            && first.is("cat")
        {
            let path = path.clone();
            self.copied_program(source, &path);
        }
    }

    fn copied_program(&mut self, source: &Arg, destination: &str) {
        let Some(program) = self.program_at(source) else { return };
        let name = destination.rsplit('/').next().unwrap_or_default();
        // These are told by their name what to be.
        if matches!(program.as_str(), "busybox" | "toybox" | "coreutils")
            || name == program
            || name.is_empty()
        {
            return;
        }
        self.copies.insert(name.to_owned(), program.clone());
        self.copies.insert(self.entry(destination), program);
    }

    fn program_at(&self, source: &Arg) -> Option<String> {
        let path = self.entry(&source.text);
        if let Some(program) = self.copies.get(&path) {
            return Some(program.clone());
        }
        let placed = begins(PLACES, &path);
        let name = source.text.rsplit('/').next().unwrap_or_default();
        ((placed || source.taint.has(Taint::LOCATED))
            && (rule::knows(name) || wrapper::knows(name)))
        .then(|| name.to_owned())
    }

    /// `argv` with the path of a program that this line wrote into a directory of `PATH`.
    pub(super) fn found_on_path(&mut self, argv: &[Arg]) -> Option<Vec<Arg>> {
        let name = &argv.first()?.text;
        let nothing = self.state.files.is_empty() && self.facts.scripts.is_none();
        if nothing || name.contains('/') {
            return None;
        }
        // Directories below one that is not known are looked for where the shell stands.
        let places = self.state.get("PATH")?.text.replace(&format!("{UNKNOWN}/"), "");
        let found = places.split(':').take(16).find_map(|place| {
            let path = self.resolve(&format!("{place}/{name}"));
            self.recall(&path);
            self.state.files.contains_key(&path).then_some(path)
        })?;
        let mut argv = argv.to_vec();
        if let Some(first) = argv.first_mut() {
            first.text = if found.starts_with('/') { found } else { format!("./{found}") };
        }
        Some(argv)
    }

    /// `argv` with the name that its program had before.
    pub(super) fn under_first_name(&self, argv: &[Arg]) -> Option<Vec<Arg>> {
        let first = argv.first().filter(|_| !self.copies.is_empty())?;
        let program = if first.text.contains('/') {
            self.copies.get(&self.entry(&first.text))?
        } else {
            self.copies.get(&first.text)?
        };
        let mut argv = argv.to_vec();
        if let Some(first) = argv.first_mut() {
            first.text.clone_from(program);
        }
        Some(argv)
    }
}
