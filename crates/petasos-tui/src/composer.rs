//! The composer: many lines, history, completion; on a thread of its own, because it blocks.
//!
//! Enter sends; Alt-Enter, Shift-Enter, Ctrl-J or a backslash at the end of a line go on in the
//! next one. The chat can take the terminal back at any time, and what was typed with it.

mod complete;
mod files;
mod keys;
mod look;
mod menu;
mod paste;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc as blocking;
use std::time::Duration;

use parking_lot::Mutex;
use reedline::{
    Color, EditCommand, ExampleHighlighter, ExternalPrinter, FileBackedHistory, Reedline,
    ReedlineMenu, Signal, ValidationResult, Validator,
};
use tokio::sync::mpsc;

pub(crate) use complete::Complete;
pub use complete::Offered;
pub(crate) use menu::opens;
pub(crate) use paste::Pastes;

use crate::skin::Skin;
use keys::Keys;
use look::Prompt;
use menu::QuietMenu;
use paste::Folding;

const HISTORY_MAX: usize = 2000;
const INTERRUPT: &str = "interrupt";
const EDIT: &str = "edit";
const SUSPEND: &str = "suspend";
const WHOLE: &str = "whole";
const PASTE: &str = "paste";
/// Notices that wait while somebody types; more are shown later.
const NOTICES_MAX: usize = 256;
/// How long it may take to give the terminal back. One whose terminal is gone never does: the
/// reader below it sees the end of its input and asks again at once.
const GIVES_BACK: Duration = Duration::from_millis(500);

/// What came of asking for a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// A message.
    Line(String),
    /// Ctrl-C with nothing typed.
    Interrupt,
    /// Ctrl-D, or the terminal is gone.
    End,
    /// Something else is wanted first; what is typed goes with it.
    Wants(Want, String),
    /// The chat took the terminal back; what was being typed goes with it.
    Broken(String),
}

/// What a key in the middle of a message asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    /// What is typed is to be edited elsewhere.
    Editor,
    /// The program is to stop until the shell continues it.
    Pause,
    /// What was folded is to be shown whole.
    Whole,
    /// The picture in the clipboard goes with what is typed.
    Picture,
}

/// What the composer offers and where it remembers.
#[derive(Debug, Clone)]
pub struct ComposerOptions {
    /// The file of earlier messages; none keeps them for this run only.
    pub history: Option<PathBuf>,
    /// Paths are completed from here.
    pub workspace: PathBuf,
    /// The commands.
    pub commands: Vec<Offered>,
    /// The colours, as they are now.
    pub skin: Arc<Mutex<Skin>>,
    /// Pastes of more lines than this are folded; 0 folds none.
    pub fold_pastes_above: usize,
    /// Whether the keys are those of vi, as things are now.
    pub is_vi: Arc<AtomicBool>,
    /// Where pictures from the clipboard are kept.
    pub pasted: PathBuf,
    /// The line above the one that is typed, as it is now.
    pub status: Arc<Mutex<String>>,
}

/// The composer.
#[derive(Debug)]
pub(crate) struct Composer {
    requests: blocking::Sender<String>,
    said: mpsc::UnboundedReceiver<Said>,
    notices: blocking::SyncSender<String>,
    stop: Arc<AtomicBool>,
    reading: bool,
    /// What the next line begins with.
    carried: String,
}

impl Composer {
    /// Begins its thread; nothing is shown before [`Composer::next`].
    pub(crate) fn start(options: ComposerOptions) -> Self {
        let (requests, waiting) = blocking::channel::<String>();
        let (sender, said) = mpsc::unbounded_channel();
        let stop = Arc::new(AtomicBool::new(false));
        let printer = ExternalPrinter::new(NOTICES_MAX);
        let notices = printer.sender();
        let signal = Arc::clone(&stop);
        std::thread::spawn(move || {
            let pastes = Pastes::new(options.pasted.clone(), options.fold_pastes_above);
            let mut line = editor(&options, signal, &pastes).with_external_printer(printer);
            let status = Some(Arc::clone(&options.status));
            let prompt = Prompt { skin: Arc::clone(&options.skin), status };
            while let Ok(carried) = waiting.recv() {
                if !carried.is_empty() {
                    let shown = pastes.folded(carried);
                    line.run_edit_commands(&[EditCommand::InsertString(shown)]);
                }
                if sender.send(read(&mut line, &prompt, &pastes)).is_err() {
                    return;
                }
            }
        });
        Self { requests, said, notices, stop, reading: false, carried: String::new() }
    }

    /// The next line begins with this text.
    pub(crate) fn carry(&mut self, text: &str) {
        self.carried.push_str(text);
    }

