const fence = "```json"

/** Finds the last block of JSON that begins with a fence and is closed by one: the place of its fence, and the text inside. */
export const lastFence = (text: string) => {
  let at = 0
  let opened: { readonly at: number; readonly from: number } | undefined
  let last: { readonly at: number; readonly inside: string } | undefined
  for (const line of text.split("\n")) {
    const said = line.trimEnd()
    if (said.endsWith(fence)) opened = { at: at + said.length - fence.length, from: at + line.length + 1 }
    else if (opened !== undefined && line.trimStart().startsWith("```")) {
      last = { at: opened.at, inside: text.slice(opened.from, at) }
      opened = undefined
    }
    at += line.length + 1
  }
  return last
}
