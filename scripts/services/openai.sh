#!/usr/bin/env bash
# The official clients of OpenAI's interfaces, one that reads strictly, and the library of Standard
# Webhooks.
#
#   openai.sh start              installs the Python and Node packages; prints their paths
#   openai.sh stop|status|env    (nothing stays running)
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
PY_PACKAGES=(openai==3.51.0 standardwebhooks==1.0.0)
NPM_PACKAGES=(openai@7.55.0 ai@7.0.170 @ai-sdk/openai-compatible@3.0.90)

case "${1:-}" in
  start)
    NPM="$(npm_need openai "${NPM_PACKAGES[@]}")" || exit $?
    VENV="$(venv_need openai "${PY_PACKAGES[@]}")" || exit $?
    info openai "OPENAI_PYTHON=$VENV/bin/python" "OPENAI_NODE_MODULES=$NPM/node_modules" ;;
  stop) forget openai ;;
  status) if [ -n "$(show_info openai)" ]; then show_info openai; else echo stopped; exit 3; fi ;;
  env) show_info openai ;;
  *) usage "" ;;
esac
