# Completion of mini-stream for bash: commands and options are those that
# --help names. Needs Debian's bash-completion, as every file of this folder.
# SPDX-License-Identifier: 0BSD
# shellcheck shell=bash
# shellcheck disable=SC2086 # a command may have two words

# The commands, a line each.
_mini_stream_commands() {
    "$1" --help 2>/dev/null | sed -n '/^Commands/,/^$/{
        /^  [a-z]/!d
        s/^  //; s/  .*//; s/ [A-Z[].*//; p
    }'
}

_mini_stream() {
    # shellcheck disable=SC2034 # split is of _init_completion
    local cur prev words cword split command='' name argument
    declare -F _init_completion >/dev/null || return # not loaded
    _init_completion -s || return

    # The command: the longest of those that the line begins with.
    while read -r name; do
        if [[ " ${words[*]:1:cword-1} " == " $name "* ]] &&
            ((${#name} > ${#command})); then
            command=$name
        fi
    done < <(_mini_stream_commands "$1")

    if [[ -z $command || $command == help ]]; then
        # Its next word, behind those that stand there already.
        name="${words[*]:1:cword-1}"
        name=${name#help}
        name=${name# }
        mapfile -t COMPREPLY < <(compgen -W "$({
            _mini_stream_commands "$1"
            _parse_help "$1"
        } | sed -n "s/^${name:+$name }\([^ ]*\).*/\1/p")" -- "$cur")
        return
    fi
    if [[ $prev == -?* ]]; then # a short one stands before its long one
        argument=$("$1" $command --help 2>/dev/null |
            sed -n "s/.* ${prev}\(, --[a-z-]*\)\?[= ]\([A-Z]\+\).*/\2/p" |
            head -n 1)
        case $argument in
        FILE) _filedir ;;
        DIR) _filedir -d ;;
        FORMAT | LIBRARY | LIST | NAME)
            argument=$("$1" $command "$prev" list)
            mapfile -t COMPREPLY < <(compgen -W "$argument" -- "$cur")
            ;;
        esac
        [[ -z $argument ]] || return
    fi
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W \
            "$(_parse_help "$1" "$command --help")" -- "$cur")
        [[ ${COMPREPLY-} != *= ]] || compopt -o nospace
    elif "$1" $command --help 2>/dev/null | head -n 1 | grep -q FILE; then
        _filedir
    fi
} && complete -F _mini_stream mini-stream
