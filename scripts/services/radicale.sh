#!/usr/bin/env bash
# Radicale on loopback: CalDAV and CardDAV, one user with an empty home.
#
#   radicale.sh start    prints DAV_URL DAV_USER DAV_PASSWORD
#   radicale.sh stop|status|env|purge
# RADICALE_PORT=15232
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
NAME=radicale
DIR="$STATE_ROOT/radicale"

start() {
  if running $NAME >/dev/null; then show_info $NAME; return; fi
  local venv port; venv="$(venv_need radicale radicale)" || exit $?
  port="$(pick_port "${RADICALE_PORT:-15232}")"
  mkdir -p "$DIR"
  echo "ada:ada-password" >"$DIR/users"
  cat >"$DIR/config" <<C
[server]
hosts = 127.0.0.1:$port
[auth]
type = htpasswd
htpasswd_filename = $DIR/users
htpasswd_encryption = plain
delay = 0
[storage]
filesystem_folder = $DIR/collections
[logging]
level = warning
C
  spawn $NAME "$venv/bin/python" -m radicale --config "$DIR/config"
  until_ok 60 $NAME tcp_open 127.0.0.1 "$port"
  info $NAME "DAV_URL=http://127.0.0.1:$port/" "DAV_USER=ada" "DAV_PASSWORD=ada-password"
}

case "${1:-}" in
  start) start ;;
  stop) halt $NAME TERM 10; forget $NAME ;;
  purge) halt $NAME TERM 10; forget $NAME; rm -rf "$DIR" ;;
  status) if running $NAME >/dev/null; then echo "running pid $(running $NAME)"; show_info $NAME; else echo stopped; exit 3; fi ;;
  env) show_info $NAME ;;
  *) usage purge ;;
esac
