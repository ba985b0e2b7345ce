//! Where words come from: the composer and its keys at a real terminal, plain lines elsewhere.

use std::io::{BufRead as _, IsTerminal as _};

use tokio::sync::mpsc;

use crate::composer::{Composer, ComposerOptions, Said};
use crate::draft::{Key, Keys};

/// Something typed while the agent works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pressed {
    /// A key at a real terminal.
    Key(Key),
    /// A whole line elsewhere.
    Line(String),
    /// There will be no more.
    End,
}

/// Words from the person.
#[derive(Debug)]
pub(crate) struct Input {
    source: Source,
    keys: Option<Keys>,
    ended: bool,
}

#[derive(Debug)]
enum Source {
    Composer(Composer),
    Lines {
        lines: mpsc::UnboundedReceiver<String>,
        /// Lines that go on in the next one.
        begun: String,
    },
}

impl Input {
    /// A composer at a real terminal.
    pub(crate) fn composer(options: ComposerOptions) -> Self {
        Self { source: Source::Composer(Composer::start(options)), keys: None, ended: false }
    }

    /// Plain lines of standard input.
    pub(crate) fn lines() -> Self {
        let (sender, lines) = mpsc::unbounded_channel();
        std::thread::spawn(move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { return };
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let source = Source::Lines { lines, begun: String::new() };
        Self { source, keys: None, ended: false }
    }

    /// The next message while nothing runs. Dropping the future loses nothing.
    pub(crate) async fn message(&mut self) -> Said {
        match &mut self.source {
            Source::Composer(composer) => composer.next().await,
            Source::Lines { lines, begun } => {
                while let Some(line) = lines.recv().await {
                    let Some(line) = line.strip_suffix('\\') else {
                        let whole = std::mem::take(begun) + &line;
                        return Said::Line(whole.trim().to_owned());
                    };
                    begun.extend([line, "\n"]);
                }
                self.ended = true;
                Said::End
            }
        }
    }

    /// Takes the terminal from the composer; a message that was just sent comes back.
    pub(crate) async fn interrupt(&mut self) -> Said {
        match &mut self.source {
            Source::Composer(composer) => composer.interrupt().await,
            Source::Lines { .. } => Said::Broken(String::new()),
        }
    }

    /// The next message begins with this text, where there is a composer to show it.
    pub(crate) fn carry(&mut self, text: &str) {
        if let Source::Composer(composer) = &mut self.source {
            composer.carry(text);
        }
    }

    /// Whether somebody types right now, or plain lines may come.
    pub(crate) fn is_open(&self) -> bool {
        match &self.source {
            Source::Composer(composer) => composer.is_reading(),
            Source::Lines { .. } => true,
        }
    }

    /// Whether somebody types into the composer right now.
    pub(crate) fn is_composing(&self) -> bool {
        matches!(&self.source, Source::Composer(composer) if composer.is_reading())
    }

    /// Whether a sign must be shown where the person types.
    pub(crate) fn needs_prompt(&self) -> bool {
        matches!(self.source, Source::Lines { .. })
    }

    /// Shows something above the line that is being typed.
    pub(crate) fn above(&self, text: String) {
        if let Source::Composer(composer) = &self.source {
            composer.show(text);
        }
    }

    /// From now on keys come one by one.
    pub(crate) fn open_keys(&mut self) -> std::io::Result<()> {
        if matches!(self.source, Source::Composer(_)) {
            self.keys = Some(Keys::take()?);
        }
        Ok(())
    }

    /// The composer gets the keys again; those that were pressed and not taken yet come back.
    pub(crate) fn close_keys(&mut self) -> Vec<Key> {
        self.keys.take().map(Keys::close).unwrap_or_default()
    }

    /// The next thing typed while the agent works. Dropping the future loses nothing.
    pub(crate) async fn pressed(&mut self) -> Pressed {
        if self.ended {
            return std::future::pending().await;
        }
        let pressed = match (&mut self.keys, &mut self.source) {
            (Some(keys), _) => keys.pressed.recv().await.map(Pressed::Key),
            (None, Source::Lines { lines, .. }) => lines.recv().await.map(Pressed::Line),
            (None, Source::Composer(_)) => return std::future::pending().await,
        };
        pressed.unwrap_or_else(|| {
            self.ended = true;
            Pressed::End
        })
    }

    /// Whether no person types the lines.
    pub(crate) fn is_piped(&self) -> bool {
        self.needs_prompt() && !std::io::stdin().is_terminal()
    }

    /// Whether nothing more will come.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }
}
