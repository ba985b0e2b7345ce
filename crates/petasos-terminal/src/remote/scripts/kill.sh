p=$1 r=$2 g=$3
left() {
k=
if [ -r /proc/self/environ ]; then
for f in $(grep -lszF "PETASOS_RUN=$r" /proc/[0-9]*/environ 2>/dev/null); do f=${f%/environ}; k="$k ${f##*/}"; done
case "$k " in *" $p "*) k="$k -$p" ;; esac
else kill -0 "-$p" 2>/dev/null && k="-$p"; fi
[ "$k" ]
}
send() { for q in $k; do kill "-$1" "$q" 2>/dev/null; done; }
nap() { sleep 0.05 2>/dev/null || sleep 1; }
left || exit 0
[ "$g" = look ] && { echo $k; exit 1; }
if [ "$g" -gt 0 ]; then
send TERM; send CONT
while [ "$g" -gt 0 ]; do nap; left || exit 0; g=$((g-1)); done
fi
n=0
while [ $n -lt 60 ]; do send STOP; left && send KILL; nap; left || exit 0; n=$((n+1)); done
exit 1
