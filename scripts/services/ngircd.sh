#!/usr/bin/env bash
# IRC server (ngircd from Debian) on loopback, without TLS and without services.
#
#   ngircd.sh start       prints IRC_ADDRESS
#   ngircd.sh stop|status|env
# NGIRCD_PORT=16667
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
NAME=ngircd
DIR="$STATE_ROOT/ngircd"

start() {
  if running $NAME >/dev/null; then show_info $NAME; return; fi
  apt_need /usr/sbin/ngircd ngircd
  local port; port="$(pick_port "${NGIRCD_PORT:-16667}")"
  mkdir -p "$DIR"
  cat >"$DIR/ngircd.conf" <<C
[Global]
  Name = irc.localhost
  Info = test
  Listen = 127.0.0.1
  Ports = $port
  ServerUID = $(id -un)
  ServerGID = $(id -gn)
[Limits]
  MaxConnections = 200
  MaxConnectionsIP = 0
[Options]
  DNS = no
  Ident = no
  PAM = no
C
  spawn $NAME "$(command -v ngircd || echo /usr/sbin/ngircd)" -n -f "$DIR/ngircd.conf"
  until_ok 20 $NAME tcp_open 127.0.0.1 "$port"
  info $NAME "IRC_ADDRESS=127.0.0.1:$port"
}

case "${1:-}" in
  start) start ;;
  stop) halt $NAME TERM 5; forget $NAME ;;
  status) if running $NAME >/dev/null; then echo "running pid $(running $NAME)"; show_info $NAME; else echo stopped; exit 3; fi ;;
  env) show_info $NAME ;;
  *) usage ;;
esac
