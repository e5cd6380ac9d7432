# Greenlets move C stacks about under the interpreter.
load lib/helper

never_mixed() {
    if [[ $PYTHON_BUILD == *free-threaded* ]]; then
        echo "no greenlet is made for the free-threaded 3.13"
        return
    fi
    if ! "$PYTHON" -c 'import greenlet' 2>/dev/null; then
        venv=$(venv_with greenlet) || fail "$venv"
        PYTHON=$venv/bin/python
    fi
    PYTHONUNBUFFERED=1 PYPROF_HZ=1000 until_sampled 'two_(work|deep|key|main) ' profiled "$PYTHON" "$WORKLOADS/greenlets.py" 1.2
    collapsed --unit samples >stacks.txt
    # Names are "one_deep (greenlets.py:33)", "two_key …": never both, and "one" never with the C frames of sorted().
    awk '
        { n = $NF; all += n; one = /one_(work|deep|main) /; two = /two_(work|deep|key|main) / }
        one && two { print "mixed: " $0; bad = 1 }
        one && /builtin_sorted|list_sort/ { print "native frames of the other: " $0; bad = 1 }
        one { ones += n }
        two { twos += n }
        /\[greenlet switch\]/ { switching += n }
        /\[python stack torn\]/ { torn += n }
        END {
            print ones + 0, "of one,", twos + 0, "of two,", switching + 0, "switching,", torn + 0, "torn, of", all
            # Half of the samples each, of which there may be fifteen: that is four times what chance makes of it.
            least = all / 2 - 2 * sqrt(all)
            if (bad || !ones || !twos || ones < least / 2 || twos < least / 2 || switching > all / 5 + 2 || torn > 2 + all / 100) exit 1
        }' stacks.txt
}

@test "frames of two greenlets are never in one stack" {
    with_each_python never_mixed
}
