# Completion of kmonitor for bash: `kmonitor completion --install`.
_kmonitor() {
    local line=${COMP_LINE:0:COMP_POINT} words current found
    read -ra words <<<"$line"
    [[ $line == *[[:space:]] ]] && words+=("")
    current=${words[-1]}
    mapfile -t found < <(kmonitor completion --words -- "${words[@]:1}" 2>/dev/null)
    [[ ${found[*]} ]] || found=()
    [[ ${found[*]} != *[=:] ]] || compopt -o nospace
    # To bash a word ends at a colon and at "=": what comes before them stays on the line.
    COMPREPLY=("${found[@]#"${current%"${current##*[:=]}"}"}")
}
complete -o default -F _kmonitor kmonitor
