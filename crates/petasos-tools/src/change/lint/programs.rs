//! The programs that judge code: each reads a text and prints what is wrong with it.
//!
//! Only syntax is judged, from the text alone: what a file imports need not be there. Only programs
//! of the machine are asked, confined as the session's commands are: one out of the project would
//! run whatever the project holds. One that is not installed says so with its own exit code, and
//! then nothing is told.

use std::path::Path;
use std::time::{Duration, Instant};

use petasos_contract::CallContext;
use petasos_contract::environment::{EnvError, Environment, Sandbox};
use tokio::runtime::Handle;

use crate::edit::syntax::Code;
use crate::files::site::there::{self, Script};

const LINT_MAX: Duration = Duration::from_secs(10);

/// The first lines of a report tell.
const LINES_MAX: usize = 6;

/// Where programs are asked, and how they are confined there.
pub(super) struct Confined<'a> {
    pub(super) environment: &'a dyn Environment,
    pub(super) sandbox: Sandbox,
    pub(super) cx: &'a CallContext,
}

/// What a checker said about a text.
pub(super) enum Judged {
    /// There is no checker.
    Unknown,
    Good,
    Broken(String),
}

/// Not where the project is: what lies there, such as a toolchain file, could name another program.
const OUTSIDE: &str = "cd / || exit 77\n";

const PYTHON: &str = r#"command -v python3 >/dev/null 2>&1 || exit 77
exec python3 -I -c '
import ast, sys
try:
    ast.parse(sys.stdin.buffer.read())
except SyntaxError as error:
    print(f"line {error.lineno}: {error.msg}")
except ValueError as error:
    print(error)
'"#;

/// A folder of its own, because these programs judge by the name.
const IN_A_FOLDER: &str = r#"at=$(mktemp -d) || exit 77
trap 'rm -rf "$at"' EXIT
cat >"$at/$name" || exit 77
cd "$at" || exit 77
"#;

/// A script is CommonJS or a module, which only its folder tells: it is good if it is either. The
/// endings are spelled out, because node passes over what it only takes for a module.
const JAVASCRIPT: &str = r#"case "$name" in *.mjs) kinds=mjs ;; *.cjs) kinds=cjs ;; *) kinds='mjs cjs' ;; esac
for kind in $kinds; do
  cp "$name" "code.$kind" || exit 77
  node --check "code.$kind" 2>"err.$kind" && exit 0
done
grep -q "'import'\|'export'\|import statement" "err.$kind" && [ -e err.mjs ] && kind=mjs
grep -q '^SyntaxError: ' "err.$kind" || exit 77
sed -n -e "s|^.*/code.$kind:\([0-9]*\)\$|line \1|p" -e '/^SyntaxError: /p' "err.$kind"
"#;

/// Errors below 2000 are of the syntax; the others are about types and what is imported.
const TYPESCRIPT: &str = r#"tsc --noEmit --noResolve --skipLibCheck --pretty false "$name" >out 2>&1 && exit 0
grep -q ': error TS[0-9]' out || exit 77
sed -n 's/^[^(]*(\([0-9]*\),[0-9]*): error \(TS1[0-9][0-9][0-9]: .*\)$/line \1: \2/p' out
"#;

const GO: &str = r#"command -v gofmt >/dev/null 2>&1 || exit 77
told=$(gofmt -e 2>&1 >/dev/null) && exit 0
case "$told" in *'<standard input>:'*) ;; *) exit 77 ;; esac
printf '%s\n' "$told" | sed -n 's/^<standard input>:\([0-9]*\):[0-9]*: /line \1: /p'
"#;

const RUST: &str = r#"command -v rustfmt >/dev/null 2>&1 || exit 77
told=$(rustfmt --edition 2024 --config-path /dev/null --emit stdout 2>&1 >/dev/null) && exit 0
case "$told" in *'--> <stdin>:'*) ;; *) exit 77 ;; esac
printf '%s\n' "$told" | sed -n -e '/^error/p' -e 's/^ *--> <stdin>:\([0-9]*\):.*/line \1/p'
"#;

/// Judges a text in a place.
pub(super) fn judge(code: Code, path: &Path, text: &str, place: &Confined<'_>) -> Judged {
    let cx = place.cx;
    let until = cx.deadline.min(Instant::now() + LINT_MAX);
    let script = format!("{OUTSIDE}{}", script(code, path));
    let input = Some(text.as_bytes().to_vec());
    let script =
        Script { text: &script, input, output_max: 4000, until, sandbox: place.sandbox.clone() };
    let judged: Result<_, EnvError> = {
        let run = there::run(place.environment, script, cx);
        there::wait(&Handle::current(), cx, "a syntax check", run)
    };
    // A check that cannot be made is no fault of the file.
    let Some(ran) = judged.ok().filter(|ran| ran.code == 0) else { return Judged::Unknown };
    let told = String::from_utf8_lossy(&ran.output);
    let told = told.trim().lines().take(LINES_MAX).collect::<Vec<_>>().join("\n");
    if told.is_empty() { Judged::Good } else { Judged::Broken(told) }
}

fn script(code: Code, path: &Path) -> String {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase());
    let named = format!("name=text.{}\n", ending.unwrap_or_default());
    match code {
        Code::Python => PYTHON.to_owned(),
        Code::Go => GO.to_owned(),
        Code::Rust => RUST.to_owned(),
        Code::JavaScript => {
            let present = "command -v node >/dev/null 2>&1 || exit 77\n";
            format!("{present}{named}{IN_A_FOLDER}{JAVASCRIPT}")
        }
        Code::TypeScript => {
            let present = "command -v tsc >/dev/null 2>&1 || exit 77\n";
            format!("{present}{named}{IN_A_FOLDER}{TYPESCRIPT}")
        }
    }
}
