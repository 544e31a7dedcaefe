import type { Place, Values, Word } from "./Place.js"

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** A word with what it is, in which a colon is the end of the word. */
const described = ({ about, word }: Word): string => quoted(`${word.replaceAll(":", "\\:")}:${about}`)

const offer = (values: Values): string =>
  values === "files"
    ? "_files; return"
    : values === "anything"
      ? "return 1"
      : `compadd -- ${values.map(quoted).join(" ")}; return`

/** The completions for zsh, as a file `_reins` of its search path or evaluated. */
export const zsh = (places: ReadonlyArray<Place>): string => {
  const ways = places
    .filter(({ path }) => path !== "")
    .map(({ above, names, path }) => {
      const patterns = names.map((name) => quoted(`${above}/${name}`)).join("|")
      return `      ${patterns}) here=${quoted(path)} ;;\n`
    })
  const values = places.flatMap(({ options, path }) =>
    options.flatMap(({ values, word }) =>
      values === undefined ? [] : [`    ${quoted(`${path} ${word}`)}) ${offer(values)} ;;\n`]
    )
  )
  const words = places.map(({ commands, options, path, values }) => {
    const flags = `found=(${options.map(described).join(" ")}); _describe option found`
    const others =
      commands.length > 0 ? `found=(${commands.map(described).join(" ")}); _describe command found` : offer(values)
    return `    ${quoted(path)}) if [[ $word == -* ]]; then ${flags}; else ${others}; fi ;;\n`
  })
  return `#compdef reins
_reins() {
  local here='' word="\${words[CURRENT]}" before="\${words[CURRENT-1]}" at
  local -a found
  for ((at = 2; at < CURRENT; at++)); do
    if [[ $at == 2 && \${words[at]} == help ]]; then continue; fi
    case "$here/\${words[at]}" in
${ways.join("")}    esac
  done
  case "$here $before" in
${values.join("")}  esac
  case "$here" in
${words.join("")}  esac
}
if [[ \${funcstack[1]} == _reins ]]; then _reins "$@"; else compdef _reins reins; fi
`
}
