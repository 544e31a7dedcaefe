import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, it } from "@effect/vitest"
import ts from "typescript"
import { Reins } from "../src/index.js"

const here = fileURLToPath(new URL(".", import.meta.url))
const probe = `${here}Probe.ts`
const client = new Reins({ baseUrl: "http://127.0.0.1" })

/** Every function of the client as a program writes it, as in `reins.sessions.create`. */
const methods = Object.entries(client).flatMap(([group, value]) =>
  typeof value === "object" ? Object.keys(value).map((name) => `reins.${group}.${name}`) : []
)

const text = `import { Reins } from "../src/index.js"\ndeclare const reins: Reins\n${[...methods, "reins.run"].join("\n")}\n`

/** The text that an editor shows for a place in the program. */
const editor = (): ts.LanguageService => {
  const { config } = ts.readConfigFile(`${here}../tsconfig.json`, ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, `${here}..`)
  return ts.createLanguageService({
    getScriptFileNames: () => [probe],
    getScriptVersion: () => "1",
    getScriptSnapshot: (file) => {
      const source = file === probe ? text : ts.sys.fileExists(file) ? readFileSync(file, "utf8") : undefined
      return source === undefined ? undefined : ts.ScriptSnapshot.fromString(source)
    },
    getCurrentDirectory: () => here,
    // The names of a browser are nothing to this test.
    getCompilationSettings: () => ({ ...options, lib: ["lib.es2022.d.ts"] }),
    getDefaultLibFileName: (given) => ts.getDefaultLibFilePath(given),
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile
  })
}

it("an editor tells of every method what it does, and of an operation where it goes", () => {
  const service = editor()
  assert.isAbove(methods.length, 85)
  for (const method of [...methods, "reins.run"]) {
    const info = service.getQuickInfoAtPosition(probe, text.indexOf(`\n${method}\n`) + method.length)
    const shown = ts.displayPartsToString(info?.documentation ?? [])
    assert.match(shown, /^[A-Z].{10,}\./s, method)
    const own = [
      "reins.run",
      "reins.sessions.stream",
      "reins.workspaces.stream",
      "reins.turns.wait",
      "reins.jobs.wait",
      "reins.mergeRequests.wait"
    ].includes(method)
    if (!own) assert.match(shown, /`(GET|POST|PUT|PATCH|DELETE) \/api\//, method)
  }
})
