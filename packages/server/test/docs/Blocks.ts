import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

export const root = join(import.meta.dirname, "../../../..")

/**
 * The way in which a test treats a block of a page:
 * - `run`: a reader runs it, so the test does.
 * - `beside`: a reader runs it in another terminal, where it goes on until the page has ended.
 * - `own`: exports of what each reader has of their own, such as an address. The test has its own values for the same names.
 * - `schema`: JSON that a schema has to take.
 * - `shown`: text that nobody runs.
 * - `left`: it cannot be run here, for the reason that stands above it.
 */
export type Use =
  | { readonly kind: "run" | "beside" | "own" | "shown" }
  | { readonly kind: "schema"; readonly name: string }
  | { readonly kind: "left"; readonly reason: string }

/** A fenced block of code. */
export interface Block {
  /** The page and the line of the fence, as in `docs/events.md:12`. */
  readonly place: string
  readonly language: string
  readonly code: string
  readonly use: Use
}

/** The pages whose blocks are proved. */
export const pages: ReadonlyArray<string> = [
  "README.md",
  "CONTRIBUTING.md",
  ...readdirSync(join(root, "docs"))
    .filter((name) => name.endsWith(".md"))
    .sort()
    .map((name) => `docs/${name}`)
]

/** The blocks of a page in their order. Fails in words for one that says neither what it is nor why it is not run. */
export const blocksOf = (page: string, text = readFileSync(join(root, page), "utf8")): ReadonlyArray<Block> => {
  const blocks: Array<Block> = []
  const lines = text.split("\n")
  let mark: string | undefined
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ""
    const fence = /^(\s*)(`{3,}|~{3,})\s*(\S*)/.exec(line)
    if (fence === null) {
      mark = /^<!-- (.*) -->$/.exec(line)?.[1] ?? (line === "" ? mark : undefined)
      continue
    }
    const [, indent = "", ticks = "", language = ""] = fence
    const place = `${page}:${at + 1}`
    if (indent !== "") throw new Error(`${place}: a block that is indented is not found by every reader of Markdown`)
    const end = lines.indexOf(ticks, at + 1)
    if (end < 0) throw new Error(`${place}: the block has no end`)
    blocks.push({ place, language, code: lines.slice(at + 1, end).join("\n"), use: useOf(place, language, mark) })
    mark = undefined
    at = end
  }
  return blocks
}

const useOf = (place: string, language: string, mark: string | undefined): Use => {
  const [, word, rest = ""] = /^(not run|schema|beside|yours)(?:: (.+))?$/.exec(mark ?? "") ?? []
  if (word === "not run" && rest !== "") return { kind: "left", reason: rest }
  if (word === "schema" && language === "json") return { kind: "schema", name: rest }
  if (word === "beside" && language === "sh") return { kind: "beside" }
  if (word === "yours" && language === "sh") return { kind: "own" }
  if (mark === undefined) {
    if (language === "sh" || language === "js" || language === "ts") return { kind: "run" }
    if (language === "text") return { kind: "shown" }
  }
  throw new Error(
    `${place}: say what this block is. Write sh, js, ts or text; json below <!-- schema: Name -->; ` +
      "or <!-- not run: the reason --> above it."
  )
}

/** The names of the values that each reader has of their own. Fails for a block that does something else than to export them. */
export const ownNames = ({ code, place }: Block): ReadonlyArray<string> =>
  code.split("\n").flatMap((line) => {
    const words = line.replace(/ +#.*$/, "").split(" ")
    const names = words.slice(1).map((word) => /^([A-Z_]+)=\S+$/.exec(word)?.[1])
    if (words[0] !== "export" || names.length === 0 || names.includes(undefined))
      throw new Error(`${place}: "${line}" is no export of values`)
    return names.flatMap((name) => name ?? [])
  })
