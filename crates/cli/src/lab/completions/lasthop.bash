# Completions of lasthop for Bash. Readline breaks words at = and :, lasthop does not.
_lasthop() {
    local IFS=$'\013' word current before line=()
    for word in "${COMP_WORDS[@]:0:COMP_CWORD + 1}"; do
        if ((${#line[@]} > 1)) && [[ $word == [=:]* || ${line[-1]} == *[=:] ]]; then
            line[-1]+=$word
        else
            line+=("$word")
        fi
    done
    current=${line[-1]}
    # What is before the word that readline takes for the current one.
    before=${current%"$2"}
    [[ $2 != [=:] ]] || before=$current
    COMPREPLY=($(
        _CLAP_IFS=$IFS _CLAP_COMPLETE_INDEX=$((${#line[@]} - 1)) \
            _CLAP_COMPLETE_COMP_TYPE=$COMP_TYPE _CLAP_COMPLETE_SPACE=false \
            COMPLETE=bash lasthop -- "${line[@]}" 2> /dev/null
    )) || COMPREPLY=()
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
    if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} != *[=/:.] ]]; then
        compopt +o nospace 2> /dev/null
    fi
}
complete -o nospace -o nosort -o bashdefault -F _lasthop lasthop
