import { readdirSync } from "node:fs"
import { resolve } from "node:path"
import type { Completed } from "../terminal/Line.js"
import { harmless } from "../terminal/Style.js"

const offeredAtMost = 100

/** Completes a command at the beginning of a message, and a path of the directory behind an `@`. */
export const completeMessage =
  (commands: ReadonlyArray<string>, directory: string) =>
  (line: string): Completed | undefined => {
    if (/^\/[a-z]*$/.test(line)) return [commands.filter((each) => each.startsWith(line)), line]
    const [, typed] = /(?:^|\s)@((?:\\.|[^\s\\])*)$/.exec(line) ?? []
    if (typed === undefined) return undefined
    return [pathsFrom(directory, typed).map((path) => `@${path}`), `@${typed}`]
  }

/** Paths below a directory that begin so. Hidden ones are offered to who has typed the dot. */
const pathsFrom = (directory: string, typed: string): ReadonlyArray<string> => {
  const plain = typed.replaceAll(/\\(.)/g, "$1")
  const folder = plain.slice(0, plain.lastIndexOf("/") + 1)
  const begin = plain.slice(folder.length)
  try {
    return readdirSync(resolve(directory, folder), { withFileTypes: true })
      .filter(({ name }) => name.startsWith(begin) && (begin.startsWith(".") || !name.startsWith(".")))
      .filter(({ name }) => harmless(name) === name)
      .slice(0, offeredAtMost)
      .map((each) => `${folder}${each.name}${each.isDirectory() ? "/" : ""}`.replaceAll(/[\s\\"']/g, "\\$&"))
      .sort()
  } catch {
    // There is no such folder, so it completes nothing.
    return []
  }
}
