//! FAL's queue, which its pictures and films share. Status, result and cancel are asked at paths
//! that we make ourselves: an address in an answer never gets the key.

use crate::course::{Nothing, Queue, Read, State, Ticket};
use crate::vendor::{Answer, Body, KeyHeader, Outgoing, Vendor};

/// Who.
pub(crate) const FAL: Vendor =
    Vendor { id: "fal", keys: &["FAL_KEY"], base: "https://queue.fal.run", header: KeyHeader::Key };

/// The queue with its way to read a result.
pub(crate) const fn queue(made: Read) -> Queue {
    Queue {
        ticket,
        look: |ticket| ticket.get("/status"),
        state,
        collect: Some(|ticket| ticket.get("")),
        made,
        cancel: Some(|ticket| Outgoing {
            path: format!("{}/cancel", ticket.path),
            body: Body::Put,
        }),
    }
}

/// Jobs are kept below the first two names of a model's path.
fn ticket(answer: &Answer, path: &str) -> Result<Ticket, String> {
    let body = answer.json()?;
    let id = body["request_id"].as_str().ok_or("it has no `request_id`")?;
    let app: Vec<&str> = path.trim_start_matches('/').splitn(3, '/').take(2).collect();
    Ok(Ticket { id: id.to_owned(), path: format!("/{}/requests/{id}", app.join("/")) })
}

fn state(answer: &Answer) -> Result<State, Nothing> {
    let body = answer.json().map_err(Nothing::unusable)?;
    match body["status"].as_str() {
        Some("COMPLETED") => match body["error"].as_str() {
            Some(why) => Err(Nothing::Failed(why.to_owned())),
            None => Ok(State::Ended),
        },
        Some("IN_QUEUE" | "IN_PROGRESS") => Ok(State::Waits),
        other => Err(Nothing::unusable(format!("the status {}", other.unwrap_or("is missing")))),
    }
}