    /// The next message. Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Said {
        if !self.reading {
            if self.requests.send(std::mem::take(&mut self.carried)).is_err() {
                return Said::End;
            }
            self.reading = true;
        }
        let said = self.said.recv().await.unwrap_or(Said::End);
        self.reading = false;
        said
    }

    /// Takes the terminal back, if the composer has it. A message that was just sent comes back.
    pub(crate) async fn interrupt(&mut self) -> Said {
        if !self.reading {
            return Said::Broken(std::mem::take(&mut self.carried));
        }
        self.stop.store(true, Ordering::Release);
        let said = tokio::time::timeout(GIVES_BACK, self.next()).await;
        self.stop.store(false, Ordering::Release);
        said.unwrap_or_else(|_| {
            self.reading = false;
            Said::End
        })
    }

    /// Shows something above the line that is being typed.
    pub(crate) fn show(&self, text: String) {
        // More notices than anybody reads are not worth waiting for.
        self.notices.try_send(text).unwrap_or_default();
    }

    /// Whether the composer has the terminal.
    pub(crate) fn is_reading(&self) -> bool {
        self.reading
    }
}

fn editor(options: &ComposerOptions, stop: Arc<AtomicBool>, pastes: &Pastes) -> Reedline {
    let styled = options.skin.lock().is_styled();
    let sign = look::sign(styled);
    let menu = |menu: QuietMenu| ReedlineMenu::EngineCompleter(Box::new(menu));
    let keys = Keys::new(Arc::clone(&options.is_vi));
    let mode = Folding { keys, pastes: pastes.clone() };
    // The terminal's own colour is legible on whatever the person looks at.
    let mut plain = ExampleHighlighter::default();
    plain.change_colors(Color::Default, Color::Default, Color::Default);
    let completer = Complete::new(options.commands.clone(), options.workspace.clone());
    Reedline::create()
        .with_edit_mode(Box::new(mode))
        .with_completer(Box::new(completer))
        .with_highlighter(Box::new(plain))
        .with_menu(menu(QuietMenu::tab(sign)))
        .with_menu(menu(QuietMenu::typing(sign)))
        .with_transient_prompt(Box::new(Prompt { skin: Arc::clone(&options.skin), status: None }))
        .with_partial_completions(true)
        .with_quick_completions(true)
        .with_validator(Box::new(Continued))
        .with_history(Box::new(history(options.history.as_deref())))
        .with_ansi_colors(styled)
        .with_break_signal(stop)
        .use_bracketed_paste(true)
}

/// Without a file that can be used, messages are remembered for this run.
fn history(file: Option<&Path>) -> FileBackedHistory {
    file.filter(|file| private(file).is_ok())
        .and_then(|file| FileBackedHistory::with_file(HISTORY_MAX, file.to_owned()).ok())
        .unwrap_or_default()
}

/// Messages are nobody else's to read.
fn private(file: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
    if let Some(folder) = file.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let file = std::fs::File::options().create(true).append(true).mode(0o600).open(file)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o600))
}

fn read(line: &mut Reedline, prompt: &Prompt, pastes: &Pastes) -> Said {
    loop {
        match line.read_line(prompt) {
            Ok(Signal::Success(text)) => {
                // A history that cannot be written is no reason to lose the message.
                line.sync_history().unwrap_or_default();
                return Said::Line(pastes.unfold(text.replace("\\\n", "\n").trim()));
            }
            Ok(Signal::HostCommand(command)) if command == INTERRUPT => {
                if line.current_buffer_contents().is_empty() {
                    return Said::Interrupt;
                }
                line.run_edit_commands(&[EditCommand::Clear]);
            }
            Ok(Signal::HostCommand(command)) => {
                let text = pastes.unfold(line.current_buffer_contents());
                line.run_edit_commands(&[EditCommand::Clear]);
                let want = match command.as_str() {
                    EDIT => Want::Editor,
                    WHOLE => Want::Whole,
                    PASTE => Want::Picture,
                    _ => Want::Pause,
                };
                return Said::Wants(want, text);
            }
            Ok(Signal::CtrlC) => return Said::Interrupt,
            Ok(Signal::ExternalBreak(text)) => {
                line.run_edit_commands(&[EditCommand::Clear]);
                return Said::Broken(pastes.unfold(&text));
            }
            Ok(Signal::CtrlD) | Err(_) => return Said::End,
            Ok(_) => {}
        }
    }
}

/// A backslash at the end goes on in the next line.
struct Continued;

impl Validator for Continued {
    fn validate(&self, line: &str) -> ValidationResult {
        if line.ends_with('\\') { ValidationResult::Incomplete } else { ValidationResult::Complete }
    }
}
