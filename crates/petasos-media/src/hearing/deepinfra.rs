//! DeepInfra: `POST /audio/transcriptions` with the file in a form.

use crate::transcribing::{HearingDef, Listens, text_field};
use crate::vendor::{KeyHeader, Vendor};

pub(super) static HEARING: HearingDef = HearingDef {
    id: "deepinfra",
    rank: 6,
    way: Listens::Cloud {
        vendor: Vendor {
            id: "deepinfra",
            keys: &["DEEPINFRA_API_KEY"],
            base: "https://api.deepinfra.com/v1/openai",
            header: KeyHeader::Bearer,
        },
        outgoing: |upload, heed| heed.openai(upload, "openai/whisper-large-v3-turbo"),
        text: text_field,
    },
};
