import { readFileSync } from "node:fs"
import { join } from "node:path"

export const root = join(import.meta.dirname, "../../../..")

/** A file of `deploy/`, by its path. */
export const deployed = (name: string): string => join(root, "deploy", name)

/** An instruction of a Dockerfile: its word, and the rest on one line. */
export interface Instruction {
  readonly word: string
  readonly rest: string
}

/** The stages of a Dockerfile in their order, each with its instructions. */
export const stagesOf = (path: string): ReadonlyArray<ReadonlyArray<Instruction>> => {
  const lines = readFileSync(path, "utf8")
    .replace(/^\s*#.*\n/gm, "")
    .replace(/\\\n/g, " ")
    .split("\n")
    .filter((line) => line.trim() !== "")
  const stages: Array<Array<Instruction>> = []
  for (const line of lines) {
    const [, word = "", rest = ""] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? []
    if (word === "") throw new Error(`no instruction: ${line}`)
    if (word === "FROM") stages.push([])
    stages.at(-1)?.push({ word, rest: rest.trim() })
  }
  return stages
}

/** The rests of the instructions of a stage that have the word. */
export const rests = (stage: ReadonlyArray<Instruction>, word: string): ReadonlyArray<string> =>
  stage.flatMap((each) => (each.word === word ? [each.rest] : []))
