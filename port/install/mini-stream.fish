# Completion of mini-stream for fish: commands, options and values are those
# that the tool names, as for bash.
# SPDX-License-Identifier: 0BSD

# The commands, a line each.
function __mini_stream_commands
    mini-stream --help 2>/dev/null | sed -n '/^Commands/,/^$/{
        /^  [a-z]/!d
        s/^  //; s/  .*//; s/ [A-Z[].*//; p
    }'
end

# The longest command that the line begins with.
function __mini_stream_command
    set -l line " "(string join -- " " (commandline -opc)[2..-1])" "
    set -l found ''
    for name in (__mini_stream_commands)
        if string match -q "* $name *" -- $line
            and test (string length -- $name) -gt (string length -- "$found")
            set found $name
        end
    end
    echo $found
end

# The next word of a command, or the value of an option.
function __mini_stream_words
    set -l command (__mini_stream_command)
    set -l line (string join -- " " (commandline -opc)[2..-1])
    if test -z "$command" -o "$command" = help
        set -l begun (string replace -r '^help ?' '' -- $line)
        test -n "$begun"; and set begun "$begun "
        for name in (__mini_stream_commands)
            if test (string sub -l (string length -- "$begun") -- $name) = "$begun"
                string replace -r ' .*' '' -- \
                    (string sub -s (math (string length -- "$begun") + 1) -- $name)
            end
        end
        return
    end
    set -l option (commandline -opc)[-1]
    set -l current (commandline -ct)
    set -l before ''
    if string match -q -- '--*=*' $current
        set option (string replace -r '=.*' '' -- $current)
        set before "$option="
    end
    if string match -q -- '-?*' $option
        switch (__mini_stream_argument $option)
            case FILE
                __fish_complete_path (string replace -r '^--[^=]*=' '' -- $current) | \
                    string replace -r '^' -- $before
                return
            case FORMAT LIBRARY LIST NAME
                mini-stream (string split ' ' -- $command) $option list | \
                    string replace -r '^' -- $before
                return
            case '?*'
                return
        end
    end
    if string match -q -- '-*' $current
        mini-stream (string split ' ' -- $command) --help 2>/dev/null |
            sed -n 's/^ *\(-[a-zA-Z?], \)\{0,1\}\(--[a-z-]*\).*/\2/p'
    else if mini-stream (string split ' ' -- $command) --help 2>/dev/null |
            head -n 1 | grep -q FILE
        __fish_complete_path $current
    end
end

# What an option takes; a short one stands before its long one.
function __mini_stream_argument
    mini-stream (string split ' ' -- (__mini_stream_command)) --help 2>/dev/null |
        sed -n "s/.* $argv[1]\(, --[a-z-]*\)\{0,1\}[= ]\([A-Z][A-Z]*\).*/\2/p" |
        head -n 1
end

complete -c mini-stream -f -a '(__mini_stream_words)'
