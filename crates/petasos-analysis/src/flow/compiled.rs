//! Programs built by this line: each does what its source says, so the source is kept
//! under the name of the program.

use super::call::Call;
use super::engine::Engine;
use super::value::{Arg, Stream, Taint};

impl Engine<'_> {
    /// Remembers what a compiler makes of a source that this line wrote.
    pub(super) fn track_compiled(&mut self, call: &Call<'_>, stdin: &Stream) {
        let default = match call.program {
            "gcc" | "cc" | "clang" | "g++" | "c++" | "clang++" | "tcc" => Some("a.out"),
            "rustc" | "ghc" | "nim" | "crystal" | "ocamlfind" => None,
            "go" if call.operand(0) == "build" => None,
            _ => return,
        };
        let named = call.option(&["-o"]).map(|arg| arg.text);
        let mut written = false;
        for operand in call.operands() {
            let Some(mut source) = self.source_of(operand, stdin) else { continue };
            source.taint = source.taint.with(Taint::SOURCE);
            let output = named.as_deref().or(default).unwrap_or_else(|| stem(&operand.text));
            let path = self.resolve(output);
            self.write_file(path, source, written);
            written = true;
        }
    }

    fn source_of(&mut self, operand: &Arg, stdin: &Stream) -> Option<Stream> {
        if operand.is("-") || operand.is("/dev/stdin") {
            return Some(self.copied(stdin));
        }
        let path = self.resolve(&operand.text);
        self.held(&path)
    }
}

/// `dir/name.rs` without its ending, where the program is put.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}
