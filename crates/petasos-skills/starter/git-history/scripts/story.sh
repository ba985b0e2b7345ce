#!/bin/sh
# The history of a path in a few lines.
set -eu
path=${1:?usage: story.sh PATH [TEXT]}
text=${2:-}
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || { echo "no git repository here" >&2; exit 2; }
total=$(git log --oneline -- "$path" | wc -l | tr -d ' ')
if [ "$total" -eq 0 ]; then
    echo "no commit touches $path"
    exit 1
fi
[ "$(git rev-parse --is-shallow-repository)" = true ] && echo "note: the history is shallow, older commits are missing"
echo "commits: $total"
git log -1 --format='last:  %h %as %an: %s' -- "$path"
git log --format='first: %h %as %an: %s' --reverse -- "$path" | head -n 1
echo "people, by commits:"
git log --format='%an' -- "$path" | sort | uniq -c | sort -rn | head -n 5 | sed 's/^/  /'
echo "busiest months:"
git log --format='%ad' --date=format:%Y-%m -- "$path" | sort | uniq -c | sort -rn | head -n 5 | sed 's/^/  /'
echo "changes together with:"
git log --format='%H' -n 50 -- "$path" | while read -r commit; do
    git show --format= --name-only "$commit"
done | grep -v -x -F -- "$path" | sort | uniq -c | sort -rn | awk '$1 > 1' | head -n 8 | sed 's/^/  /'
if [ -n "$text" ]; then
    echo "commits that added or removed “$text”:"
    git log -S "$text" --format='  %h %as %an: %s' -- "$path"
fi
