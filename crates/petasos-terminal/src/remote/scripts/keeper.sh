d=$1
exec 7<>"$d/in"
trap : TERM INT HUP QUIT
trap 'exec 7>&-' USR1
"$2" -c '. "$1"' petasos "$d/cmd" <"$d/in" >>"$d/log" 2>&1 7>&- &
c=$!
while :; do wait $c; e=$?; kill -0 $c 2>/dev/null || break; done
echo $e >"$d/exit.new"
mv "$d/exit.new" "$d/exit"
