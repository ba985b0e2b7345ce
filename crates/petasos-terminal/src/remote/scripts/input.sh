case $__pi in
lifeline)
exec 7<&0 </dev/null
if [ "$BASH_VERSION" ]; then
{ trap '' TERM INT HUP; while read -r __pl; do :; done; PETASOS_RUN= exec sh -c "$1" petasos $$ "$__pr" 20; } <&7 >/dev/null 2>&1 7<&- 8>&- 9>&- &
__pw=$!; disown
else
__pw=$({ trap '' TERM INT HUP; while read -r __pl; do :; done; PETASOS_RUN= exec sh -c "$1" petasos $$ "$__pr" 20; } <&7 >/dev/null 2>&1 7<&- 8>&- 9>&- & echo $!)
fi
exec 7<&- ;;
nothing) exec </dev/null ;;
esac
