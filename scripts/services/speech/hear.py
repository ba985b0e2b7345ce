"""What is said in a WAV file, by Moonshine's smallest model, which its package carries.

    hear.py FILE.wav
"""

import os
import sys

from moonshine_voice.moonshine_api import ModelArch
from moonshine_voice.transcriber import Transcriber
from moonshine_voice.utils import get_assets_path, load_wav_file

model = Transcriber(model_path=os.path.join(get_assets_path(), "tiny-en"), model_arch=ModelArch.TINY)
samples, rate = load_wav_file(sys.argv[1])
print(" ".join(line.text for line in model.transcribe_without_streaming(samples, rate).lines))
