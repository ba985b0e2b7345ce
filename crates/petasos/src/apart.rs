//! What this program does in further processes of itself.

use std::sync::Arc;

use petasos_contract::processes::Processes;
use petasos_web::{Apart, Sources};

/// The command that reads a PDF from its input.
pub(crate) const READ_PDF: &str = "read-pdf";

/// What is known of pages, and who reads files that others made.
pub(crate) fn sources(processes: Option<Arc<dyn Processes>>) -> Arc<Sources> {
    let program = std::env::current_exe().ok();
    let program = program.and_then(|path| path.into_os_string().into_string().ok());
    let sources = program.zip(processes).map(|(program, processes)| {
        Sources::reading(Apart::new(vec![program, READ_PDF.to_owned()], processes))
    });
    Arc::new(sources.unwrap_or_default())
}
