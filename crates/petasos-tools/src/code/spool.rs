//! Carries a script's calls as files, for places that share no socket with this machine.
//!
//! The script writes a request under another name and renames it; the answer comes back the same
//! way. Requests are looked for often while the script is busy calling and seldom otherwise.

use std::collections::HashSet;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use petasos_contract::environment::{EnvError, Environment, WriteMode};
use petasos_contract::path::TargetPath;

use super::gate::Gate;

const REQUEST_BYTES_MAX: u64 = 64 << 20;
const LOOK_FIRST: Duration = Duration::from_millis(20);
const LOOK_LATER: Duration = Duration::from_millis(500);

/// Serves until it is dropped; ends only when the place is lost.
pub(super) async fn serve(
    environment: &dyn Environment,
    folder: &TargetPath,
    gate: &Gate,
) -> EnvError {
    let mut known: HashSet<String> = HashSet::new();
    let mut open = FuturesUnordered::new();
    let mut pause = LOOK_FIRST;
    loop {
        let listed = match environment.files().list(folder).await {
            Ok(listed) => listed,
            Err(error) => return error,
        };
        let requests = listed.into_iter().map(|entry| entry.name).filter(|name| is_request(name));
        let fresh: Vec<String> = requests.filter(|name| !known.contains(name)).collect();
        pause = if fresh.is_empty() { (pause * 2).min(LOOK_LATER) } else { LOOK_FIRST };
        for name in fresh {
            known.insert(name.clone());
            open.push(exchange(environment, folder, name, gate));
        }
        tokio::select! {
            Some(done) = open.next() => {
                if let Err(error) = done {
                    return error;
                }
                pause = LOOK_FIRST;
            }
            () = tokio::time::sleep(pause) => {}
        }
    }
}

fn is_request(name: &str) -> bool {
    name.starts_with("request-")
}

async fn exchange(
    environment: &dyn Environment,
    folder: &TargetPath,
    name: String,
    gate: &Gate,
) -> Result<(), EnvError> {
    let files = environment.files();
    let path = folder.join(&name);
    let request = files.read(&path, 0, REQUEST_BYTES_MAX).await?;
    let answer = gate.answer(&request).await;
    let reply = folder.join(name.replacen("request-", "answer-", 1));
    files.write(&reply, answer.as_bytes(), WriteMode::Replace).await?;
    files.remove(&path).await
}
