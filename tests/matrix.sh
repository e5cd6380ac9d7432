#!/bin/sh
# The table of interpreters and suites: tests/matrix.sh FILE... Each line of a file is "SUITE<TAB>VERSION BUILD<TAB>RESULT",
# RESULT being "ok" or "FAIL text". A cell is the number of tests that passed, with those that failed after a slash.
set -eu

# Versions in their order, then suites in the order of the alphabet.
sort -t "$(printf '\t')" -k2,2V -k1,1 "$@" | awk -F '\t' '
    NF < 3 { next }
    {
        suite = $1
        # "static,stripped,jit" is for programs.
        python = $2
        gsub(/,/, " ", python)
        if (!(python in seen)) {
            seen[python] = 1
            pythons[++n_pythons] = python
            if (length(python) > width) width = length(python)
        }
        if (!(suite in known)) {
            known[suite] = 1
            for (i = ++n_suites; i > 1 && suites[i - 1] > suite; i--) suites[i] = suites[i - 1]
            suites[i] = suite
        }
        if ($3 == "ok") good[python, suite]++
        else {
            bad[python, suite]++
            failures[++n_failures] = python ": " suite ": " substr($3, 6)
        }
    }
    function cell(python, suite, text) {
        text = (python, suite) in good ? good[python, suite] : (python, suite) in bad ? 0 : "-"
        return (python, suite) in bad ? text "/" bad[python, suite] " FAIL" : text
    }
    END {
        if (!n_pythons) exit
        printf "%-*s", width, "Python"
        for (s = 1; s <= n_suites; s++) {
            columns[s] = length(suites[s])
            for (p = 1; p <= n_pythons; p++)
                if (length(cell(pythons[p], suites[s])) > columns[s]) columns[s] = length(cell(pythons[p], suites[s]))
            printf "  %*s", columns[s], suites[s]
        }
        print ""
        for (p = 1; p <= n_pythons; p++) {
            printf "%-*s", width, pythons[p]
            for (s = 1; s <= n_suites; s++) printf "  %*s", columns[s], cell(pythons[p], suites[s])
            print ""
        }
        for (f = 1; f <= n_failures; f++) print "FAIL " failures[f]
    }'
