__pf() { printf '\036%s:%s\036%s.' "$__pn" "$1" "$__pn"; }
__pt=${BASH_VERSION:+-t 900}
IFS= read -r $__pt __pn || exit 125
__ps=
while :; do
IFS= read -r $__pt __pl || exit 125
__pt=
case $__pl in
"?$__pn") __pf R; continue ;;
".$__pn") break ;;
esac
__ps="$__ps$__pl
"
done
