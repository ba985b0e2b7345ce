//! Interpreters with code in an argument, on standard input, or in a file.

use crate::code::Language;
use crate::flow::call::Call;
use crate::flow::imports::perl_module;
use crate::flow::value::Arg;
use crate::words::lists;
use crate::wrapper::{Inner, Inners, Wrapper};

pub(super) static WRAPPER: Wrapper = Wrapper {
    names: "python python2 python3 pypy pypy3 ipython perl perl5 ruby jruby irb node nodejs deno bun \
        tsx ts-node php lua luajit awk gawk mawk nawk original-awk rscript r tclsh expect \
        osascript groovy julia elixir scala guile sbcl ghc jshell swift micropython racket \
        bpython raku ghci runghc runhaskell erl octave gnuplot clojure clj bb kotlin kotlinc crystal \
        janet fennel wish gjs qjs swipl gforth scilab matlab clisp ecl newlisp pike io m4 csi \
        gosh escript rakudo nim ocaml scala-cli amm dart hy sage jrunscript rhino d8 octave-cli \
        perl6 groovysh rust-script rails mix artisan manage.py",
    rows: &[],
    unwrap,
};

/// Languages that are read as themselves: the letters of options whose value is code, and programs.
const LANGUAGES: &[(Language, &[char], &str)] = &[
    (
        Language::Python,
        &['c'],
        "python python2 python3 pypy pypy3 ipython bpython micropython sage manage.py",
    ),
    (
        Language::JavaScript,
        &['e', 'p'],
        "node nodejs deno bun tsx ts-node gjs qjs jrunscript rhino d8",
    ),
    (Language::Perl, &['e', 'E'], "perl perl5 raku perl6"),
    (Language::Ruby, &['e'], "ruby jruby irb rails"),
    (Language::Php, &['r', 'B', 'R', 'E'], "php artisan"),
    (Language::Awk, &['e'], "awk gawk mawk nawk original-awk"),
    (Language::AppleScript, &['e'], "osascript"),
    (Language::Tcl, &['e'], "tclsh wish"),
];

fn language(program: &str) -> Language {
    let row = LANGUAGES.iter().find(|(_, _, programs)| lists(programs, program));
    row.map_or(Language::Other, |row| row.0)
}

fn unwrap(call: &Call<'_>, inners: &mut Inners) {
    let language = language(call.program);
    inners.opaque = language != Language::Awk;
    if language == Language::Awk {
        // Without records to read, it prints only what it says itself.
        inners.opaque =
            call.operands().last().is_some_and(|arg| arg.text.trim_start().starts_with("BEGIN"));
        awk(call, inners);
        return;
    }
    if matches!(call.program, "rails" | "mix" | "artisan" | "manage.py") {
        console(call, language, inners);
        return;
    }
    if call.program == "m4" {
        macros(call, inners);
        return;
    }
    if matches!(call.program, "deno" | "bun") && matches!(call.operand(0), "eval" | "x" | "run") {
        subcommand(call, language, inners);
        return;
    }
    if call.program == "expect" {
        let code = call
            .option(&["-c"])
            .or_else(|| call.stdin.text.as_ref().map(|text| Arg::new(text.as_str(), call.span)));
        match code {
            Some(code) => expect_script(&code, inners),
            None => inners.list.extend(
                call.operands()
                    .next()
                    .map(|file| Inner::File(Language::Tcl, file.clone(), Vec::new())),
            ),
        }
        return;
    }
    if language == Language::Other && other_code(call, inners) {
        return;
    }
    let Some(Options { at, found }) = options(call, language, inners) else { return };
    if found {
        inners.args = call.args.get(at..).unwrap_or_default().to_vec();
    }
    if found || call.asks_help() || call.flag_word("-v") || call.flag_word("-V") {
        return;
    }
    match call.args.get(at) {
        Some(file) if matches!(file.text.rsplit('/').next(), Some("manage.py" | "artisan")) => {
            inners.list.push(Inner::Argv(call.args.get(at..).unwrap_or_default().to_vec()));
            inners.list.push(Inner::File(language, file.clone(), Vec::new()));
        }
        Some(file) => {
            let rest = call.args.get(at + 1..).unwrap_or_default().to_vec();
            inners.list.push(match file.text.as_str() {
                "-" => Inner::Stdin(language, rest),
                _ => Inner::File(language, file.clone(), rest),
            });
        }
        None => inners.list.push(Inner::Stdin(language, Vec::new())),
    }
}

