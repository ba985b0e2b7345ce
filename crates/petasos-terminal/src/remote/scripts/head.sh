IFS= read -r __pn || exit 125
__ps=
while :; do
IFS= read -r __pl || exit 125
[ "$__pl" = ".$__pn" ] && break
__ps="$__ps$__pl
"
done
