//! KittenTTS: a small voice in a Python package. Its model is in the cache of its own library, or
//! it does not speak: nothing is downloaded.

use crate::speaking::{SpeechDef, Way};

/// Arguments: the text, where the speech goes, the model, the voice.
const SCRIPT: &str = "import os, sys
os.environ['HF_HUB_OFFLINE'] = '1'
from kittentts import KittenTTS
import soundfile
_, text, output, model, voice = sys.argv
words = open(text, encoding='utf-8').read()
soundfile.write(output, KittenTTS(model).generate(words, voice=voice), 24000)
";
const MODEL: &str = "KittenML/kitten-tts-nano-0.2";
const USUAL: &str = "expr-voice-5-m";

pub(super) static VOICE: SpeechDef = SpeechDef {
    id: "kittentts",
    limit: 2_000,
    rank: None,
    cents: 0,
    way: Way::Program {
        name: "python3",
        proof: None,
        lacks: |_| None,
        argv: |files, wish| {
            let (model, voice) = (wish.model_or(MODEL), wish.voice_or(USUAL));
            ["-c", SCRIPT, files.text, files.output, &model, &voice].map(str::to_owned).to_vec()
        },
        ending: "wav",
    },
};
