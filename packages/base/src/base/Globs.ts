// Matches names and paths with the wildcards of others. The search for a part of a pattern begins where the last part ended, and never goes back. So the
// time grows with the length of the pattern times that of the name.

/** A longer pattern stands for itself alone. */
const longestPattern = 1_024

/** The place behind a part of a pattern that stands at `at` of a name; -1 where it does not stand there. */
const behind = (part: string, name: string, at: number): number => {
  if (!part.includes("?")) return name.startsWith(part, at) ? at + part.length : -1
  let here = at
  for (const wanted of part) {
    const found = name.codePointAt(here)
    if (found === undefined || (wanted !== "?" && wanted.codePointAt(0) !== found)) return -1
    here += found > 0xffff ? 2 : 1
  }
  return here
}

/** The place behind the first part from `at` on; -1 where there is none. */
const behindNext = (part: string, name: string, at: number): number => {
  if (!part.includes("?")) {
    const found = name.indexOf(part, at)
    return found < 0 ? -1 : found + part.length
  }
  for (let from = at; from < name.length; from++) {
    const end = behind(part, name, from)
    if (end >= 0) return end
  }
  return -1
}

/** The place where the last characters of a name begin, as many as a part has. */
const startOfEnd = (part: string, name: string): number => {
  if (!part.includes("?")) return name.length - part.length
  let at = name.length
  for (const _ of part) at -= at > 1 && (name.codePointAt(at - 2) ?? 0) > 0xffff ? 2 : 1
  return at
}

/** True when a name fits a pattern, in which `*` stands for any text and `?` for one character. */
export const fitsName = (pattern: string, name: string): boolean => {
  if (pattern.length > longestPattern || !/[*?]/.test(pattern)) return pattern === name
  const [first = "", ...rest] = pattern.split(/\*+/)
  const last = rest.pop()
  let at = behind(first, name, 0)
  if (last === undefined) return at === name.length
  for (const part of rest) {
    if (at < 0) return false
    at = behindNext(part, name, at)
  }
  const end = startOfEnd(last, name)
  return at >= 0 && at <= end && behind(last, name, end) === name.length
}

/** Holds 1 for each place of a path at which a pattern may have come so far. */
type Reached = Uint8Array

/** Goes on from each place that was reached. `reaches` is asked for each place behind the first one. */
const onwards = (reached: Reached, reaches: (at: number, next: Reached) => boolean): Reached => {
  const next = reached.slice()
  const first = reached.indexOf(1)
  if (first >= 0) for (let at = first + 1; at < next.length; at++) if (reaches(at, next)) next[at] = 1
  return next
}

const wildcards: Readonly<Record<string, (path: string, reached: Reached) => Reached>> = {
  "*": (path, reached) => onwards(reached, (at, next) => next[at - 1] === 1 && path[at - 1] !== "/"),
  "**": (_, reached) => onwards(reached, () => true),
  "**/": (path, reached) => onwards(reached, (at) => path[at - 1] === "/")
}

const literally = (text: string, path: string, reached: Reached): Reached => {
  const next = new Uint8Array(reached.length)
  for (let at = reached.indexOf(1); at >= 0; at = reached.indexOf(1, at + 1))
    if (path.startsWith(text, at)) next[at + text.length] = 1
  return next
}

/**
 * Makes the function that is true for the paths which fit a pattern: `*` stands for a part of a name, `**` for any folders and names. Leading
 * slashes of the pattern count for nothing.
 */
export const fitsPath = (pattern: string): ((path: string) => boolean) => {
  const parts = pattern.replace(/^\/+/, "").split(/(\*\*\/?|\*)/)
  return (path) => {
    let reached: Reached = new Uint8Array(path.length + 1)
    reached[0] = 1
    for (const part of parts) {
      if (part === "") continue
      reached = wildcards[part]?.(path, reached) ?? literally(part, path, reached)
      if (!reached.includes(1)) return false
    }
    return reached[path.length] === 1
  }
}
