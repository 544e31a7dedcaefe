import type { Place, Values } from "./Place.js"

const quoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`

const valuesOf = (values: Values | undefined): string =>
  values === undefined
    ? ""
    : values === "files"
      ? " -r -F"
      : values === "anything"
        ? " -x"
        : ` -x -a ${quoted(values.join(" "))}`

/** The completions for fish. */
export const fish = (places: ReadonlyArray<Place>): string => {
  const ways = places
    .filter(({ path }) => path !== "")
    .map(({ above, names, path }) => {
      const patterns = names.map((name) => quoted(`${above}/${name}`)).join(" ")
      return `      case ${patterns}\n        set here ${quoted(path)}\n`
    })
  const words = places.flatMap(({ commands, options, path, values }) => {
    const begin = `complete -c reins -n ${quoted(`__reins_at '${path}'`)}`
    const named = commands.map(({ about, word }) => `${begin} -f -a ${quoted(word)} -d ${quoted(about)}\n`)
    const flags = options.map(
      ({ about, values, word }) => `${begin} -l ${word.slice(2)}${valuesOf(values)} -d ${quoted(about)}\n`
    )
    const others = Array.isArray(values) && values.length > 0 ? [`${begin} -f -a ${quoted(values.join(" "))}\n`] : []
    return [...named, ...flags, ...others, ...(values === "files" ? [`${begin} -F\n`] : [])]
  })
  return `function __reins_at
  set -l here ''
  set -l typed (commandline -opc)[2..-1]
  if test "$typed[1]" = help
    set -e typed[1]
  end
  for word in $typed
    switch "$here/$word"
${ways.join("")}    end
  end
  test "$here" = "$argv[1]"
end
complete -c reins -f
${words.join("")}`
}
