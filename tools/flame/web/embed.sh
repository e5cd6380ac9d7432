#!/bin/sh
# embed.sh NAME HEADER PAGE STYLE SCRIPT...: the page as C, on stdout: pt_NAME_head and, after its data, pt_NAME_tail, which
# HEADER declares. The scripts become one; the page's policy lets the browser run just this script and this style, by their
# hashes. A page without data is all head.
set -eu

name=$1
header=$2
page=$3
style=$4
shift 4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cp "$style" "$work/style"
cat "$@" >"$work/script"
if grep -qiE '</(script|style)|<!--' "$work/script" "$work/style"; then
    echo "embed.sh: the script or the style would end before its end" >&2
    exit 1
fi

# The SHA-256 of a file in base64, by what every Unix has: printf knows octal only.
hash() {
    # shellcheck disable=SC2059
    printf "$(sha256sum <"$1" | awk '{
        for (i = 1; i < 64; i += 2) {
            byte = (index("0123456789abcdef", substr($1, i, 1)) - 1) * 16 + index("0123456789abcdef", substr($1, i + 1, 1)) - 1
            printf "\\%03o", byte
        }
    }')" | base64
}

script_hash=$(hash "$work/script")
style_hash=$(hash "$work/style")

# In two halves, with the data between them.
while IFS= read -r line; do
    case $line in
    @STYLE@)
        printf '<style>'
        cat "$work/style"
        echo '</style>'
        ;;
    @SCRIPT@)
        printf '<script>'
        cat "$work/script"
        echo '</script>'
        ;;
    @DATA@) printf '@DATA@' ;;
    *@POLICY@*) echo "${line%@POLICY@*}script-src 'sha256-$script_hash'; style-src 'sha256-$style_hash'${line#*@POLICY@}" ;;
    *) printf '%s\n' "$line" ;;
    esac
done <"$page" >"$work/page"
sed '/@DATA@/,$d' "$work/page" >"$work/head"
sed -n '/@DATA@/,$p' "$work/page" | sed '1s/@DATA@//' >"$work/tail"

array() {
    echo "const unsigned char pt_${name}_$1[] = {"
    od -An -v -tu1 "$work/$1" | sed 's/[0-9][0-9]*/&,/g'
    echo "};"
    echo "const size_t pt_${name}_$1_size = sizeof pt_${name}_$1;"
}

echo "#include \"$header\""
array head
if [ -s "$work/tail" ]; then
    array tail
fi
