import { cutText } from "@reins/base/base/CutText"

/** The longest text of one side of an edit. The events of the call have it whole. */
const editLength = 3000
/** The lines around a change that are shown with it. */
const context = 3

/**
 * Both sides of an edit as a question shows them. Of long texts, which are whole files for some agents, only the part that changes is shown, with the
 * number of its first line. A note says how much is cut off.
 */
export const changedPart = (before: string | null, after: string) => {
  if (before === null) return { old_text: null, new_text: beginning(after) }
  if (before.length <= editLength && after.length <= editLength) return { old_text: before, new_text: after }
  const [old, now] = [before.split("\n"), after.split("\n")]
  const least = Math.min(old.length, now.length)
  let first = 0
  while (first < least && old[first] === now[first]) first += 1
  let last = 0
  while (last < least - first && old.at(-1 - last) === now.at(-1 - last)) last += 1
  const from = Math.max(0, first - context)
  const behind = Math.max(0, last - context)
  const part = (lines: ReadonlyArray<string>) => beginning(lines.slice(from, lines.length - behind).join("\n"))
  return { old_text: part(old), new_text: part(now), ...(from > 0 && { first_line: from + 1 }) }
}

const beginning = (text: string): string =>
  text.length <= editLength ? text : `${cutText(text, editLength)}\n… ${text.length - editLength} more characters`
