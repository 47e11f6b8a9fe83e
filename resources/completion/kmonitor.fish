# Completion of kmonitor for fish: `kmonitor completion --install`.
function __kmonitor_complete
    set -l words (commandline -opc)[2..] (commandline -ct)
    set -l found (kmonitor completion --words -- $words 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete -c kmonitor -f -a '(__kmonitor_complete)'
