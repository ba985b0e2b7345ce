#!/usr/bin/env bash
# MQTT broker (mosquitto from Debian) on loopback; anybody may connect.
#
#   mosquitto.sh start    prints MQTT_ADDRESS
#   mosquitto.sh stop|status|env
# MOSQUITTO_PORT=11883
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
NAME=mosquitto
DIR="$STATE_ROOT/mosquitto"

start() {
  if running $NAME >/dev/null; then show_info $NAME; return; fi
  apt_need /usr/sbin/mosquitto mosquitto
  local port; port="$(pick_port "${MOSQUITTO_PORT:-11883}")"
  mkdir -p "$DIR"
  cat >"$DIR/mosquitto.conf" <<C
listener $port 127.0.0.1
allow_anonymous true
persistence false
user $(id -un)
C
  spawn $NAME "$(command -v mosquitto || echo /usr/sbin/mosquitto)" -c "$DIR/mosquitto.conf"
  until_ok 20 $NAME tcp_open 127.0.0.1 "$port"
  info $NAME "MQTT_ADDRESS=127.0.0.1:$port"
}

case "${1:-}" in
  start) start ;;
  stop) halt $NAME TERM 5; forget $NAME ;;
  status) if running $NAME >/dev/null; then echo "running pid $(running $NAME)"; show_info $NAME; else echo stopped; exit 3; fi ;;
  env) show_info $NAME ;;
  *) usage ;;
esac
