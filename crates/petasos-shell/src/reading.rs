//! Whether a shell line plainly changes no file: then no copy has to be made before it, and it may
//! run beside others. Here, because those who copy and those who plan must agree.
//!
//! Only lines of well-known readers count, joined by `;`, `&&`, `||` and `|`. Whatever is not
//! understood at a glance may change files.

/// Programs that change no file whatever their arguments are: none has an option that writes,
/// runs something else or sets anything.
const READERS: &str = ": [ arch basename cal cat cd cksum cmp column comm cut df diff dirname du \
    echo egrep expr false fgrep fold free getconf getent grep groups head hexdump id join jq ls \
    lsblk lscpu md5sum nl nproc od paste pgrep printenv printf ps pwd readelf readlink realpath \
    seq sha1sum sha256sum size sleep stat strings sum tac tail test tr true tty type uname uptime \
    wc whereis which who whoami yes";

/// What a program with options of both kinds may be given to be a reader: whatever is not listed
/// may write, or run something.
struct Reads {
    /// Program, and subcommand where it has some.
    name: &'static str,
    /// Short options, alone or together; digits are always fine.
    letters: &'static str,
    /// Long options, without dashes and values.
    long: &'static str,
    /// How many words beside options there may be.
    operands: usize,
}

const MANY: usize = usize::MAX;
const LOG_LONG: &str = "abbrev-commit all author branches cached color date decorate \
    diff-filter first-parent follow format graph grep left-right max-count merges name-only \
    name-status no-color no-decorate no-ext-diff no-merges no-patch no-renames no-textconv numstat \
    oneline patch pretty raw remotes reverse shortstat since skip staged stat summary tags unified \
    until word-diff";

#[rustfmt::skip]
const CAREFUL: &[Reads] = &[
    Reads { name: "date", letters: "uR", long: "utc universal rfc-email iso-8601 rfc-3339", operands: 0 },
    Reads { name: "file", letters: "biLhkN", long: "brief mime mime-type mime-encoding dereference", operands: MANY },
    Reads { name: "hostname", letters: "fisIdA", long: "fqdn short ip-address all-ip-addresses domain", operands: 0 },
    Reads { name: "less", letters: "NSRFXErin", long: "", operands: MANY },
    Reads { name: "nm", letters: "aACDgnuS", long: "defined-only demangle dynamic extern-only undefined-only", operands: MANY },
    Reads { name: "rg", letters: "aceFgHhiIlLmnNopPqsStTuUvwxABC0", long: "after-context before-context case-sensitive column context count count-matches files files-with-matches files-without-match fixed-strings glob heading hidden iglob ignore-case invert-match json line-number max-count max-depth multiline no-filename no-heading no-ignore no-line-number null only-matching pcre2 regexp replace smart-case sort stats trim type type-list type-not vimgrep with-filename word-regexp", operands: MANY },
    Reads { name: "xxd", letters: "bu", long: "", operands: 1 },
    Reads { name: "git blame", letters: "eflLMnstw", long: "date show-email show-name", operands: MANY },
    Reads { name: "git describe", letters: "", long: "abbrev all always dirty exact-match first-parent long match tags", operands: MANY },
    Reads { name: "git diff", letters: "MUbpsuwz", long: LOG_LONG, operands: MANY },
    Reads { name: "git grep", letters: "ABCEFGHPWceghilnopqvwz", long: "all-match and cached color count extended-regexp files-with-matches fixed-strings ignore-case line-number name-only no-color not or perl-regexp untracked word-regexp", operands: MANY },
    Reads { name: "git log", letters: "GLMSUbginpsuwz", long: LOG_LONG, operands: MANY },
    Reads { name: "git ls-files", letters: "cdmostuvz", long: "cached deleted exclude-standard full-name modified others stage unmerged", operands: MANY },
    Reads { name: "git rev-parse", letters: "q", long: "abbrev-ref absolute-git-dir git-common-dir git-dir is-inside-work-tree quiet short show-cdup show-prefix show-toplevel symbolic-full-name verify", operands: MANY },
    Reads { name: "git shortlog", letters: "cens", long: "all committer email no-merges numbered since summary until", operands: MANY },
    Reads { name: "git show", letters: "MUbnpsuwz", long: LOG_LONG, operands: MANY },
    Reads { name: "git status", letters: "bsuvz", long: "branch ignored long no-renames porcelain short untracked-files verbose", operands: MANY },
];

impl Reads {
    /// Whether every word is one that is known to do no harm.
    fn all(&self, words: &[&str]) -> bool {
        let (mut operands, mut only_operands) = (0, false);
        words.iter().all(|word| {
            let is_option = !only_operands && word.len() > 1 && word.starts_with('-');
            if only_operands || !is_option {
                operands += 1;
                // What the shell puts there may look like an option.
                let open = !only_operands && word.starts_with(['*', '?', '[', '$']);
                let format = self.name == "date" && word.starts_with('+');
                return format || (!open && operands <= self.operands && !word.starts_with('+'));
            }
            match word.strip_prefix("--") {
                Some("") => {
                    only_operands = true;
                    true
                }
                Some(long) => {
                    let name = long.split('=').next().unwrap_or_default();
                    self.long.split_whitespace().any(|known| known == name)
                }
                None => {
                    word.chars().skip(1).all(|c| c.is_ascii_digit() || self.letters.contains(c))
                }
            }
        })
    }
}

/// Whether the line plainly changes no file.
pub fn only_reads(script: &str) -> bool {
    all_commands(script, |command| {
        let (name, words) = match command {
            ["git", name, words @ ..] => (format!("git {name}"), words),
            [name, words @ ..] => ((*name).to_owned(), words),
            [] => return true,
        };
        let careful = CAREFUL.iter().find(|known| known.name == name);
        match careful {
            Some(known) => known.all(words),
            None => READERS.split_whitespace().any(|reader| reader == name),
        }
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
            "rg -n --hidden -g '!target' foo src/*.rs | head",
            "git log --oneline -5 -- src && git diff --stat HEAD~1",
            "git grep -n foo && git show HEAD --no-patch",
            "file -b a.bin; xxd a.bin; date -u +%F; hostname; less -N a",
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
            "xxd a b",
            "xxd -r a",
            "xxd -ps a b",
            "git diff --output=f",
            "git diff --outpu=f",
            "git log --output f",
            "git show -p --output=f",
            "git -c core.pager=x log",
            "git grep -Ovi foo",
            "git grep --open-files-in-pager=vi foo",
            "git diff --ext-diff",
            "git log --textconv",
            "rg --pre ./x foo",
            "rg --pre=./x foo",
            "rg --hostname-bin=./x foo",
            "rg foo *",
            "rg $OPTIONS foo",
            "rg -{-pre=x,n} foo",
            "less -o log a",
            "less -Olog a",
            "less '+!rm x' a",
            "file -C -m a",
            "date -s tomorrow",
            "date 010203042026",
            "hostname other",
            "ldd ./a",
        ] {
            assert!(!only_reads(script), "{script}");
        }
    }
}
