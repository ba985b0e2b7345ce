#!/usr/bin/env bash
# Speech on this machine: Moonshine, a recogniser whose package carries its model, and the real
# Piper with a voice that is cut from espeak-ng's (speech/voice.py says why).
#
#   speech.sh start              installs the Python packages; prints what runs them
#   speech.sh stop|status|env    (nothing stays running)
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
PY_PACKAGES=(moonshine-voice==0.0.49 piper-tts==1.8.0 onnx==1.23.2)

case "${1:-}" in
  start)
    VENV="$(venv_need speech "${PY_PACKAGES[@]}")" || exit $?
    VOICE="$CACHE_ROOT/venv-speech/stand-in.onnx"
    if ! [ "$VOICE.json" -nt "$HERE/speech/voice.py" ] || ! [ "$VOICE.json" -nt "$HERE/speech/words.txt" ]; then
      "$VENV/bin/python" "$HERE/speech/voice.py" "$VOICE" >&2 || unavailable "the voice could not be made"
    fi
    info speech "SPEECH_PYTHON=$VENV/bin/python" "SPEECH_HEAR=$HERE/speech/hear.py" \
      "SPEECH_PIPER=$VENV/bin/piper" "SPEECH_VOICE=$VOICE" ;;
  stop) forget speech ;;
  status) if [ -n "$(show_info speech)" ]; then show_info speech; else echo stopped; exit 3; fi ;;
  env) show_info speech ;;
  *) usage "" ;;
esac
