/** One block of a stream of events. */
export interface Block {
  readonly id: string | undefined
  readonly event: string | undefined
  readonly data: string | undefined
  /** The whole block, without the empty line at its end. */
  readonly text: string
}

/** Takes the text of a stream as it arrives and gives back the blocks that are complete. */
export const blockReader = (): ((chunk: string) => ReadonlyArray<Block>) => {
  let rest = ""
  return (chunk) => {
    const parts = (rest + chunk).split("\n\n")
    rest = parts.pop() ?? ""
    return parts.map(blockOf)
  }
}

const blockOf = (text: string): Block => {
  const field = (name: string) =>
    text
      .split("\n")
      .find((line) => line.startsWith(`${name}: `))
      ?.slice(name.length + 2)
  return { id: field("id"), event: field("event"), data: field("data"), text }
}
