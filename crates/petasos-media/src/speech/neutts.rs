//! NeuTTS: a voice in a Python package that sounds like a recording it is given. Its models are in
//! the cache of its own library, or it does not speak: nothing is downloaded.

use std::path::Path;

use petasos_contract::Settings;

use crate::speaking::{SpeechDef, Way};

/// Arguments: the text, where the speech goes, the model, the recording to sound like; its words
/// are in a `.txt` file beside it.
const SCRIPT: &str = "import os, sys
os.environ['HF_HUB_OFFLINE'] = '1'
from neutts import NeuTTS
import soundfile
_, text, output, model, voice = sys.argv
read = lambda path: open(path, encoding='utf-8').read().strip()
said = read(os.path.splitext(voice)[0] + '.txt')
speaker = NeuTTS(backbone_repo=model)
soundfile.write(output, speaker.infer(read(text), speaker.encode_reference(voice), said), 24000)
";
const MODEL: &str = "neuphonic/neutts-nano";

pub(super) static VOICE: SpeechDef = SpeechDef {
    id: "neutts",
    limit: 2_000,
    rank: None,
    cents: 0,
    way: Way::Program {
        name: "python3",
        proof: None,
        lacks,
        argv: |files, wish| {
            let (model, voice) = (wish.model_or(MODEL), wish.voice.clone().unwrap_or_default());
            ["-c", SCRIPT, files.text, files.output, &model, &voice].map(str::to_owned).to_vec()
        },
        ending: "wav",
    },
};

fn lacks(settings: &Settings) -> Option<String> {
    let voice = settings.text("tts.neutts.voice").unwrap_or_default();
    let voice = Path::new(voice);
    let is_there = voice.is_file() && voice.with_extension("txt").is_file();
    (!is_there).then(|| {
        "neutts needs tts.neutts.voice: a recording to sound like, with its words in a .txt beside"
            .to_owned()
    })
}
