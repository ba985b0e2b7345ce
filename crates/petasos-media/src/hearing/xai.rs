//! xAI: `POST /v1/stt` with the file in a form; the text comes back.

use crate::transcribing::{HearingDef, Listens, text_field};
use crate::vendor::{Body, KeyHeader, Outgoing, Vendor};

pub(super) static HEARING: HearingDef = HearingDef {
    id: "xai",
    rank: 4,
    way: Listens::Cloud {
        vendor: Vendor {
            id: "xai",
            keys: &["XAI_API_KEY"],
            base: "https://api.x.ai/v1",
            header: KeyHeader::Bearer,
        },
        outgoing: |upload, heed| {
            let language = heed.language.clone().map(|language| ("language", language));
            let body = Body::Form(language.into_iter().collect(), vec![upload]);
            Outgoing { path: "/stt".to_owned(), body }
        },
        text: text_field,
    },
};
