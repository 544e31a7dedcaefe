// The words and colours in which the demo shows itself.
const color = process.stdout.isTTY && !process.env.NO_COLOR
const paint = (code) => (text) => (color ? `\u001b[${code}m${text}\u001b[0m` : text)
export const bold = paint(1)
export const dim = paint(2)
export const green = paint(32)
const red = paint(31)
const cyan = paint(36)

export const line = (text = "") => process.stdout.write(`${text}\n`)

const times = []

/** Runs one step of the demo under a title and keeps how long it took. */
export const step = async (title, work) => {
  line(`\n${bold(title)}`)
  const started = performance.now()
  const result = await work()
  times.push({ title, seconds: (performance.now() - started) / 1000 })
  return result
}

export const summary = () => {
  line(`\n${bold("What was done")}`)
  for (const { seconds, title } of times) line(`  ${seconds.toFixed(1).padStart(5)} s  ${title}`)
  const total = times.reduce((sum, { seconds }) => sum + seconds, 0)
  line(`  ${total.toFixed(1).padStart(5)} s  in all`)
}

export const diff = (text) => {
  for (const row of text.trimEnd().split("\n")) {
    if (/^\+(?!\+\+)/.test(row)) line(`  ${green(row)}`)
    else if (/^-(?!--)/.test(row)) line(`  ${red(row)}`)
    else line(`  ${dim(row)}`)
  }
}

/** The line of a tool call after one of its events. It is known when the line before said the same. */
const toolLine = (tools, { kind, state, title, tool_id }) => {
  const before = tools.get(tool_id)
  const after = { kind: kind ?? before?.kind ?? "tool", state: state ?? before?.state, title: title ?? before?.title }
  const words = [after.kind, after.title, after.state && `(${after.state})`].filter(Boolean).join(" ")
  tools.set(tool_id, { ...after, words })
  return { words, isKnown: before?.words === words }
}

/** Shows events as they arrive: words as they are said, everything else as one line each, with its sentence if there is one. */
export const eventPrinter = (sentenceOf = () => undefined) => {
  let talking = false
  let told = ""
  /** The facts of each tool call. An update has only those that have changed. */
  const tools = new Map()
  const silence = () => {
    if (talking) line()
    talking = false
  }
  return (event) => {
    const { payload, seq, type } = event
    const isWords = type.startsWith("message.part_") && payload.part.kind !== "media"
    if (isWords) {
      const text = payload.part.content
      if (text === "") return
      if (!talking)
        process.stdout.write(
          `  ${dim(String(seq).padStart(3))} ${cyan(payload.part.kind === "text" ? "agent  " : "thinks ")} `
        )
      process.stdout.write(text.replaceAll("\n", " "))
      talking = true
      return
    }
    const tool = type.startsWith("tool.") ? toolLine(tools, payload) : undefined
    // Most updates of a tool only add to its output.
    if (tool?.isKnown) return
    silence()
    const about =
      tool !== undefined
        ? ` ${tool.words}`
        : type === "changeset.ready"
          ? ` ${payload.file_count} file, +${payload.additions} -${payload.deletions}`
          : type.startsWith("delivery.") && payload.step
            ? ` ${payload.step.kind} ${payload.step.outcome}`
            : type === "usage.observed"
              ? ` ${payload.usage.input_tokens ?? "?"} tokens in, ${payload.usage.output_tokens ?? "?"} out`
              : ""
    // An agent tells of its context in between, with the same sums.
    if (type === "usage.observed" && about === told) return
    told = type === "usage.observed" ? about : told
    line(`  ${dim(String(seq).padStart(3))} ${type}${dim(about)}`)
    const sentence = sentenceOf(event)
    if (sentence !== undefined) line(`  ${bold(sentence)}`)
  }
}