/// A module of Python that is a program, or that takes code or a script.
fn module(args: &[Arg], inners: &mut Inners) {
    let Some((module, rest)) = args.split_first() else { return };
    match module.text.as_str() {
        "timeit" | "trace" => {
            for code in rest.iter().filter(|arg| arg.text.contains('(')) {
                inners.list.push(Inner::Code(Language::Python, code.clone()));
            }
        }
        "pdb" | "ipdb" | "pudb" => {
            let mut rest = rest.iter();
            while let Some(arg) = rest.next() {
                if matches!(arg.text.as_str(), "-c" | "--command")
                    && let Some(code) = rest.next()
                {
                    let text = code.text.trim_start_matches(['!', ' ']).to_owned();
                    let code = code.with_text(text);
                    inners.list.push(Inner::Code(Language::Python, code));
                }
            }
        }
        "cProfile" | "profile" | "coverage" | "viztracer" | "runpy" => {
            if let Some(file) = rest.iter().find(|arg| arg.text.ends_with(".py")) {
                inners.list.push(Inner::File(Language::Python, file.clone(), Vec::new()));
            }
        }
        "unittest" | "nose2" => inners.argv([module.with_text("pytest")]),
        // A program of that name, or a file of this directory.
        name => {
            if !name.contains('.') || name == "http.server" {
                inners.argv([&[module.with_text(name.to_ascii_lowercase())], rest].concat());
            }
            for ending in [".py", "/__main__.py"] {
                let file = module.with_text(format!("{}{ending}", name.replace('.', "/")));
                inners.list.push(Inner::File(Language::Python, file, rest.to_vec()));
            }
        }
    }
}

/// `rails runner CODE`, `manage.py shell -c CODE`, `artisan tinker --execute=CODE`.
fn console(call: &Call<'_>, language: Language, inners: &mut Inners) {
    let code = match (call.program, call.operand(0)) {
        ("rails", "runner" | "r") => call.operands().nth(1).cloned(),
        ("rails", "console" | "c") => {
            inners.list.push(Inner::Stdin(language, Vec::new()));
            None
        }
        ("manage.py", "shell" | "shell_plus") => call.option(&["-c", "--command"]),
        ("artisan", "tinker") => call.option(&["--execute"]),
        ("mix", "run" | "eval") => {
            call.option(&["-e", "--eval"]).or_else(|| call.operands().nth(1).cloned())
        }
        _ => None,
    };
    if let Some(code) = code {
        inners.list.push(Inner::Code(language, code));
    }
}

/// `syscmd(…)` and `esyscmd(…)` of `m4`.
fn macros(call: &Call<'_>, inners: &mut Inners) {
    let texts = call.args.iter().map(|arg| arg.text.as_str()).chain(call.stdin.text.as_deref());
    for text in texts {
        for piece in text.split("syscmd(").skip(1) {
            let code = piece.rsplit_once(')').map_or(piece, |(code, _)| code);
            let code = code.trim_matches(['`', '\'', '[', ']']);
            inners.shell(Arg::new(code, call.span));
        }
    }
}

/// `deno eval CODE`, `bun x PROGRAM`.
fn subcommand(call: &Call<'_>, language: Language, inners: &mut Inners) {
    if call.operand(0) == "run" {
        let mut rest = call.args.iter().skip_while(|arg| !arg.is("run")).skip(1);
        let file = rest.find(|arg| !arg.text.starts_with('-') || arg.is("-"));
        inners.list.push(match file {
            Some(file) if file.is("-") => Inner::Stdin(language, Vec::new()),
            Some(file) => Inner::File(language, file.clone(), Vec::new()),
            None => return,
        });
    } else if call.operand(0) == "x" {
        let rest: Vec<Arg> = call.operands().skip(1).cloned().collect();
        inners.argv(rest);
    } else if let Some(code) = call.operands().nth(1) {
        inners.list.push(Inner::Code(language, code.clone()));
    }
}

/// Where the options ended, and whether one of them held code.
struct Options {
    at: usize,
    found: bool,
}

