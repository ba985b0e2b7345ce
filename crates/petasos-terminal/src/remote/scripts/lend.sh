# Puts files there, says so, and takes them back when nobody holds its input any more: also when
# whoever lends them is killed. `$1` the folder below the home, `$2` a mark of this loan.
umask 077
cd "$HOME" && mkdir -p "$1/.lent" && cd "$1" || exit 1
back() {
  [ -f ".lent/list@$1" ] || return 0
  while IFS= read -r name; do
    key=$(printf %s "$name" | tr / %)
    rm -f ".lent/file@$key@$1"
    # Somebody else may still use it.
    for other in ".lent/file@$key@"*; do
      [ -e "$other" ] && continue 2
    done
    rm -f "./$name"
    case $name in */*) rmdir -p "${name%/*}" 2>/dev/null ;; esac
  done <".lent/list@$1"
  rm -f ".lent/list@$1" ".lent/new@$1" ".lent/pid@$1"
}
# Loans whose shell was killed here.
for pid in .lent/pid@*; do
  [ -f "$pid" ] || continue
  IFS= read -r number <"$pid"
  kill -0 "$number" 2>/dev/null || back "${pid#.lent/pid@}"
done
mark=$2
printf '%s\n' "$$" >".lent/pid@$mark" && : >".lent/list@$mark" || exit 1
trap 'back "$mark"' EXIT
trap 'exit 1' HUP INT TERM
while IFS= read -r name && [ "$name" ] && IFS= read -r text; do
  part=.
  rest=$name
  while [ "$rest" ]; do
    head=${rest%%/*}
    case $rest in */*) rest=${rest#*/} ;; *) rest= ;; esac
    part=$part/$head
    [ -L "$part" ] && { echo "$name: a link is in the way" >&2; exit 1; }
  done
  key=$(printf %s "$name" | tr / %)
  : >".lent/file@$key@$mark" && printf '%s\n' "$name" >>".lent/list@$mark" || exit 1
  case $name in */*) mkdir -p "./${name%/*}" || exit 1 ;; esac
  printf '%b' "$text" >".lent/new@$mark" && mv -f ".lent/new@$mark" "./$name" || exit 1
done
echo lent
while IFS= read -r _; do :; done
