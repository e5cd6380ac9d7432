#!/bin/sh
# Manual pages and completions as they are installed below PREFIX/share: tools/man/make.sh PYPROF DIRECTORY
set -eu

pyprof=$1
share=$2
here=$(dirname "$0")

rm -rf "$share"
mkdir -p "$share/man/man1" "$share/man/man5" "$share/man/man7" "$share/bash-completion/completions" \
    "$share/zsh/site-functions" "$share/fish/vendor_completions.d"
"$pyprof" manpage >"$share/man/man1/pyprof.1"
for command in $("$pyprof" manpage list); do
    "$pyprof" manpage "$command" >"$share/man/man1/pyprof-$command.1"
done
cp "$here/libpyprof.7" "$share/man/man7/"
cp "$here/pyprof-log.5" "$share/man/man5/"
"$pyprof" completion bash >"$share/bash-completion/completions/pyprof"
"$pyprof" completion zsh >"$share/zsh/site-functions/_pyprof"
"$pyprof" completion fish >"$share/fish/vendor_completions.d/pyprof.fish"