/// Reads the options; `None` when one of them says that no file follows.
fn options(call: &Call<'_>, language: Language, inners: &mut Inners) -> Option<Options> {
    let mut at = 0;
    let mut found = false;
    while let Some(arg) = call.args.get(at) {
        let text = arg.text.as_str();
        if text == "--" {
            at += 1;
            break;
        }
        if let Some(code) = text.strip_prefix("--eval=").or_else(|| text.strip_prefix("--print=")) {
            inners.list.push(Inner::Code(language, arg.with_text(code)));
            found = true;
        } else if matches!(text, "--eval" | "--print" | "--execute" | "--run") {
            let code = call.args.get(at + 1).map(|code| shown(code, text == "--print"));
            push_code(language, code.as_ref(), inners);
            found = true;
            at += 1;
        } else if lists(valued(language), text) {
            at += 1;
            let file = call.args.get(at).filter(|_| language == Language::JavaScript);
            inners.list.extend(file.map(|file| preloaded(language, file)));
        } else if text == "-m" && language == Language::Python {
            // Modules that take code for arguments.
            module(call.args.get(at + 1..).unwrap_or_default(), inners);
            return None;
        } else if matches!(text, "-" | "/dev/stdin") {
            let rest = call.args.get(at + 1..).unwrap_or_default().to_vec();
            inners.list.push(Inner::Stdin(language, rest));
            return None;
        } else if let Some(flags) =
            text.strip_prefix('-').filter(|flags| !flags.is_empty() && !flags.starts_with('-'))
        {
            let library = flags.strip_prefix('r').filter(|_| language == Language::Ruby);
            inners.list.extend(library.filter(|name| !name.is_empty()).map(|name| {
                Inner::File(language, arg.with_text(format!("{name}.rb")), Vec::new())
            }));
            match code_in_flags(flags, language) {
                Some("") => {
                    let modules =
                        call.args.iter().take(at).filter_map(|arg| perl_module(&arg.text));
                    let uses =
                        modules.fold(String::new(), |uses, name| format!("{uses}use {name};"));
                    let prints = language == Language::JavaScript && flags.contains('p');
                    let code = call.args.get(at + 1).map(|code| shown(code, prints));
                    let used = code.map(|code| match language {
                        Language::Perl => code.with_text(format!("{uses}{}", code.text)),
                        _ => code,
                    });
                    push_code(language, used.as_ref(), inners);
                    found = true;
                    at += 1;
                }
                Some(code) => {
                    let code = arg.with_text(code);
                    inners.list.push(Inner::Code(language, code));
                    found = true;
                }
                None => {}
            }
        } else if !text.starts_with('-') {
            break;
        }
        at += 1;
    }
    Some(Options { at, found })
}

/// A file that is loaded first, or code that stands in its place.
fn preloaded(language: Language, file: &Arg) -> Inner {
    match file.text.strip_prefix("data:").and_then(|code| code.split_once(',')) {
        Some((_, code)) => Inner::Code(language, file.with_text(code)),
        None => Inner::File(language, file.clone(), Vec::new()),
    }
}

/// Options whose value is the next argument.
fn valued(language: Language) -> &'static str {
    match language {
        Language::Python => "-X -W",
        Language::Php => "-d -c -z",
        Language::JavaScript => "-r --require --import --loader --experimental-loader -C",
        _ => "",
    }
}

/// Code whose value is printed, said so.
fn shown(code: &Arg, prints: bool) -> Arg {
    if prints { code.with_text(format!("console.log({})", code.text)) } else { code.clone() }
}

/// The code behind a letter that announces some; empty when it is the next argument.
fn code_in_flags(flags: &str, language: Language) -> Option<&str> {
    let library = match language {
        Language::Php => false,
        Language::Python => flags.starts_with(['W', 'X']),
        _ => flags.starts_with(['I', 'M', 'm', 'r', 'W', 'x']),
    };
    if library {
        return None;
    }
    let position = flags.find(code_letters(language))?;
    let tail = flags.get(position + 1..).unwrap_or_default();
    let more_flags = matches!(language, Language::Perl | Language::Ruby)
        && tail.len() < 4
        && tail.bytes().all(|byte| byte.is_ascii_alphanumeric());
    Some(if more_flags { "" } else { tail })
}

