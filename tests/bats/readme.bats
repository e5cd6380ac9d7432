# What README promises to someone who has just come: every command as it is there, in a Debian without anything.
load lib/helper
load lib/debian

# shellcheck disable=SC2153 # ROOT is helper.bash's
# as_printed PATTERN: the line of README that shows this command, without the remark after it.
as_printed() {
    local lines
    lines=$(sed -nE 's/^    (\$ )?(.*[^ ])$/\2/p' "$ROOT/README.md" | sed -E 's/  +# .*//' | grep -E "^($1)" | head -n 1)
    [ -n "$lines" ] || fail "README shows no command like /$1/"
    echo "$lines"
}

# types PATTERN: what README prints, typed.
types() {
    local command
    command=$(as_printed "$1") || fail "$command"
    here "$command" >out.txt 2>&1 || fail "$(tail -n 40 out.txt)"
    cat out.txt
}

shows() {
    grep -qE "$1" out.txt || fail "no /$1/: $(cat out.txt)"
}

@test "README's picture and sample are of the example, line for line; its commands and options exist" {
    example=$ROOT/contrib/example/app.py
    grep -ohE '[A-Za-z_.<>]+ \((contrib/example/)?app\.py:[0-9]+\)' "$ROOT/README.md" <(sed 's/<[^>]*>/\n/g; s/&lt;/</g; s/&gt;/>/g' "$ROOT/README.svg") |
        sort -u >frames.txt
    [ "$(wc -l <frames.txt)" -ge 4 ] || fail "$(cat frames.txt)"
    while read -r name where; do
        line=$(sed -n "$(tr -dc 0-9 <<<"${where##*:}")p" "$example")
        case $name in
        '<module>') [ "$where" = "${where%:*}:1)" ] ;;
        *'<lambda>') [[ "$line" == *lambda* ]] ;;
        *'<genexpr>') [[ "$line" == *" for "* ]] ;;
        *) [[ "$line" == "def ${name##*.}("* ]] ;;
        esac || fail "$name $where is not: $line"
    done <frames.txt
    head -n 3 "$ROOT/README.svg" | grep -q '<svg ' || fail "no picture"
    # shellcheck disable=SC2016
    grep -ohE '(^ +|`)(build/)?pyprof [a-z]+[^`#$]*' "$ROOT/README.md" "$ROOT"/contrib/*/README.md | sed -E 's,^( +|`)(build/)?pyprof ,,' |
        grep -v '^help COMMAND' | sort -u >commands.txt
    [ "$(wc -l <commands.txt)" -ge 15 ] || fail "$(cat commands.txt)"
    while read -r verb rest; do
        "$PYPROF" help "$verb" >help.txt 2>&1 || fail "$verb: $(cat help.txt)"
        while read -r option; do
            [ "$option" = -- ] || grep -qE -- "(^| )$option\b" help.txt || fail "$verb: no option $option"
        done < <(grep -oE '(^| )-{1,2}[a-z-]+' <<<"${rest%% -- *}")
    done <commands.txt
    for option in $(grep -oE '`--[a-z-]+' "$ROOT/README.md" | tr -d '`'); do
        cat <("$PYPROF" help report) <("$PYPROF" help annotate) <("$PYPROF" help ctl) | grep -q -- "$option" || fail "no option $option"
    done
}

# bats test_tags=long
@test "README alone in a clean Debian 12: build, demo, install, run, report, hot line, flame graph, pprof" {
    needs_debian
    clean_debian
    # shellcheck disable=SC2154 # clean_debian's
    mkdir -p "$root$home/libpyprof"
    # The commit, as a newcomer clones it: not what is changed here and not committed.
    git -C "$ROOT" archive HEAD | tar -x -C "$root$home/libpyprof"
    place=$home/libpyprof
    here "apt-get update" >out.txt 2>&1 || fail "$(cat out.txt)"
    types 'apt-get install gcc'
    types 'make$'
    types 'build/pyprof run'
    shows "^pyprof: profile goes to $place/pyprof.out; to watch it run: pyprof top"
    shows "^pyprof: .* samples, .*; next: pyprof report"
    types 'build/pyprof report'
    shows 'main \((contrib/example/)?app.py:21\)'
    shows 'fingerprint \((contrib/example/)?app.py:16\)'
    here 'build/pyprof annotate app.py' >out.txt 2>&1 || fail "$(cat out.txt)"
    # The hot line of the program's own.
    hottest=$(awk '$2 == "s" && $1 > most { most = $1; line = $0 } END { print line }' out.txt)
    [[ "$hottest" == *hashlib.sha256* || "$hottest" == *"items = "* ]] || fail "the hottest line is not hot: $(cat out.txt)"
    here 'build/pyprof flame' >out.txt 2>&1 || fail "$(cat out.txt)"
    grep -qi '^<!doctype html' "$root$place/pyprof.html" || fail "no page: $(head -c 300 "$root$place/pyprof.html")"
    here 'make demo' >out.txt 2>&1 || fail "$(tail -n 40 out.txt)"
    shows '^black|/black '
    here 'make install && ldconfig' >out.txt 2>&1 || fail "$(tail -n 40 out.txt)"

    cp "$root$place/contrib/example/app.py" "$root$home"
    place=$home
    types 'pyprof run --'
    shows "^pyprof: profile goes to $home/pyprof.out; to watch it run: pyprof top"
    types 'pyprof report$'
    # shellcheck disable=SC2016
    here 'LD_PRELOAD=$(pyprof library) python3 app.py && LD_PRELOAD=libpyprof.so python3 app.py' >out.txt 2>&1 || fail "$(cat out.txt)"
    here 'pyprof runs' >out.txt
    [ "$(wc -l <out.txt)" -eq 5 ] || fail "$(cat out.txt)" # with the line of the command
    for command in annotate\ app.py flame\ -o\ app.html diff export\ -o\ app.pb.gz info runs; do
        grep -q "\`pyprof $command\`" "$ROOT/README.md" || fail "README does not show pyprof $command"
        here "pyprof $command" >out.txt 2>&1 || fail "$(cat out.txt)"
    done
    for file in app.pb.gz app.html; do
        [ -s "$root$home/$file" ] || fail "no $file"
    done
    here 'man -l /usr/local/share/man/man1/pyprof.1 >/dev/null 2>&1 || test -s /usr/local/share/man/man1/pyprof.1'
    if command -v go >/dev/null; then
        PPROF_TMPDIR=$PWD go tool pprof -top "$root$home/app.pb.gz" >top.txt 2>&1 || fail "$(cat top.txt)"
        grep -q fingerprint top.txt || fail "$(cat top.txt)"
    fi
}
