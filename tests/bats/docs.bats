# Help, manual pages and completions: all from one table.
load lib/helper

setup_file() {
    # A directory of its own: `make install`, in another suite, begins by removing that of the build.
    export SHARE=$BATS_FILE_TMPDIR/share
    "$ROOT/tools/man/make.sh" "$PYPROF" "$SHARE"
}

@test "every command has help with examples, and a manual page without a warning of roff" {
    for command in $("$PYPROF" manpage list); do
        "$PYPROF" help "$command" >help.txt
        grep -q '^Examples:$' help.txt || fail "$command: $(cat help.txt)"
        # Each example is a command line of this command or a part of one.
        grep -A9 '^Examples:$' help.txt | grep -q "pyprof $command" || fail "$command: $(cat help.txt)"
        grep -q "pyprof-$command" "$SHARE/man/man1/pyprof.1" || grep -q "pyprof.-$command" "$SHARE/man/man1/pyprof.1" ||
            fail "pyprof.1 does not name $command"
        # Each option of the help is in the page.
        grep -oE '^ .*--[a-z-]+' help.txt | grep -oE -- '--[a-z-]+' >options.txt
        while read -r option; do
            sed 's/\\-/-/g; s/\\f[BRI]//g' "$SHARE/man/man1/pyprof-$command.1" | grep -qe "$option" ||
                fail "pyprof-$command.1 does not name $option"
        done <options.txt
    done
    command -v groff >/dev/null || skip "groff is missing"
    for page in "$SHARE"/man/man*/*; do
        # Tables are not filled: they must fit by themselves.
        ! groff -man -Tutf8 -P-c -rLL=78n "$page" 2>/dev/null | sed 's/.\x08//g' | LC_ALL=C.UTF-8 grep -E '.{81}' || fail "$page"
        groff -man -ww -z "$page" >roff.txt 2>&1 || fail "$page: $(cat roff.txt)"
        [ ! -s roff.txt ] || fail "$page: $(cat roff.txt)"
    done
}

# completed WORD...: what bash offers for the last word.
completed() {
    # shellcheck disable=SC1091
    . "$SHARE/bash-completion/completions/pyprof"
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _pyprof
    printf '%s\n' "${COMPREPLY[@]}"
}

@test "bash completes commands, options, their values and files" {
    completed "$PYPROF" re >out.txt
    lines_of out.txt 1 '^report$'
    completed "$PYPROF" report --pro >out.txt
    lines_of out.txt 1 '^--processes$'
    completed "$PYPROF" export --format spe >out.txt
    lines_of out.txt 1 '^speedscope$'
    completed "$PYPROF" diff --by ti >out.txt
    lines_of out.txt 1 '^time$'
    completed "$PYPROF" report endp >out.txt
    lines_of out.txt 1 '^endpoints$'
    : >some_file.pyprof
    completed "$PYPROF" report some >out.txt
    lines_of out.txt 1 '^some_file.pyprof$'
    completed "$PYPROF" info some >out.txt
    lines_of out.txt 1 '^some_file.pyprof$'
    completed "$PYPROF" run -- bas >out.txt
    grep -qx bash out.txt || fail "$(cat out.txt)"
    completed "$PYPROF" help diff >out.txt
    lines_of out.txt 1 '^diff$'
    shellcheck -s bash "$SHARE/bash-completion/completions/pyprof"
}

# LINE|WHAT IT BECOMES: for Tab after it, when one thing only can follow.
tabs='pyprof rep|pyprof report
pyprof report --pro|pyprof report --processes
pyprof export --format spee|pyprof export --format speedscope
pyprof diff --by ti|pyprof diff --by time
pyprof report --by lab|pyprof report --by label:KEY
pyprof help dif|pyprof help diff
pyprof completion z|pyprof completion zsh
pyprof info some_|pyprof info some_file.pyprof
pyprof run -- only_here_c|pyprof run -- only_here_command
pyprof doctor -- only_here_c|pyprof doctor -- only_here_command
pyprof run --hz 99 -- cat some_|pyprof run --hz 99 -- cat some_file.pyprof'

prepare_tabs() {
    : >some_file.pyprof
    mkdir bin
    printf '#!/bin/sh\n' >bin/only_here_command
    chmod +x bin/only_here_command
    PATH=$PWD/bin:$(dirname "$PYPROF"):$PATH
}

@test "zsh completes commands, options, their values, commands and files" {
    command -v zsh >/dev/null || skip "zsh is missing"
    zsh -n "$SHARE/zsh/site-functions/_pyprof"
    prepare_tabs
    mapfile -t begun < <(cut -d'|' -f1 <<<"$tabs")
    timeout 300 zsh -f "$BATS_TEST_DIRNAME/lib/zsh_completed.zsh" "$SHARE/zsh/site-functions" "${begun[@]}" 3>&- |
        sed 's/ *\r*$//' | diff - <(cut -d'|' -f2 <<<"$tabs")
}

@test "fish completes commands, options, their values, commands and files" {
    command -v fish >/dev/null || skip "fish is missing"
    fish -n "$SHARE/fish/vendor_completions.d/pyprof.fish"
    prepare_tabs
    export HOME=$PWD
    mapfile -t begun < <(cut -d'|' -f1 <<<"$tabs")
    # shellcheck disable=SC2016
    timeout 300 fish -c 'source $argv[1]
for line in $argv[2..]
    complete -C $line | string replace -r "\t.*" ""
end' "$SHARE/fish/vendor_completions.d/pyprof.fish" "${begun[@]}" 3>&- | diff - <(awk '{ print $NF }' <<<"$tabs")
}
