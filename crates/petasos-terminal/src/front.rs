//! Programs of the person's own: the editor on the terminal of this program, and the clipboard.
//!
//! They are started as a shell of the person would start them: with their environment and their screen.
//! No agent has a say in it.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use petasos_contract::wait;

/// Programs that print the picture in the clipboard: of Wayland, of X, of a Mac.
const CLIPBOARDS: [(&str, &[&str]); 3] = [
    ("wl-paste", &["--no-newline", "--type", "image/png"]),
    ("xclip", &["-selection", "clipboard", "-target", "image/png", "-out"]),
    ("pngpaste", &["-"]),
];
/// Nobody waits longer for a clipboard.
const PATIENCE: Duration = Duration::from_secs(5);

/// The picture in the clipboard of the person.
#[expect(clippy::disallowed_methods, reason = "it asks the person's own desktop")]
pub async fn clipboard_picture() -> Result<Vec<u8>, String> {
    let mut asked = false;
    for (program, words) in CLIPBOARDS {
        let mut command = tokio::process::Command::new(program);
        command.args(words).stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let said = wait::until(Instant::now() + PATIENCE, "the clipboard", command.output()).await;
        let Ok(Ok(said)) = said else { continue };
        asked = true;
        if said.status.success() && !said.stdout.is_empty() {
            return Ok(said.stdout);
        }
    }
    Err(if asked {
        "the clipboard holds no picture; @FILE attaches one from a file".to_owned()
    } else {
        let names: Vec<&str> = CLIPBOARDS.iter().map(|(program, _)| *program).collect();
        let names = names.join(", ");
        format!(
            "pictures are pasted with one of {names}, and none is installed; @FILE attaches one"
        )
    })
}

/// Runs the person's editor on a file and waits until it is closed. The command may have words of
/// its own, such as `code --wait`.
#[expect(clippy::disallowed_methods, reason = "it takes over the person's own terminal")]
pub async fn edit(editor: &str, file: &Path, folder: &Path) -> Result<(), String> {
    let mut command = tokio::process::Command::new("/bin/sh");
    command.arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file).current_dir(folder);
    let status = command.status().await;
    let status = status.map_err(|error| format!("`{editor}` cannot be started: {error}"))?;
    if status.success() {
        return Ok(());
    }
    Err(format!("`{editor}` ended with {}", status.code().unwrap_or(-1)))
}
