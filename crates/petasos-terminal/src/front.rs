//! A program of the person's own on the terminal of this program: the editor.
//!
//! It is started as a shell of the person would start it: with their environment and their screen.
//! No agent has a say in it.

use std::path::Path;

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
