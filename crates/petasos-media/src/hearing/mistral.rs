//! Mistral: `POST /audio/transcriptions` with the file in a form.

use crate::transcribing::{HearingDef, Listens, text_field};
use crate::vendor::{KeyHeader, Vendor};

pub(super) static HEARING: HearingDef = HearingDef {
    id: "mistral",
    rank: 4,
    way: Listens::Cloud {
        vendor: Vendor {
            id: "mistral",
            keys: &["MISTRAL_API_KEY"],
            base: "https://api.mistral.ai/v1",
            header: KeyHeader::Bearer,
        },
        outgoing: |upload, heed| heed.openai(upload, "voxtral-mini-latest"),
        text: text_field,
    },
};
