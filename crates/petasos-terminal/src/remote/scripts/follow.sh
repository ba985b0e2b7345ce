alive() {
[ -r /proc/self/stat ] || { kill -0 "$p" 2>/dev/null; return; }
x=; IFS= read -r x 2>/dev/null </proc/$p/stat || return 1
x=${x##*) }; set -- $x; [ "${20}" = "$t" ] && [ "$1" != Z ]
}
[ -d "$d" ] || { __pf G >&2; exit 0; }
__pf "B$p $t"; __pf "B$p $t" >&2
w= o=0 z=1
#lifeline
while :; do
e=; alive || e=1; [ -e "$d/exit" ] && e=1
s=$(wc -c <"$d/log") || break
s=$((s))
if [ $s -gt $o ]; then tail -c "+$((o+1))" "$d/log" | head -c $((s-o)); o=$s z=1
elif [ "$e" ]; then break
else [ $z -lt 5 ] && z=$((z+1)); fi
sleep 0.$z 2>/dev/null || sleep 1
done
c=137; [ -e "$d/exit" ] && IFS= read -r c <"$d/exit"
set -- $(grep -lszF "PETASOS_RUN=$r" /proc/[0-9]*/environ 2>/dev/null)
[ "$w" ] && kill $w
rm -rf "$d"
__pf O
__pf "E$c $#
" >&2
exit 0
