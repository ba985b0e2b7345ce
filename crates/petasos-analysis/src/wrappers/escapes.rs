//! Ways out to a shell from programs that are for something else: editors,
//! archivers, pagers, build tools, debuggers, databases.

use crate::code::{Language, sed};
use crate::flow::call::Call;
use crate::flow::value::Arg;
use crate::shell::normalise::UNKNOWN;
use crate::words::lists;
use crate::wrapper::{Inner, Inners, Row, Wrapper, command_after, option};

pub(super) static WRAPPER: Wrapper = Wrapper {
    rows: ROWS,
    names: "vim vi nvim ex view rvim gvim emacs ed red tar bsdtar gtar scp less more cmake nmap gdb lldb \
        psql sqlite3 mysql mariadb duckdb sed gsed socat ncat nc dc mail mailx mutt gp telnet",
    unwrap,
};

/// Options of programs that are for something else, and that name a program to run.
const ROWS: &[Row] = &[
    option("zip", "-TT --unzip-command"),
    option("rsync", "-e --rsh --rsync-path"),
    option("scp sftp", "-S"),
    option("rg ag sort split", "--pre --hostname-bin --pager --compress-program --filter"),
    option("man", "-P --pager -H --html"),
    option(
        "tar bsdtar gtar",
        "--to-command -I --use-compress-program --info-script --new-volume-script -F --rsh-command",
    ),
    option("tcpdump openvpn gcc wget", "-z --up --down -wrapper --use-askpass"),
    option("socat ncat nc", "-e --exec -c --sh-exec"),
];

fn unwrap(call: &Call<'_>, inners: &mut Inners) {
    match call.program {
        "vim" | "vi" | "nvim" | "ex" | "view" | "rvim" | "gvim" => editor(call, inners),
        "emacs" => {
            let texts = call.values(&["--eval", "--execute", "-eval"]);
            inners.list.extend(texts.map(|code| Inner::Code(Language::Other, code)));
        }
        "ed" | "red" | "telnet" | "dc" => inners.lines_after(&["!"], call),
        "mail" | "mailx" | "mutt" => inners.lines_after(&["~!"], call),
        "less" | "more" => inners.lines_after(&["+!"], call),
        "gp" => inners.list.push(Inner::Stdin(Language::Other, Vec::new())),
        "cmake" if call.flag_word("-E") => {
            let rest = command_after(call.args, "", 0);
            let skip = rest.first().is_some_and(|arg| lists("env time chdir", &arg.text));
            inners.argv(command_after(rest.get(usize::from(skip)..).unwrap_or_default(), "", 0));
        }
        "nmap" => {
            for script in call.values(&["--script"]) {
                inners.list.push(Inner::File(Language::Other, script, Vec::new()));
            }
        }
        "gdb" | "lldb" => debugger(call, inners),
        "psql" | "sqlite3" | "mysql" | "mariadb" | "duckdb" => database(call, inners),
        "sed" | "gsed" => stream_editor(call, inners),
        "socat" | "ncat" | "nc" => network(call, inners),
        _ => marked(call, inners),
    }
}

/// Commands that an argument holds behind a mark.
fn marked(call: &Call<'_>, inners: &mut Inners) {
    for arg in call.args {
        let code = match call.program {
            "scp" => arg.text.split_once("ProxyCommand=").map(|(_, code)| code),
            _ => arg.text.trim_start_matches("--checkpoint-action=").strip_prefix("exec="),
        };
        if let Some(code) = code {
            inners.shell(arg.with_text(code));
        }
    }
}

fn editor(call: &Call<'_>, inners: &mut Inners) {
    let mut rest = call.args.iter().peekable();
    while let Some(arg) = rest.next() {
        let code = if matches!(arg.text.as_str(), "-c" | "--cmd" | "-s" | "-S")
            || arg.text.starts_with('-') && !arg.text.starts_with("--") && arg.text.ends_with('c')
        {
            rest.next_if(|next| !next.text.starts_with('+')).cloned()
        } else {
            arg.text.strip_prefix('+').map(|text| arg.with_text(text))
        };
        if let Some(code) = code {
            editor_command(&code, inners);
        }
    }
    if let Some(text) = &call.stdin.text {
        for line in text.lines() {
            editor_command(&Arg::new(line, call.span), inners);
        }
    }
}

