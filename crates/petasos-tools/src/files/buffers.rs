//! Files that an editor holds: read and written through it, so that unsaved words are seen and kept.

use std::path::Path;

use petasos_contract::CallContext;
use petasos_contract::environment::EnvError;
use petasos_contract::event::Event;
use petasos_contract::ports::Buffers;
use tokio::runtime::Handle;

use super::site::there;
use super::write::{self, Change, Done, WriteFault};

/// The text that the person sees; nothing when the editor does not have the file.
pub(super) fn read(held: &dyn Buffers, real: &Path, cx: &CallContext) -> Option<String> {
    let reading = held.read(real, cx);
    match there::wait(&Handle::current(), cx, "the editor", reading) {
        Ok(text) => Some(text),
        Err(EnvError::File { missing: true, .. }) => None,
        Err(error) => {
            let text = format!(
                "the editor could not give `{}`, which was read from the disk: {error}",
                real.display()
            );
            cx.events.emit(|| Event::Notice { text });
            None
        }
    }
}

/// Writes, changes and removes files. What an editor holds is written by it, last: whatever fails
/// before leaves its texts alone.
pub(super) fn commit(
    changes: &[Change<'_>],
    buffers: Option<&dyn Buffers>,
    cx: &CallContext,
) -> Result<Done, WriteFault> {
    let Some(buffers) = buffers else { return write::commit(changes) };
    let text = |change: &Change<'_>| {
        let after = change.after.as_deref()?;
        let held = buffers.holds(&change.real, cx);
        std::str::from_utf8(after).ok().filter(|_| held).map(str::to_owned)
    };
    let (mut held, mut plain) = (Vec::new(), Vec::new());
    for change in changes {
        match text(change) {
            Some(text) => held.push((change, text)),
            None => plain.push(change.clone()),
        }
    }
    if held.is_empty() {
        return write::commit(changes);
    }
    let mut done = if plain.is_empty() { Done::default() } else { write::commit(&plain)? };
    let mut left = Vec::new();
    for (change, text) in held {
        let writing = buffers.write(&change.real, &text, cx);
        match there::wait(&Handle::current(), cx, "the editor", writing) {
            // An editor that only shows its texts reads them again from the disk.
            Err(EnvError::Unsupported { .. }) => left.push(change.clone()),
            written => written.map_err(WriteFault::Environment)?,
        }
    }
    if !left.is_empty() {
        let more = write::commit(&left)?;
        done.dirs_created |= more.dirs_created;
        done.notes.extend(more.notes);
    }
    Ok(done)
}
