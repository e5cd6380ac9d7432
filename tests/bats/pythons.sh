# shellcheck shell=bash
# Which interpreters the tests run on.

# One line "PATH VERSION" for each: those of $PYTHONS (a list separated by spaces), else the newest pyenv build of each
# minor version that the library knows, and Debian's own.
list_pythons() {
    local candidate minor candidates=()
    if [ -n "${PYTHONS:-}" ]; then
        read -ra candidates <<<"$PYTHONS"
    else
        for minor in 3.11 3.12 3.13; do
            candidate=$(compgen -G "${PYENV_ROOT:-$HOME/.pyenv}/versions/$minor.*/bin/python$minor" | sort -V | tail -n 1)
            [ -n "$candidate" ] && candidates+=("$candidate")
        done
        [ -x /usr/bin/python3.11 ] && candidates+=(/usr/bin/python3.11)
        if [ "${#candidates[@]}" -eq 0 ]; then
            candidate=$(command -v python3) && candidates+=("$candidate")
        fi
    fi
    for candidate in "${candidates[@]}"; do
        "$candidate" -c 'import platform, sys; print(sys.argv[1], platform.python_version())' "$candidate"
    done
}
