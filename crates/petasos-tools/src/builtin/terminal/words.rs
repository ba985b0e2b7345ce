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

/// Cuts a command line.
pub(super) fn simples(line: &str) -> Vec<Simple> {
    let mut cut = Cut::default();
    let mut letters = line.chars().peekable();
    let mut before = ' ';
    while let Some(letter) = letters.next() {
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
                while letters.next_if(|next| *next != '\n').is_some() {}
            }
            ';' | '\n' | '|' | '(' | ')' | '{' | '}' => cut.end_command(false),
            '&' if letters.next_if_eq(&'&').is_some() => cut.end_command(false),
            // `2>&1`, `>&2` and `&>` are redirections, `|&` is a pipe.
            '&' if matches!(before, '>' | '<' | '|') || letters.peek() == Some(&'>') => {}
            '&' => cut.end_command(true),
            letter if letter.is_whitespace() => cut.end_word(),
            letter => cut.word.push(letter),
        }
        before = letter;
    }
    cut.end_command(false);
    cut.simples
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
