import type { Place, Values } from "./Place.js"

/** Leaves the names of files to the shell, or turns them off where anything may stand. */
const offer = (values: Values): string =>
  values === "files"
    ? "return"
    : values === "anything"
      ? "compopt +o default 2>/dev/null; return"
      : `COMPREPLY=($(compgen -W "${values.join(" ")}" -- "$word")); return`

const cases = (lines: ReadonlyArray<readonly [patterns: ReadonlyArray<string>, body: string]>): string =>
  lines.map(([patterns, body]) => `    ${patterns.map((each) => `"${each}"`).join("|")}) ${body} ;;\n`).join("")

/** The completions for bash 3.2 and newer. A word after `=` is a word of its own there. */
export const bash = (places: ReadonlyArray<Place>): string => {
  const ways = places
    .filter(({ path }) => path !== "")
    .map(({ above, names, path }) => [names.map((name) => `${above}/${name}`), `here="${path}"`] as const)
  const values = places.flatMap(({ options, path }) =>
    options.flatMap(({ values, word }) => (values === undefined ? [] : [[[`${path} ${word}`], offer(values)] as const]))
  )
  const words = places.map(({ commands, options, path, values }) => {
    const named = commands.map(({ word }) => word)
    const flags = `COMPREPLY=($(compgen -W "${options.map(({ word }) => word).join(" ")}" -- "$word")); return`
    const others = named.length > 0 ? offer(named) : offer(values)
    return [[path], `if [[ $word == -* ]]; then ${flags}; fi; ${others}`] as const
  })
  return `_reins() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" here="" at
  COMPREPLY=()
  if [[ $word == "=" ]]; then word=""; elif [[ $before == "=" ]]; then before="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for ((at = 1; at < COMP_CWORD; at++)); do
    if [[ $at == 1 && \${COMP_WORDS[at]} == help ]]; then continue; fi
    case "$here/\${COMP_WORDS[at]}" in
${cases(ways).replaceAll(/^ {4}/gm, "      ")}    esac
  done
  case "$here $before" in
${cases(values)}  esac
  case "$here" in
${cases(words)}  esac
}
complete -o default -F _reins reins
`
}
