d=$1 r=$2
eval "$__ps"
cd -- "$__pd" 2>/dev/null || { __pf "C$(cd -- "$__pd" 2>&1)" >&2; exit 126; }
__pu=$(umask); umask 077
{ mkdir -p "${d%/*}" && mkdir "$d" && mkfifo "$d/in" && : >"$d/log" && printf '%s\n' "$__pc" >"$d/cmd"; } 2>"/dev/null" || { __pf "S$(mkdir -p "$d" 2>&1; printf '%s\n' "$__pc" 2>&1 >"$d/cmd") cannot keep a job in $d" >&2; rm -rf "$d"; exit 126; }
umask "$__pu"
__pl=
command -v setsid >/dev/null 2>&1 && __pl=setsid
p=$(PETASOS_RUN=$r $__pl sh -c "$3" petasos "$d" "$4" </dev/null >/dev/null 2>&1 & echo $!) t=0
IFS= read -r x 2>/dev/null </proc/$p/stat && { x=${x##*) }; set -- $x; t=${20}; }
