# Line tables of real modules, decoded by the library, against the interpreter's own answer for every instruction.
load helper

every_instruction() {
    [ -x "$BUILD/oracles/line_table" ] || make -C "$ROOT" -s BUILD="$BUILD" helpers
    library=$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("stdlib"))')
    modules=()
    for name in argparse ast asyncio/base_events contextlib dataclasses decimal email/message inspect subprocess typing; do
        modules+=("$library/$name.py")
    done
    "$PYTHON" "$ROOT/tests/oracles/line_table.py" "${modules[@]}" >lines.txt
    "$BUILD/oracles/line_table" <lines.txt
}

@test "lines of every instruction of ten stdlib modules equal the interpreter's" {
    with_each_python every_instruction
}