/// Letters of options whose value is code.
fn code_letters(language: Language) -> &'static [char] {
    let row = LANGUAGES.iter().find(|(known, _, _)| *known == language);
    row.map_or(&['e', 'c'], |row| row.1)
}

/// Code of a lesser-known language behind whatever option it has for it.
fn other_code(call: &Call<'_>, inners: &mut Inners) -> bool {
    let code = |arg: &&Arg| {
        arg.text.contains(['(', '"', '\''])
            && arg.text.contains([' ', '('])
            && (!arg.text.starts_with("--") || arg.text.starts_with("--eval"))
    };
    let mut found = false;
    // `:!command` of an interactive Haskell.
    for command in call.args.iter().filter_map(|arg| arg.text.trim_start().strip_prefix(":!")) {
        inners.shell(Arg::new(command, call.span));
        found = true;
    }
    for arg in call.args.iter().filter(code) {
        let text = ["--eval:", "--eval="].iter().find_map(|name| arg.text.strip_prefix(name));
        let text = text.unwrap_or(&arg.text).to_owned();
        inners.list.push(Inner::Code(Language::Other, arg.with_text(text)));
        found = true;
    }
    found
}

/// What a script of Tcl starts.
pub(crate) fn tcl_commands(code: &Arg) -> Vec<Inner> {
    let mut inners = Inners::default();
    expect_script(code, &mut inners);
    inners.list
}

/// `spawn` in an `expect` script starts a program, and so does `exec` of Tcl.
fn expect_script(code: &Arg, inners: &mut Inners) {
    for piece in code.text.split([';', '\n', '[', ']']) {
        let piece = piece.trim_start();
        if let Some(path) = piece.strip_prefix("file delete -force") {
            let argv = ["rm", "-rf"].into_iter().chain(path.split_whitespace());
            let argv: Vec<Arg> = argv.map(|word| code.with_text(word)).collect();
            inners.argv(argv);
        }
        let command = ["spawn ", "exec ", "system ", "send "]
            .iter()
            .find_map(|verb| piece.strip_prefix(verb));
        // What is sent is typed.
        let command = command.map(|it| it.trim_matches('"').trim_end_matches("\\r"));
        if let Some(command) = command {
            inners.shell(code.with_text(command));
        }
    }
}

fn push_code(language: Language, code: Option<&Arg>, inners: &mut Inners) {
    if let Some(code) = code {
        // IPython runs what follows an exclamation mark.
        let command = |line: &str| {
            let line = line.trim_start();
            let marks = ["%sx ", "%system ", "!!", "!"];
            marks.iter().find_map(|mark| line.strip_prefix(mark)).map(str::to_owned)
        };
        for line in code.text.lines().filter_map(command) {
            let line = code.with_text(line);
            inners
                .list
                .extend((language == Language::Python).then(|| Inner::Shell(line, Vec::new())));
        }
        inners.list.push(Inner::Code(language, code.clone()));
    }
}

fn awk(call: &Call<'_>, inners: &mut Inners) {
    let mut given = String::new();
    let mut at = 0;
    let mut found = false;
    while let Some(arg) = call.args.get(at) {
        match arg.text.as_str() {
            "-e" | "--source" => {
                push_code(Language::Awk, call.args.get(at + 1), inners);
                found = true;
                at += 2;
            }
            "-v" | "--assign" => {
                if let Some((name, value)) =
                    call.args.get(at + 1).and_then(|arg| arg.text.split_once('='))
                {
                    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
                    given = format!("{given}{name}=\"{value}\";");
                }
                at += 2;
            }
            "-F" | "--field-separator" | "-i" | "--include" => at += 2,
            "-f" | "--file" => {
                if let Some(file) = call.args.get(at + 1) {
                    inners.list.push(Inner::File(Language::Awk, file.clone(), Vec::new()));
                }
                found = true;
                at += 2;
            }
            "--" => {
                at += 1;
                break;
            }
            text if text.starts_with('-') && text.len() > 1 => at += 1,
            _ => break,
        }
    }
    if !found && let Some(code) = call.args.get(at) {
        let code = match given.as_str() {
            "" => code.clone(),
            given => code.with_text(format!("{given}{}", code.text)),
        };
        push_code(Language::Awk, Some(&code), inners);
        inners.args = call.args.get(at + 1..).unwrap_or_default().to_vec();
    }
}
