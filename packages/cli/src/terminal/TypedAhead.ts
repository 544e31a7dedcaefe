import { setImmediate as turnOfLoop } from "node:timers/promises"

/** The keys that a person typed before a question was shown. They answer no question. */
let setAside = ""

/**
 * Takes what was typed while nobody read. It waits for no key, and leaves the terminal raw for the reader that follows at once. A terminal that
 * collects lines stores Ctrl-D as a zero byte, so that comes back as Ctrl-D.
 */
const takeTyped = async (): Promise<string> => {
  const { stdin } = process
  if (!stdin.isTTY) return ""
  const chunks: Array<Buffer> = []
  const take = (chunk: Buffer) => void chunks.push(chunk)
  stdin.setRawMode(true)
  stdin.on("data", take)
  stdin.resume()
  // The poll of the first turn may lie behind. The second turn has polled.
  await turnOfLoop()
  await turnOfLoop()
  stdin.pause()
  stdin.off("data", take)
  return Buffer.concat(chunks).toString().replaceAll("\0", ctrlD)
}

const ctrlC = "\u0003"
const ctrlD = "\u0004"

/**
 * Sets aside what was typed before a question is shown, so that only who has seen the question answers it. The next message begins with it.
 * False when Ctrl-C was typed.
 */
export const setTypedAside = async (): Promise<boolean> => {
  setAside += await takeTyped()
  if (!setAside.includes(ctrlC)) return true
  setAside = ""
  process.stdin.setRawMode(false)
  return false
}

/** Gives what was typed before now to the reader that follows at once. */
export const putTypedBack = async (): Promise<void> => {
  const typed = setAside + (await takeTyped())
  setAside = ""
  if (typed !== "") process.stdin.unshift(Buffer.from(typed))
}
