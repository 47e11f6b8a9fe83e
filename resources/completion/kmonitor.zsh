#compdef kmonitor
# Completion of kmonitor for zsh: `kmonitor completion --install`.
_kmonitor() {
    local found
    found=$(kmonitor completion --words -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    if [[ -n $found ]]; then
        # No space behind a metric, which waits for its threshold.
        compadd -S '' -- ${(M)${(f)found}:#*[=:]}
        compadd -- ${${(f)found}:#*[=:]}
    else
        _files
    fi
}
if [[ ${funcstack[1]} == _kmonitor ]]; then
    _kmonitor "$@"
else
    if (( ! $+functions[compdef] )); then
        autoload -Uz compinit && compinit -i -D
    fi
    compdef _kmonitor kmonitor
fi
