import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import ts from "typescript"
import { afterEach, assert, describe, it } from "vitest"
import { blocksOf } from "../test/docs/Blocks.js"
import { type Installed, readmes, type TogetherWith } from "./Places.js"
import { published } from "./Published.js"

const { client, together } = published().installed

/** A compiler holds its process. In between the reports of the tests have to get out. */
afterEach(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** How a program compiles: the options, and what its files end with. */
const ways = {
  "modules under nodenext": {
    module: ts.ModuleKind.NodeNext,
    resolution: ts.ModuleResolutionKind.NodeNext,
    end: "mts"
  },
  "modules under node16": { module: ts.ModuleKind.Node16, resolution: ts.ModuleResolutionKind.Node16, end: "mts" },
  "modules for a bundler": { module: ts.ModuleKind.ESNext, resolution: ts.ModuleResolutionKind.Bundler, end: "ts" },
  "CommonJS under nodenext": {
    module: ts.ModuleKind.NodeNext,
    resolution: ts.ModuleResolutionKind.NodeNext,
    end: "cts"
  },
  "CommonJS under node16": { module: ts.ModuleKind.Node16, resolution: ts.ModuleResolutionKind.Node16, end: "cts" }
} as const
type Way = keyof typeof ways

/** Declarations of ours are checked as the program is, so that a type which cannot be found is no `any` in silence. */
const optionsFor = (way: Way): ts.CompilerOptions => ({
  ...ts.getDefaultCompilerOptions(),
  module: ways[way].module,
  moduleResolution: ways[way].resolution,
  target: ts.ScriptTarget.ES2022,
  lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts", "lib.dom.asynciterable.d.ts"],
  types: ["node"],
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true
})

const entryPoints = (names: ReadonlyArray<"core" | "client" | "server">): ReadonlyArray<string> =>
  names.flatMap((name) =>
    Object.keys(JSON.parse(readFileSync(join(published().packed[name].unpacked, "package.json"), "utf8")).exports)
      .filter((path) => !path.includes("*"))
      .map((path) => path.replace(/^\./, `@reins/${name}`))
  )

/** Makes programs that name all that is exported, and the programs of READMEs, which wait at their top as only modules can. */
const write = (
  directory: string,
  way: Way,
  names: ReadonlyArray<"core" | "client" | "server">
): ReadonlyArray<string> => {
  const { end } = ways[way]
  const lines = entryPoints(names).map(
    (path, at) => `import * as m${at} from "${path}"\nexport const e${at}: object = m${at}`
  )
  const texts = end === "cts" ? [lines.join("\n")] : [lines.join("\n"), ...programs(names)]
  return texts.map((text, at) => {
    const file = join(directory, `${end}-${way.replaceAll(" ", "-")}-${at}.${end}`)
    writeFileSync(file, text)
    return file
  })
}

const programs = (names: ReadonlyArray<"core" | "client" | "server">): ReadonlyArray<string> =>
  names.flatMap((name) => blocksOf(readmes[name]).flatMap(({ code, language }) => (language === "js" ? [code] : [])))

/** What the compiler says of some programs, and of every declaration of ours that they reach. */
const check = (
  { directory }: Installed,
  way: Way,
  names: ReadonlyArray<"core" | "client" | "server">
): ReadonlyArray<string> => {
  const written = write(directory, way, names)
  const host = ts.createCompilerHost(optionsFor(way))
  host.getCurrentDirectory = () => directory
  const program = ts.createProgram(written, optionsFor(way), host)
  const reached = program
    .getSourceFiles()
    .filter(({ fileName }) => /\/@reins\//.test(fileName) || written.includes(fileName))
  assert.isAbove(reached.length, written.length)
  return [
    ...program.getOptionsDiagnostics(),
    ...reached.flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)])
  ].map(
    ({ code, file, messageText }) =>
      `${file?.fileName} TS${code}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`
  )
}

const cases: ReadonlyArray<readonly [TogetherWith, Way]> = [
  ["the lowest peers, by npm", "modules under nodenext"],
  ["the highest peers, by npm", "modules for a bundler"],
  ["the highest peers, by npm", "modules under node16"],
  ["the highest peers, by npm", "CommonJS under nodenext"],
  ["the highest peers, by pnpm", "modules under nodenext"]
]

describe("every entry point, and the programs of the READMEs", () => {
  it.each(cases)("with %s compile as %s", (which, way) => {
    assert.deepStrictEqual(check(together[which], way, ["core", "client", "server"]), [])
  })

  it.each(["modules under nodenext", "modules for a bundler", "CommonJS under nodenext"] as const)(
    "of the client with the oldest Effect that it takes compile as %s",
    (way) => assert.deepStrictEqual(check(client, way, ["client"]), [])
  )

  it("are refused in words by a compiler that knows no `require` of modules", () => {
    const said = check(client, "CommonJS under node16", ["client"])
    assert.isAbove(said.length, 0)
    for (const each of said) assert.match(each, /TS1479: The current file is a CommonJS module .* ECMAScript module/)
  })
})

describe("a person who points at a name in the editor", () => {
  const text = `import { Embedded, Sessions } from "@reins/core"
import { Reins } from "@reins/client"
import { ReinsClient } from "@reins/client/effect"
import { HttpServer } from "@reins/server"
import { Effect } from "effect"
declare const reins: Reins
void Embedded.layer, Embedded.owner, ReinsClient.layer, HttpServer.layer, reins.run, reins.sessions.create, reins.turns.wait
export const session = Effect.flatMap(Sessions, (sessions) => sessions.get)
export type Options = Parameters<typeof Embedded.layer>[0]["dataDir"]
`
  const directory = together["the highest peers, by npm"].directory
  const file = join(directory, "hover.mts")
  const service = ts.createLanguageService({
    getCompilationSettings: () => optionsFor("modules under nodenext"),
    getScriptFileNames: () => [file],
    getScriptVersion: () => "1",
    getScriptSnapshot: (name) => {
      const found = name === file ? text : ts.sys.readFile(name)
      return found === undefined ? undefined : ts.ScriptSnapshot.fromString(found)
    },
    getCurrentDirectory: () => directory,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (name) => name === file || ts.sys.fileExists(name),
    readFile: ts.sys.readFile,
    readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
    ...(ts.sys.realpath !== undefined && { realpath: ts.sys.realpath })
  })
  const names = [
    "Embedded.layer",
    "Embedded.owner",
    "HttpServer.layer",
    "reins.run",
    "reins.sessions.create",
    "reins.turns.wait",
    "sessions.get"
  ]

  it.each(names)("reads what %s promises", (name) => {
    const at = text.indexOf(name) + name.length - 1
    const { documentation = [] } = service.getQuickInfoAtPosition(file, at) ?? {}
    assert.isAbove(ts.displayPartsToString([...documentation]).length, 20)
  })
})
