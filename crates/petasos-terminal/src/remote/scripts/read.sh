[ -e "$1" ] || { [ -h "$1" ] && { echo "a link that leads nowhere" >&2; exit 44; }; (: <"$1"); exit 44; }
[ -d "$1" ] && { echo "is a directory" >&2; exit 45; }
[ -f "$1" ] || { echo "a device or pipe, which may have no end" >&2; exit 46; }
(: <"$1") || exit 47
if [ "$2" = 0 ]; then exec head -c "$3" <"$1"; fi
tail -c "+$(($2+1))" <"$1" | head -c "$3"
