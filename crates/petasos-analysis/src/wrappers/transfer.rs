//! Scripts of file-transfer clients: what they delete, rename and put on the other side
//! is read as the plain command that would do the same there.

use crate::flow::call::Call;
use crate::flow::value::Arg;
use crate::wrapper::{Inners, Wrapper};

pub(super) static WRAPPER: Wrapper =
    Wrapper { names: "sftp ftp lftp ncftp tnftp", rows: &[], unwrap };

fn unwrap(call: &Call<'_>, inners: &mut Inners) {
    inners.elsewhere = true;
    if let Some(code) = call.option(&["-S"]).filter(|_| call.program == "sftp") {
        inners.shell(code);
    }
    for arg in call.args {
        if let Some((_, code)) = arg.text.split_once("ProxyCommand=") {
            inners.shell(arg.with_text(code));
        }
    }
    let given: Vec<Arg> = call.values(&["-e", "-c"]).filter(|_| call.program == "lftp").collect();
    let texts = given.iter().map(|arg| arg.text.as_str()).chain(call.stdin.text.as_deref());
    for text in texts {
        for line in text.split(['\n', ';']) {
            command(line.trim(), call, inners);
        }
    }
}

fn command(line: &str, call: &Call<'_>, inners: &mut Inners) {
    if let Some(code) = line.strip_prefix('!') {
        inners.shell(Arg::new(code, call.span));
        return;
    }
    let mut words: Vec<&str> =
        line.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect();
    if words.first().is_some_and(|verb| *verb == "glob") {
        words.retain(|word| !matches!(*word, "glob" | "-a" | "-f" | "-d"));
    }
    let Some((verb, rest)) = words.split_first() else { return };
    let argv: Vec<&str> = match *verb {
        "rm" | "rmdir" | "chmod" | "chown" | "ln" => words.clone(),
        "delete" | "del" => [&["rm"][..], rest].concat(),
        // Every name that the pattern finds.
        "mdelete" | "mrm" | "mdel" => [&["rm", "-r"][..], rest].concat(),
        "rename" | "mv" => [&["mv"][..], rest].concat(),
        "put" | "reput" if rest.len() > 1 => [&["cp"][..], rest].concat(),
        "mirror" => [&["rsync"][..], rest].concat(),
        _ => return,
    };
    let argv = argv.into_iter().map(|word| Arg::new(word, call.span)).collect::<Vec<_>>();
    inners.argv(argv);
}
