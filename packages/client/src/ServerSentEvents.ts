/** One frame of an event stream. */
export interface Frame {
  /** Absent in a frame that does not move the cursor. */
  readonly id: string | undefined
  readonly event: string | undefined
  /** Absent in a frame that only moves the cursor. */
  readonly data: string | undefined
}

/**
 * Reads frames out of text that arrives in pieces. Unlike parsers made after the browser's EventSource it also reports frames
 * that have an id but no data. A frame that was cut off is never reported.
 */
export const makeParser = (): ((text: string) => Array<Frame>) => {
  let rest = ""
  let endsInReturn = false
  let id: string | undefined
  let event: string | undefined
  let data: string | undefined

  const readLine = (line: string) => {
    const colon = line.indexOf(":")
    if (colon === 0) return
    const field = colon === -1 ? line : line.slice(0, colon)
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1)
    if (field === "data") data = data === undefined ? value : `${data}\n${value}`
    else if (field === "id") id = value
    else if (field === "event") event = value
  }

  return (text) => {
    // A long line comes in many pieces. It is searched once, when its end has come.
    if (!endsInReturn && !/[\r\n]/.test(text)) {
      rest += text
      return []
    }
    const frames: Array<Frame> = []
    // A carriage return at the end may be half of a line end.
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop() ?? ""
    endsInReturn = rest.endsWith("\r")
    for (const line of lines) {
      if (line !== "") {
        readLine(line)
        continue
      }
      if (id !== undefined || data !== undefined) frames.push({ id, event, data })
      id = event = data = undefined
    }
    return frames
  }
}
