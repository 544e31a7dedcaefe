import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

/**
 * Answers the question of git's second protocol for the refs of a bare repository, as git does, without a program. Undefined where only git can
 * tell: for any other command, and for repositories with tags, names beyond ASCII, other symbolic refs than `HEAD`, or hidden refs.
 */
export const listRefs = (repository: string, question: Buffer): Buffer | undefined => {
  const [command, ...lines] = linesOf(question)
  if (command !== "command=ls-refs") return undefined
  try {
    if (/hiderefs/i.test(readFileSync(join(repository, "config"), "utf8"))) return undefined
    const refs = new Map([...packedRefs(repository), ...looseRefs(repository, "refs")])
    const target = /^ref: (refs\/heads\/.+)\n$/.exec(readFileSync(join(repository, "HEAD"), "utf8"))?.[1] ?? ""
    const head = refs.get(target)
    if (head === undefined || [...refs].some(isUnusual)) return undefined
    const prefixes = lines.filter((line) => line.startsWith(prefixWord)).map((line) => line.slice(prefixWord.length))
    const isWanted = (name: string) => prefixes.length === 0 || prefixes.some((prefix) => name.startsWith(prefix))
    const more = (name: string) => (name === "HEAD" && lines.includes("symrefs") ? ` symref-target:${target}` : "")
    const names = ["HEAD", ...[...refs.keys()].sort()].filter(isWanted)
    return Buffer.from(
      `${names.map((name) => packet(`${refs.get(name) ?? head} ${name}${more(name)}\n`)).join("")}0000`
    )
  } catch {
    return undefined
  }
}

const prefixWord = "ref-prefix "

const isUnusual = ([name, id]: readonly [string, string]): boolean =>
  !/^[0-9a-f]{40}$/.test(id) || !/^[!-~]+$/.test(name) || name.startsWith("refs/tags/")

/** A line as git frames it: its length in four digits, with them. */
const packet = (line: string): string => (line.length + 4).toString(16).padStart(4, "0") + line

/** The lines of a question. Marks between its parts have no text. */
const linesOf = (question: Buffer): ReadonlyArray<string> => {
  const lines: Array<string> = []
  for (let at = 0; at + 4 <= question.length; ) {
    const length = Math.max(Number.parseInt(question.toString("latin1", at, at + 4), 16), 4)
    if (length > 4) lines.push(question.toString("latin1", at + 4, at + length).trimEnd())
    at += length
  }
  return lines
}

const packedRefs = (repository: string): ReadonlyArray<readonly [string, string]> => {
  const names = readdirSync(repository)
  if (!names.includes("packed-refs")) return []
  const lines = readFileSync(join(repository, "packed-refs"), "utf8").split("\n")
  return lines.flatMap((line) => {
    const [id = "", name] = line.split(" ")
    return name === undefined || line.startsWith("#") ? [] : [[name, id] as const]
  })
}

const looseRefs = (repository: string, folder: string): ReadonlyArray<readonly [string, string]> =>
  readdirSync(join(repository, folder), { withFileTypes: true }).flatMap((entry) => {
    const name = `${folder}/${entry.name}`
    if (entry.isDirectory()) return looseRefs(repository, name)
    return name.endsWith(".lock") ? [] : [[name, readFileSync(join(repository, name), "utf8").trim()] as const]
  })
