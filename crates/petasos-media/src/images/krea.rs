//! Krea: `POST /generate/image/<model>` gives a job; `GET /jobs/<id>` until it is completed. A
//! picture to work from is an address: it is handed in first, by `POST /assets`.

use serde_json::json;

use crate::course::{Course, Made, Nothing, Queue, State, Ticket};
use crate::creating::{Aspect, Draw, ImageDef, ImageModel, Stage};
use crate::picture::Picture;
use crate::vendor::{Answer, Body, KeyHeader, Outgoing, Upload, Vendor};

pub(super) static PAINTER: ImageDef = ImageDef {
    vendor: Vendor {
        id: "krea",
        keys: &["KREA_API_KEY"],
        base: "https://api.krea.ai",
        header: KeyHeader::Bearer,
    },
    login: None,
    stage: Some(Stage { outgoing: handed_in, address }),
    variable: None,
    models: &[
        ImageModel { id: "bfl/flux-1-dev", sources: 0, cents: 3 },
        ImageModel { id: "bfl/flux-1-kontext-dev", sources: 1, cents: 4 },
        ImageModel { id: "google/nano-banana", sources: 3, cents: 8 },
    ],
    outgoing,
    course: Course::Queued(Queue {
        ticket,
        look: |ticket| ticket.get(""),
        state,
        collect: None,
        made,
        cancel: Some(|ticket| Outgoing { path: ticket.path.clone(), body: Body::Delete }),
    }),
};

fn outgoing(draw: &Draw) -> Outgoing {
    let (width, height) = match draw.aspect {
        Aspect::Landscape => (1344, 768),
        Aspect::Square => (1024, 1024),
        Aspect::Portrait => (768, 1344),
    };
    let mut body = json!({ "prompt": draw.prompt, "width": width, "height": height });
    // Models of one maker take one picture, the others a list.
    if draw.model.starts_with("bfl/") {
        if let Some(first) = draw.addresses.first() {
            body["image_url"] = first.as_str().into();
        }
    } else if !draw.addresses.is_empty() {
        body["image_urls"] = draw.addresses.clone().into();
    }
    Outgoing { path: format!("/generate/image/{}", draw.model), body: Body::Json(body) }
}

fn handed_in(picture: &Picture) -> Outgoing {
    let ending = picture.mime.rsplit('/').next().unwrap_or("png");
    let upload = Upload {
        field: "file",
        name: format!("picture.{ending}"),
        mime: picture.mime.to_owned(),
        bytes: picture.bytes.clone(),
    };
    Outgoing { path: "/assets".to_owned(), body: Body::Form(Vec::new(), vec![upload]) }
}

fn address(answer: &Answer) -> Result<String, String> {
    let body = answer.json()?;
    body["image_url"].as_str().map(str::to_owned).ok_or_else(|| "it has no `image_url`".to_owned())
}

fn ticket(answer: &Answer, _: &str) -> Result<Ticket, String> {
    let body = answer.json()?;
    let id = body["job_id"].as_str().ok_or("it has no `job_id`")?;
    Ok(Ticket { id: id.to_owned(), path: format!("/jobs/{id}") })
}

fn state(answer: &Answer) -> Result<State, Nothing> {
    let body = answer.json().map_err(Nothing::unusable)?;
    match body["status"].as_str() {
        Some("completed") => Ok(State::Ended),
        Some(how @ ("failed" | "cancelled")) => {
            let why = body["result"]["error"].as_str().or_else(|| body["error"].as_str());
            Err(Nothing::Failed(why.unwrap_or(how).to_owned()))
        }
        Some(_) => Ok(State::Waits),
        None => Err(Nothing::unusable("it has no `status`")),
    }
}

fn made(answer: &Answer) -> Result<Made, Nothing> {
    let body = answer.json().map_err(Nothing::unusable)?;
    let url = body["result"]["urls"][0].as_str();
    Made::at(url.ok_or_else(|| Nothing::unusable("`result.urls` is empty"))?)
}
