# Completion of kmonitor for bash: `kmonitor completion --install`.
_kmonitor() {
    local found IFS=$'\n'
    found=$(kmonitor completion --words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
    COMPREPLY=($found)
}
complete -o default -F _kmonitor kmonitor
