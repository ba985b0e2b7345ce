p=$1
case $p in */*) [ -d "${p%/*}/" ] || mkdir -p "${p%/*}/" || exit 47 ;; esac
case $2 in
append)
t=$p.petasos-$4; umask 077
cat >"$t" && [ "$(wc -c <"$t")" -eq "$3" ] || { rm -f "$t"; echo "the content did not arrive whole" >&2; exit 48; }
umask 022; cat "$t" >>"$p"; c=$?; rm -f "$t"; exit $c ;;
create)
[ -e "$p" ] || [ -h "$p" ] && { echo "it exists already" >&2; exit 49; } ;;
esac
if [ -h "$p" ]; then r=$(readlink -f "$p") && [ -n "$r" ] && p=$r; fi
[ -d "$p" ] && { echo "is a directory" >&2; exit 45; }
case $p in */*) t=${p%/*}/.petasos-$4 ;; *) t=.petasos-$4 ;; esac
m=; u=
if [ -e "$p" ]; then
m=$(stat -c %a "$p" 2>/dev/null || stat -f %Lp "$p" 2>/dev/null)
u=$(stat -c %u:%g "$p" 2>/dev/null || stat -f %u:%g "$p" 2>/dev/null)
fi
umask 077
cat >"$t" || { rm -f "$t"; exit 47; }
[ "$(wc -c <"$t")" -eq "$3" ] || { rm -f "$t"; echo "the content did not arrive whole" >&2; exit 48; }
[ "$u" ] && [ "$(id -u)" = 0 ] && chown "$u" "$t" 2>/dev/null
chmod "${m:-644}" "$t" || { rm -f "$t"; exit 47; }
if [ "$2" = create ]; then ln "$t" "$p" 2>/dev/null; c=$?; rm -f "$t"; [ $c = 0 ] || { echo "it exists already" >&2; exit 49; }; exit 0; fi
mv -f "$t" "$p" || { rm -f "$t"; exit 47; }
