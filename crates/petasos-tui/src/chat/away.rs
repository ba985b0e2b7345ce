//! The terminal is somebody else's for a while: the person's editor, or the shell that started us.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::process::{Signal, getpid, kill_current_process_group};

use super::Chat;
use crate::composer::Want;
use crate::raw::Raw;

impl Chat {
    /// Something that a key in the middle of a message asks for.
    pub(super) async fn wanted(&mut self, want: Want, text: String) {
        match want {
            Want::Editor => return self.edit(text).await,
            Want::Pause => {
                self.screen.below();
                self.suspend();
            }
            Want::Whole => {
                self.screen.below();
                self.unfold();
            }
            Want::Picture => {
                let clipboard = Arc::clone(&self.clipboard);
                let pasted = clipboard().await;
                self.screen.below();
                self.draft.put(&text);
                return match pasted {
                    Ok(file) => self.draft.put(&format!("@{} ", file.display())),
                    Err(why) => self.complain(&why),
                };
            }
        }
        self.draft.put(&text);
    }

    /// Shows whole what was folded since the last message.
    pub(super) fn unfold(&mut self) {
        let lines = self.view.unfolded();
        if lines.is_empty() {
            self.note("Nothing was folded since your last message.");
        } else {
            self.put(lines);
        }
    }

    /// What is typed goes to the person's editor and comes back.
    pub(super) async fn edit(&mut self, text: String) {
        self.screen.below();
        let Some(editor) = self.editor.clone() else {
            self.draft.put(&text);
            return self.complain("no editor is known: set VISUAL or EDITOR");
        };
        let file = self.settings.home().join(format!("message-{}.md", getpid().as_raw_nonzero()));
        let edited = if let Err(error) = write(&file, &text) {
            Err(error.to_string())
        } else {
            self.raw.iter().for_each(Raw::lend);
            let edited = editor(file.clone()).await;
            self.raw.iter().for_each(Raw::take_back);
            edited.and_then(|()| read(&file).map_err(|error| error.to_string()))
        };
        remove(&file);
        match edited {
            Ok(edited) => self.draft.put(edited.trim_end()),
            Err(why) => {
                self.draft.put(&text);
                self.complain(&format!("the editor was of no use: {why}"));
            }
        }
    }

    /// Stops until the shell continues us. Where no shell could, the system ignores it.
    pub(super) fn suspend(&mut self) {
        self.screen.bracketed(false);
        self.raw.iter().for_each(Raw::lend);
        if let Err(error) = kill_current_process_group(Signal::TSTP) {
            self.complain(&format!("cannot stop: {error}"));
        }
        self.raw.iter().for_each(Raw::take_back);
    }
}

/// Nobody else's to read.
fn write(file: &PathBuf, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::File::options();
    let mut open = options.write(true).create(true).truncate(true).mode(0o600).open(file)?;
    open.write_all(text.as_bytes())
}

fn read(file: &Path) -> std::io::Result<String> {
    std::fs::read_to_string(file)
}

/// One that an editor has removed itself is gone all the same.
fn remove(file: &Path) {
    std::fs::remove_file(file).unwrap_or_default();
}
