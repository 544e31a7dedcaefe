import { spawn } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { text as textOf } from "node:stream/consumers"
import { assert, describe, it } from "vitest"
import { blocksOf } from "../test/docs/Blocks.js"
import { type Installed, readmes, type TogetherWith } from "./Places.js"
import { published } from "./Published.js"

const { client, together } = published().installed

/** A way to compile a program: names of settings of the compiler, and the endings of its files. */
const ways = {
  "modules under nodenext": { module: "NodeNext", resolution: "NodeNext", end: "mts" },
  "modules under node16": { module: "Node16", resolution: "Node16", end: "mts" },
  "modules for a bundler": { module: "ESNext", resolution: "Bundler", end: "ts" },
  "CommonJS under nodenext": { module: "NodeNext", resolution: "NodeNext", end: "cts" },
  "CommonJS under node16": { module: "Node16", resolution: "Node16", end: "cts" }
} as const
type Way = keyof typeof ways
type Names = ReadonlyArray<"core" | "client" | "server">

interface Compiled {
  readonly diagnostics: ReadonlyArray<string>
  /** The number of the files of ours. */
  readonly reached: number
  /** The documentation at each place. */
  readonly shown: ReadonlyArray<string>
}

const compile = async (
  { directory }: Installed,
  way: Way,
  files: ReadonlyArray<string>,
  places: ReadonlyArray<number> = []
): Promise<Compiled> => {
  const child = spawn(process.execPath, [join(import.meta.dirname, "compile.mjs")], {
    stdio: ["pipe", "pipe", "inherit"]
  })
  child.stdin.end(JSON.stringify({ ...ways[way], directory, files, places }))
  return JSON.parse(await textOf(child.stdout))
}

const entryPoints = (names: Names): ReadonlyArray<string> =>
  names.flatMap((name) =>
    Object.keys(JSON.parse(readFileSync(join(published().packed[name].unpacked, "package.json"), "utf8")).exports)
      .filter((path) => !path.includes("*"))
      .map((path) => path.replace(/^\./, `@reins/${name}`))
  )

const programsOf = (names: Names): ReadonlyArray<string> =>
  names.flatMap((name) => blocksOf(readmes[name]).flatMap(({ code, language }) => (language === "js" ? [code] : [])))

/** The complaints about a program that names all that is exported, and about those of READMEs, which wait at their top as only modules can. */
const check = async (project: Installed, way: Way, names: Names): Promise<ReadonlyArray<string>> => {
  const { end } = ways[way]
  const lines = entryPoints(names).map(
    (path, at) => `import * as m${at} from "${path}"\nexport const e${at}: object = m${at}`
  )
  const texts = end === "cts" ? [lines.join("\n")] : [lines.join("\n"), ...programsOf(names)]
  const files = texts.map((text, at) => {
    const file = join(project.directory, `${way.replaceAll(" ", "-")}-${at}.${end}`)
    writeFileSync(file, text)
    return file
  })
  const { diagnostics, reached } = await compile(project, way, files)
  assert.isAbove(reached, files.length)
  return diagnostics
}

const cases: ReadonlyArray<readonly [TogetherWith, Way]> = [
  ["the lowest peers, by npm", "modules under nodenext"],
  ["the highest peers, by pnpm", "modules under nodenext"],
  ["the highest peers, by npm", "modules under node16"],
  ["the highest peers, by npm", "modules for a bundler"],
  ["the highest peers, by npm", "CommonJS under nodenext"]
]

describe("every entry point, and the programs of the READMEs", () => {
  it.each(cases)("with %s compile as %s", async (which, way) => {
    assert.deepStrictEqual(await check(together[which], way, ["core", "client", "server"]), [])
  })

  it.each([
    "modules under nodenext",
    "modules under node16",
    "modules for a bundler",
    "CommonJS under nodenext",
    "CommonJS under node16"
  ] as const)("of the client with the oldest Effect that it takes compile as %s", async (way) =>
    assert.deepStrictEqual(await check(client, way, ["client"]), [])
  )

  it("of the core are refused in words by a compiler that knows no `require` of modules", async () => {
    const said = await check(together["the highest peers, by npm"], "CommonJS under node16", ["core"])
    assert.isAbove(said.length, 0)
    for (const each of said) assert.match(each, /TS1479: The current file is a CommonJS module .* ECMAScript module/)
  })
})

it("a person who points at a name in the editor reads what it promises", async () => {
  const text = `import { Embedded, Sessions } from "@reins/core"
import { Reins } from "@reins/client"
import { ReinsClient } from "@reins/client/effect"
import { HttpServer } from "@reins/server"
import { Effect } from "effect"
declare const reins: Reins
void Embedded.layer, Embedded.owner, ReinsClient.layer, HttpServer.layer, reins.run, reins.sessions.create, reins.turns.wait
export const session = Effect.map(Sessions, (sessions) => sessions.get)
`
  const project = together["the highest peers, by npm"]
  const file = join(project.directory, "hover.mts")
  writeFileSync(file, text)
  const names = [
    "Embedded.layer",
    "Embedded.owner",
    "HttpServer.layer",
    "reins.run",
    "reins.sessions.create",
    "reins.turns.wait",
    "sessions.get"
  ]
  const places = names.map((name) => text.indexOf(name) + name.length - 1)
  const { shown } = await compile(project, "modules under nodenext", [file], places)
  const silent = names.filter((_, at) => (shown[at]?.length ?? 0) < 20)
  assert.deepStrictEqual(silent, [])
})
