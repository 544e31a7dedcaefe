import { execFileSync } from "node:child_process"
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

const [, image = []] = stagesOf(deployed("Dockerfile"))
const words = (text = "[]"): ReadonlyArray<string> => JSON.parse(text)

/** The environment and the words of the command of the image. Paths of its server are those of this repository. */
export const imageSays = {
  environment: Object.fromEntries(rests(image, "ENV").map((line) => line.split("=", 2))) as Readonly<
    Record<string, string>
  >,
  entryPoint: words(rests(image, "ENTRYPOINT")[0]).map((word) => word.replace(rests(image, "WORKDIR")[0] ?? "", root))
}

/** Documents of YAML as values. */
export const readYaml = (text: string): ReadonlyArray<unknown> => {
  const program =
    "import json, sys, yaml; json.dump([each for each in yaml.safe_load_all(sys.stdin) if each], sys.stdout)"
  return JSON.parse(execFileSync("python3", ["-c", program], { input: text, encoding: "utf8" }))
}
