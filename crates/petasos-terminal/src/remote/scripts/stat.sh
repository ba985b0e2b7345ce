[ -e "$1" ] || { [ -h "$1" ] && { echo "a link that leads nowhere" >&2; exit 44; }; (: <"$1"); exit 44; }
s=$(stat -L -c '%f %s %.9Y' -- "$1" 2>/dev/null) || s=$(stat -L -c '%f %s %Y' "$1" 2>/dev/null) || s=$(stat -L -f 'o%p %z %Fm' "$1") || exit 47
r=$(readlink -f "$1" 2>/dev/null) || r=$1
printf '%s\0%s\0' "$s" "$r"
