//! A command line cut into simple commands and their words, as far as advice needs it.
//!
//! This is not the shell analysis that judges danger; a mistake here costs a hint, not safety.

/// One simple command.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Simple {
    /// Its words, without quotes.
    pub(super) words: Vec<String>,
    /// Whether it ends with a single `&`.
    pub(super) is_sent_away: bool,
}

impl Simple {
    /// The words from the program on, without assignments and programs that run programs.
    pub(super) fn program(&self) -> &[String] {
        let skips = |word: &String| {
            let prefix =
                ["sudo", "env", "time", "exec", "command", "npx", "bunx", "nice", "stdbuf"];
            word.contains('=') && !word.starts_with('-') || prefix.contains(&word.as_str())
        };
        let start = self.words.iter().position(|word| !skips(word)).unwrap_or(self.words.len());
        self.words.get(start..).unwrap_or_default()
    }
}

/// Cuts a command line. What stands in a here-document is text, not commands.
pub(super) fn simples(line: &str) -> Vec<Simple> {
    let mut cut = Cut::default();
    let mut documents = Documents::default();
    let mut letters = line.chars();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        let rest = letters.as_str();
        match letter {
            '\'' => cut.quoted(letters.by_ref().take_while(|next| *next != '\'')),
            '"' => {
                let mut escaped = false;
                cut.quoted(letters.by_ref().take_while(|next| {
                    let ends = *next == '"' && !escaped;
                    escaped = *next == '\\' && !escaped;
                    !ends
                }));
            }
            '\\' => cut.word.extend(letters.next()),
            '#' if before.is_whitespace() => {
                letters = rest.trim_start_matches(|next| next != '\n').chars();
            }
            '\n' => {
                cut.end_command(false);
                letters = documents.behind(rest).chars();
            }
            ';' | '|' | '(' | ')' | '{' | '}' => cut.end_command(false),
            '&' if rest.starts_with('&') => {
                letters.next();
                cut.end_command(false);
            }
            // `2>&1`, `>&2` and `&>` are redirections, `|&` is a pipe.
            '&' if matches!(before, '>' | '<' | '|') || rest.starts_with('>') => {}
            '&' => cut.end_command(true),
            letter if letter.is_whitespace() => cut.end_word(),
            letter => {
                if letter == '<' && before != '<' {
                    documents.announced(rest);
                }
                cut.word.push(letter);
            }
        }
        before = letter;
    }
    cut.end_command(false);
    cut.simples
}

/// Here-documents that begin with the next line.
#[derive(Default)]
struct Documents {
    /// The line that ends each, and whether tabs may stand before it.
    ends: Vec<(String, bool)>,
    /// One had no end, so it was none: what else looks like one is not looked for either.
    is_misread: bool,
}

impl Documents {
    /// Notes what `<<` announces; `rest` is what follows its first sign.
    fn announced(&mut self, rest: &str) {
        let Some(rest) = rest.strip_prefix('<').filter(|rest| !rest.starts_with('<')) else {
            return;
        };
        let (rest, has_tabs) = rest.strip_prefix('-').map_or((rest, false), |rest| (rest, true));
        let end: String = rest
            .trim_start_matches([' ', '\t'])
            .chars()
            .take_while(|next| !next.is_whitespace() && !";|&<>()".contains(*next))
            .filter(|next| !matches!(next, '\'' | '"' | '\\'))
            .collect();
        if !end.is_empty() {
            self.ends.push((end, has_tabs));
        }
    }

    /// What follows the documents that begin here.
    fn behind<'a>(&mut self, mut rest: &'a str) -> &'a str {
        for (end, has_tabs) in std::mem::take(&mut self.ends) {
            let mut lines = if self.is_misread { "" } else { rest }.split_inclusive('\n');
            let is_end = |line: &str| {
                let line = line.strip_suffix('\n').unwrap_or(line);
                end == if has_tabs { line.trim_start_matches('\t') } else { line }
            };
            let mut length = 0;
            let found = lines.any(|line| {
                length += line.len();
                is_end(line)
            });
            self.is_misread |= !found;
            rest = if found { rest.get(length..).unwrap_or_default() } else { rest };
        }
        rest
    }
}

#[derive(Default)]
struct Cut {
    simples: Vec<Simple>,
    current: Simple,
    word: String,
    is_quoted: bool,
}

impl Cut {
    fn quoted(&mut self, letters: impl Iterator<Item = char>) {
        self.word.extend(letters);
        self.is_quoted = true;
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if std::mem::take(&mut self.is_quoted) || !word.is_empty() {
            self.current.words.push(word);
        }
    }

    fn end_command(&mut self, is_sent_away: bool) {
        self.end_word();
        self.current.is_sent_away = is_sent_away;
        let simple = std::mem::take(&mut self.current);
        if is_sent_away || !simple.words.is_empty() {
            self.simples.push(simple);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(line: &str) -> Vec<String> {
        simples(line).iter().map(|simple| simple.words.join(" ")).collect()
    }

    #[test]
    fn the_text_of_a_here_document_is_no_command() {
        assert_eq!(cut("cat > a <<'END'\nx & y; 'z\nEND\nwc a"), ["cat > a <<END", "wc a"]);
        let two = "cat <<-A; cat << \"B\"\n1\n\tA\n2;\nB\nls";
        assert_eq!(cut(two), ["cat <<-A", "cat << B", "ls"]);
        assert_eq!(cut("cat <<\\E | sort\na;b\nE"), ["cat <<E", "sort"]);
        assert_eq!(cut("cat <<< x\nls; x\nx"), ["cat <<< x", "ls", "x", "x"]);
    }

    #[test]
    fn what_only_looks_like_a_document_hides_nothing() {
        assert_eq!(
            cut("echo $((1<<2))\nls\ncat <<E\na\nE"),
            ["echo $", "1<<2", "ls", "cat <<E", "a", "E"]
        );
        assert_eq!(cut("echo '<<E'\nls\nE"), ["echo <<E", "ls", "E"]);
        assert_eq!(cut("# <<E\nls\nE"), ["ls", "E"]);
    }
}
