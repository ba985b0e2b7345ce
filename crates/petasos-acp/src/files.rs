//! The client's file system: texts as the person sees them, saved or not.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol_schema::v1::{
    ErrorCode, FileSystemCapabilities, ReadTextFileRequest, ReadTextFileResponse, SessionId,
    WriteTextFileRequest, WriteTextFileResponse,
};
use petasos_contract::environment::EnvError;
use petasos_contract::path::TargetPath;

use crate::rpc::{Peer, PeerError};

/// How long a client may take for a file.
const PATIENCE: Duration = Duration::from_secs(10);

/// Files of a client, for one session.
#[derive(Debug)]
pub(crate) struct ClientFiles {
    peer: Arc<Peer>,
    session: SessionId,
    offers: FileSystemCapabilities,
}

impl ClientFiles {
    /// For one session; nothing where the client offers neither reading nor writing.
    pub(crate) fn new(
        peer: &Arc<Peer>,
        session: &str,
        offers: FileSystemCapabilities,
    ) -> Option<Arc<Self>> {
        let useful = offers.read_text_file || offers.write_text_file;
        let session = SessionId::new(session);
        useful.then(|| Arc::new(Self { peer: Arc::clone(peer), session, offers }))
    }

    /// The text of a file.
    pub(crate) async fn read(&self, path: &Path) -> Result<String, EnvError> {
        if !self.offers.read_text_file {
            return Err(missing(path));
        }
        let request = ReadTextFileRequest::new(self.session.clone(), path);
        let read = self.peer.request("fs/read_text_file", &request, PATIENCE).await;
        let read: ReadTextFileResponse = read.map_err(|error| failed(path, &error))?;
        Ok(read.content)
    }

    /// Replaces the text of a file. A client that only reads leaves that to the disk.
    pub(crate) async fn write(&self, path: &Path, text: &str) -> Result<(), EnvError> {
        if !self.offers.write_text_file {
            return Err(EnvError::Unsupported { backend: "editor's", what: "write files" });
        }
        let request = WriteTextFileRequest::new(self.session.clone(), path, text);
        let written = self.peer.request("fs/write_text_file", &request, PATIENCE).await;
        written.map(|_: WriteTextFileResponse| ()).map_err(|error| failed(path, &error))
    }
}

fn missing(path: &Path) -> EnvError {
    let (path, why) = (TargetPath::new(path), "the editor does not have it".to_owned());
    EnvError::File { path, why, missing: true }
}

fn failed(path: &Path, error: &PeerError) -> EnvError {
    if let PeerError::Refused(refused) = error
        && refused.code == ErrorCode::ResourceNotFound
    {
        return missing(path);
    }
    let why = format!("the editor failed: {error}");
    EnvError::File { path: TargetPath::new(path), why, missing: false }
}
