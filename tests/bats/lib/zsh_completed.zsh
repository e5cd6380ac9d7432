# What zsh makes of a line when someone presses Tab behind it: zsh -f zsh_completed.zsh DIRECTORY LINE...
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1= RPS1=; unsetopt zle_bracketed_paste 2>/dev/null; fpath=($1 \$fpath); autoload -Uz compinit; compinit -D -u"
zpty -w shell 'dump() { print -r -- "<""<$BUFFER>"">"; BUFFER= }; zle -N dump; bindkey "^X" dump; bindkey "^I" complete-word'
shift
for line in "$@"; do
    zpty -w -n shell "$line"$'\t\x18'
    zpty -r -m shell found '*<<*>>*'
    print -r -- "${${found##*<<}%%>>*}"
done
zpty -d shell