fn editor_command(code: &Arg, inners: &mut Inners) {
    let text = code.text.trim_start_matches([':', ' ', '%']);
    let found = text
        .strip_prefix("silent!")
        .or_else(|| text.strip_prefix("silent"))
        .unwrap_or(text)
        .trim_start();
    let command = found
        .split_once('!')
        .filter(|(head, _)| head.is_empty() || lists("r w read write term terminal", head.trim()));
    let command = command.or_else(|| found.split_once("terminal "));
    if let Some((_, command)) = command {
        inners.shell(code.with_text(command));
    }
    // `call system("x")`, `echo delete("x", "rf")`
    if text.contains('(') {
        let text = text.strip_prefix("call ").unwrap_or(text);
        inners.list.push(Inner::Code(Language::Other, code.with_text(text)));
    }
    let (mark, body) = text.split_once(' ').unwrap_or_default();
    let language = match mark {
        "py" | "py3" | "python3" => Language::Python,
        "perl" => Language::Perl,
        "ruby" => Language::Ruby,
        "lua" => Language::Other,
        _ => return,
    };
    inners.list.push(Inner::Code(language, code.with_text(body)));
}

fn debugger(call: &Call<'_>, inners: &mut Inners) {
    inners.lines_after(&["!", "shell ", "platform shell "], call);
    for (at, code) in call.args.iter().enumerate() {
        let text = code.text.trim_start();
        let python = text.strip_prefix("python ").or_else(|| text.strip_prefix("script "));
        if let Some(body) = python {
            inners.list.push(Inner::Code(Language::Python, code.with_text(body)));
        } else if text.contains("system(") || text.contains("system (") {
            inners.list.push(Inner::Code(Language::Other, code.clone()));
        } else if matches!(text, "--args" | "--") {
            inners.argv(call.args.get(at + 1..).unwrap_or_default());
            return;
        }
    }
}

fn database(call: &Call<'_>, inners: &mut Inners) {
    inners.lines_after(&["\\!", ".shell ", ".system ", "system "], call);
    let texts = call.args.iter().map(|arg| arg.text.as_str()).chain(call.stdin.text.as_deref());
    for line in texts.flat_map(str::lines) {
        let lower = line.to_ascii_lowercase();
        if let Some(at) = lower.find("to program '").or_else(|| lower.find("from program '")) {
            let code = line.get(at..).and_then(|tail| tail.split('\'').nth(1)).unwrap_or_default();
            inners.shell(Arg::new(code, call.span));
        }
    }
}

/// `sed` with the `e` command, which runs lines.
fn stream_editor(call: &Call<'_>, inners: &mut Inners) {
    let scripts = call.values(&["-e", "--expression"]).chain(call.operands().next().cloned());
    for script in scripts {
        // What a substitution made is what a bare `e` runs.
        let mut made = None;
        for step in sed::steps(&script.text) {
            let code = match step {
                sed::Step::Run(text) if text.trim().is_empty() => made.take(),
                sed::Step::Run(text) => Some(text),
                sed::Step::Replace { to, flags, .. } => {
                    // What the pattern found is filled in.
                    let to = to.replace('&', &UNKNOWN.to_string());
                    let runs = flags.split('w').next().is_some_and(|flags| flags.contains('e'));
                    made = (!runs).then(|| to.clone());
                    runs.then_some(to)
                }
                _ => None,
            };
            inners.list.extend(code.map(|code| Inner::Shell(script.with_text(code), Vec::new())));
        }
    }
}

fn network(call: &Call<'_>, inners: &mut Inners) {
    for arg in call.args {
        let upper = arg.text.to_ascii_uppercase();
        for mark in ["EXEC:", "SYSTEM:", "SHELL:"] {
            if let Some(at) = upper.find(mark) {
                let code = arg.text.get(at + mark.len()..).unwrap_or_default();
                let code = code.trim_matches(['\'', '"']).split(',').next().unwrap_or_default();
                inners.shell(arg.with_text(code));
            }
        }
    }
}
