[ -e "$1" ] || { (: <"$1"); exit 44; }
cd -- "$1" || exit 47
f=$(printf '\036%%f %%s %%n')
o=$(printf '\036o%%p %%z %%N')
n=0
show() { stat -c "$f" -- "$@" 2>/dev/null || stat -f "$o" "$@" 2>/dev/null; }
set --
for x in * .[!.]* ..?*; do
[ -e "$x" ] || [ -h "$x" ] || continue
set -- "$@" "./$x"; n=$((n+1))
[ $n -ge 200 ] && { show "$@"; set --; n=0; }
done
[ $n -gt 0 ] && show "$@"
exit 0
