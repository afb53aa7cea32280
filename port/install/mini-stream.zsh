#compdef mini-stream
# Completion of mini-stream for zsh: commands, options and values are those that
# the tool names, as for bash.
# SPDX-License-Identifier: 0BSD

local tool=$words[1] command='' name option argument line
local -a commands options
line=" ${words[2,CURRENT-1]} "

commands=(${(f)"$($tool --help 2>/dev/null | sed -n '/^Commands/,/^$/{
    /^  [a-z]/!d
    s/^  //; s/  .*//; s/ [A-Z[].*//; p
}')"})
# The command: the longest of those that the line begins with.
for name in $commands; do
    if [[ $line == *" $name "* && $#name -gt $#command ]]; then
        command=$name
    fi
done
if [[ -z $command || $command == help ]]; then
    name=${${${line## }#help}## } # the words that are there already
    for option in $commands; do
        [[ "$option " == $name* ]] && compadd -- ${${option#$name}%% *}
    done
    return
fi

options=(${(f)"$($tool ${=command} --help 2>/dev/null |
    sed -n 's/^ *\(-[a-zA-Z?], \)\{0,1\}\(--[a-z-]*\).*/\2/p')"})
option=$words[CURRENT-1]
if [[ $PREFIX == --*=* ]]; then
    option=${PREFIX%%=*}
    compset -P '*='
fi
if [[ $option == -?* ]]; then # a short one stands before its long one
    argument=$($tool ${=command} --help 2>/dev/null |
        sed -n "s/.* $option\(, --[a-z-]*\)\{0,1\}[= ]\([A-Z][A-Z]*\).*/\2/p" |
        head -n 1)
    case $argument in
    FILE) _files; return ;;
    FORMAT|LIBRARY|LIST|NAME)
        compadd -- ${(f)"$($tool ${=command} $option list)"}
        return
        ;;
    ?*) return ;;
    esac
fi
if [[ $PREFIX == -* ]]; then
    compadd -- $options
elif $tool ${=command} --help 2>/dev/null | head -n 1 | grep -q FILE; then
    _files
fi
