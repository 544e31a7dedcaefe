import { isAbsolute, join, normalize, relative, sep } from "node:path"
import { fileURLToPath } from "node:url"
import type { EditorMachine } from "./EditorMachine.js"

/** The paths of a session, as the editor's folder has them. The two are the same repository on different machines, or in different folders. */
export interface Paths {
  readonly folder: string
  /** A path that the agent names, as an absolute one below the editor's folder. */
  readonly toEditor: (path: string) => string
  /** A text in which the paths of the session's workspace become those of the editor's folder. */
  readonly inText: (text: string) => string
  /** A value of JSON whose texts are as `inText` gives them, names of fields too. */
  readonly inValue: (value: unknown) => unknown
  /** The path from the root of the repository for a file of the editor; undefined for one outside of its folder. */
  readonly fromEditor: (uri: string) => string | undefined
}

export const makePaths = (sessionId: string, folder: string, machine: EditorMachine | undefined): Paths => {
  const resolved = machine?.resolved ?? normalize
  const marker = `/${sessionId}/workspace`
  const inText = (text: string): string => {
    let out = ""
    let from = 0
    for (let at = text.indexOf(marker); at !== -1; at = text.indexOf(marker, from)) {
      const before = from
      let start = at
      while (start > from && !/[\s"'`(<=,;:[]/.test(text[start - 1] ?? " ")) start--
      from = at + marker.length
      // The root of a machine ends with the slash that follows in other folders.
      const root = folder === "/" && text[from] === "/" ? "" : folder
      out += text.slice(before, start) + root
    }
    return out + text.slice(from)
  }
  const inValue = (value: unknown, depth = 0): unknown => {
    if (typeof value === "string") return inText(value)
    if (typeof value !== "object" || value === null || depth > deepest) return value
    if (Array.isArray(value)) return value.map((each) => inValue(each, depth + 1))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [inText(name), inValue(each, depth + 1)]))
  }
  return {
    folder,
    inText,
    inValue: (value) => inValue(value),
    toEditor: (path) => {
      const plain = inText(path)
      return isAbsolute(plain) ? plain : join(folder, plain)
    },
    fromEditor: (uri) => {
      const file = fileOf(uri)
      if (file === undefined) return undefined
      // A link in the folder may lead out of it.
      const path = relative(resolved(folder), resolved(file))
      return path === "" || isAbsolute(path) || path.split(sep)[0] === ".." ? undefined : path.split(sep).join("/")
    }
  }
}

/** The input of a tool may be nested deeper, and stays as it is there. */
const deepest = 32

/** Lines as editors write them after an address: `#L10`, `#L10-20`, `#L10-L20`, `#L10:20`, `#L10C3-L20C5`. */
const lineFragment = /#L(\d{1,9})(?:C\d{1,9})?(?:[-:]L?(\d{1,9})(?:C\d{1,9})?)?$/

/** The lines that an address selects, as in `10-20`; undefined for a whole file. */
export const linesOf = (uri: string): string | undefined => {
  const [, first, last = first] = lineFragment.exec(uri) ?? []
  if (first === undefined) return undefined
  return first === last ? first : `${first}-${last}`
}

/** The file that an address names; undefined for another kind of address. */
export const fileOf = (uri: string): string | undefined => {
  if (isAbsolute(uri)) return uri.replace(lineFragment, "")
  try {
    return uri.startsWith("file:") ? fileURLToPath(uri) : undefined
  } catch {
    // An address of another machine is no file here.
    return undefined
  }
}
