__pf() { printf '\036%s:%s\036%s.' "$__pn" "$1" "$__pn"; }
IFS= read -r __pn || exit 125
d=$1 r=$2 p=$3 t=$4
