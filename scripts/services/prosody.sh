#!/usr/bin/env bash
# XMPP server (prosody from Debian) on loopback: accounts bot and una, rooms that show addresses, an archive.
#
#   prosody.sh start       prints XMPP_ADDRESS, XMPP_DOMAIN, XMPP_BOT_PASSWORD, XMPP_UNA_PASSWORD
#   prosody.sh stop|status|env|purge
# PROSODY_PORT=15222
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
NAME=prosody
DIR="$STATE_ROOT/prosody"

start() {
  if running $NAME >/dev/null; then show_info $NAME; return; fi
  apt_need /usr/bin/prosody prosody
  local port me; port="$(pick_port "${PROSODY_PORT:-15222}")"; me="$(id -un)"
  mkdir -p "$DIR/data"
  cat >"$DIR/prosody.cfg.lua" <<C
pidfile = "$DIR/prosody.pid"
data_path = "$DIR/data"
run_as_root = true
prosody_user = "$me"
plugin_paths = {}
modules_enabled = { "roster", "saslauth", "disco", "ping", "mam", "presence", "message", "iq" }
authentication = "internal_hashed"
storage = "internal"
archive_expires_after = "1d"
default_archive_policy = true
c2s_require_encryption = false
allow_unencrypted_plain_auth = false
interfaces = { "127.0.0.1" }
c2s_ports = { $port }
c2s_direct_tls_ports = {}
s2s_ports = {}
http_ports = {}
https_ports = {}
log = { warn = "*console" }
VirtualHost "localhost"
Component "rooms.localhost" "muc"
  modules_enabled = {}
  muc_room_default_public_jids = true
  muc_room_locking = false
C
  for user in bot una; do
    printf '%s\n%s\n' "$user-password" "$user-password" |
      prosodyctl --config "$DIR/prosody.cfg.lua" adduser "$user@localhost" >/dev/null 2>&1 || true
  done
  spawn $NAME "$(command -v prosody)" --config "$DIR/prosody.cfg.lua" -F
  until_ok 30 $NAME tcp_open 127.0.0.1 "$port"
  info $NAME "XMPP_ADDRESS=127.0.0.1:$port" "XMPP_DOMAIN=localhost" "XMPP_BOT_PASSWORD=bot-password" "XMPP_UNA_PASSWORD=una-password"
}

case "${1:-}" in
  start) start ;;
  stop) halt $NAME TERM 5; forget $NAME ;;
  purge) halt $NAME TERM 5; forget $NAME; rm -rf "$DIR" ;;
  status) if running $NAME >/dev/null; then echo "running pid $(running $NAME)"; show_info $NAME; else echo stopped; exit 3; fi ;;
  env) show_info $NAME ;;
  *) usage purge ;;
esac
