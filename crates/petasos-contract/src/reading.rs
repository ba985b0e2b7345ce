//! Whether a shell line plainly changes no file: then no copy has to be made before it, and it may
//! run beside others. Here, because those who copy and those who plan must agree.
//!
//! Only lines of well-known readers count, joined by `;`, `&&`, `||` and `|`. Whatever is not
//! understood at a glance may change files.

/// Programs that change no file whatever their arguments are.
const READERS: &[&str] = &[
    ":",
    "[",
    "arch",
    "basename",
    "cal",
    "cat",
    "cd",
    "cksum",
    "cmp",
    "column",
    "comm",
    "cut",
    "date",
    "df",
    "diff",
    "dirname",
    "du",
    "echo",
    "egrep",
    "expr",
    "false",
    "fgrep",
    "file",
    "fold",
    "free",
    "getconf",
    "getent",
    "grep",
    "groups",
    "head",
    "hexdump",
    "hostname",
    "id",
    "join",
    "jq",
    "ldd",
    "less",
    "ls",
    "lsblk",
    "lscpu",
    "md5sum",
    "nl",
    "nm",
    "nproc",
    "od",
    "paste",
    "pgrep",
    "printenv",
    "printf",
    "ps",
    "pwd",
    "readelf",
    "readlink",
    "realpath",
    "rg",
    "seq",
    "sha1sum",
    "sha256sum",
    "size",
    "sleep",
    "stat",
    "strings",
    "sum",
    "tac",
    "tail",
    "test",
    "tr",
    "true",
    "tty",
    "type",
    "uname",
    "uptime",
    "wc",
    "whereis",
    "which",
    "who",
    "whoami",
    "xxd",
    "yes",
];

/// Subcommands of git that change no file of the workspace.
const GIT_READERS: &[&str] = &[
    "blame",
    "describe",
    "diff",
    "grep",
    "log",
    "ls-files",
    "rev-parse",
    "shortlog",
    "show",
    "status",
];

/// Whether the line plainly changes no file.
pub fn only_reads(script: &str) -> bool {
    all_commands(script, |command| match command {
        ["git", name, ..] => GIT_READERS.contains(name),
        [name, ..] => READERS.contains(name),
        [] => true,
    })
}

/// Whether the line plainly changes nothing that another one could see: no file, and not the
/// directory of its shell.
pub fn leaves_no_trace(script: &str) -> bool {
    only_reads(script) && all_commands(script, |command| command.first() != Some(&"cd"))
}

fn all_commands(script: &str, fits: impl Fn(&[&str]) -> bool) -> bool {
    let Some(words) = words(script) else { return false };
    words.split(String::is_empty).filter(|command| !command.is_empty()).all(|command| {
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        fits(&command)
    })
}

/// The words of every command, an empty one between commands; nothing when the line does more than
/// plain words say: redirections into files, substitutions, here-documents, groups.
fn words(script: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut letters = script.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            ('`' | '\\', None | Some('"')) => return None,
            ('$', None | Some('"')) if letters.peek() == Some(&'(') => return None,
            (end, Some(open)) if end == open => quote = None,
            (open @ ('\'' | '"'), None) => {
                quote = Some(open);
                // An empty argument is a word, not the end of a command.
                word.push('\u{1}');
            }
            ('>', None) => skip_harmless(&mut letters)?,
            ('<' | '(' | ')' | '{' | '}' | '#' | '=' | '!', None) if word.is_empty() => {
                return None;
            }
            ('<', None) => return None,
            (';' | '\n' | '|' | '&', None) => {
                flush(&mut word, &mut words);
                words.push(String::new());
            }
            (space, None) if space.is_whitespace() => flush(&mut word, &mut words),
            (letter, _) => word.push(letter),
        }
    }
    flush(&mut word, &mut words);
    quote.is_none().then_some(words)
}

/// Passes over what makes no file: `>/dev/null` and `>&1`.
fn skip_harmless(letters: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<()> {
    let mut target = String::new();
    while let Some(letter) = letters.next_if(|letter| {
        *letter == ' ' && target.is_empty() || !letter.is_whitespace() && !";|".contains(*letter)
    }) {
        if letter != ' ' {
            target.push(letter);
        }
    }
    matches!(target.as_str(), "/dev/null" | "&1" | "&2").then_some(())
}

/// A word is done; the digit before `2>&1` was none.
fn flush(word: &mut String, words: &mut Vec<String>) {
    let done = std::mem::take(word);
    let done = done.replace('\u{1}', "");
    if !done.is_empty() {
        words.push(done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_readers_need_no_copy() {
        for script in [
            "ls -la",
            "sleep 0.5 && echo p1",
            "yes abc | head -c 5242880",
            "cat a.txt 2>/dev/null | grep 'x; rm y' ; git status --short",
            "grep -rn foo . 2>&1 | head -5",
            "echo \"\" && pwd",
        ] {
            assert!(only_reads(script), "{script}");
            assert!(leaves_no_trace(script), "{script}");
        }
        assert!(only_reads("cd /tmp; ls") && !leaves_no_trace("cd /tmp; ls"));
    }

    #[test]
    fn everything_else_gets_one() {
        for script in [
            "rm a",
            "echo x > a",
            "echo x >> a",
            "cat <<EOF > a\nx\nEOF",
            "echo $(rm a)",
            "echo `rm a`",
            "ls && make",
            "git checkout .",
            "python3 -c 'open(\"a\",\"w\")'",
            "X=1 rm a",
            "(rm a)",
            "ls & rm a",
            "cat a | tee b",
            "'rm' a",
            "echo 'unfinished",
            "find . -delete",
            "sed -i s/a/b/ c",
        ] {
            assert!(!only_reads(script), "{script}");
        }
    }
}
