b=$(command -v bash) || b=$(command -v sh) || b=/bin/sh
[ -n "$HOME" ] || HOME=$(cd ~ 2>/dev/null && pwd)
h=${HOME:-/}
t=
for x in "${TMPDIR:-/tmp}" /tmp /var/tmp /dev/shm "$h"; do [ -d "$x" ] && [ -w "$x" ] && { t=$x; break; }; done
printf '%s\0%s\0%s\0%s\0%s\0%s\0' "petasos" "$b" "$h" "$t" "$(id -u 2>/dev/null)" "$(uname -sm 2>/dev/null)"
export -p
printf '\0'
case $b in */bash) "$b" -l -c 'export -p' 2>/dev/null </dev/null ;; *) sh -l -c 'export -p' 2>/dev/null </dev/null ;; esac
printf '\0'
