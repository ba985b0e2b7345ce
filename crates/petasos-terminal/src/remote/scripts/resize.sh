for f in 0 1 2; do stty rows "$2" cols "$3" <"/proc/$1/fd/$f" && exit 0; done 2>/dev/null
exit 1
