import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import { hostRefusal, onWindows } from "@reins/base/base/HostRefusal"

const root = join(import.meta.dirname, "../../..")

interface Host {
  readonly platform?: string
  readonly node?: string
}

/** Code that has Node say that it is another one, and that ends the process when it requires something of that kind. */
const as = ({ platform = process.platform, node = process.versions.node }: Host, kind: string) =>
  `data:text/javascript,${encodeURIComponent(`
import Module from "node:module"
Object.defineProperty(process, "platform", { value: "${platform}" })
Object.defineProperty(process, "versions", { value: { ...process.versions, node: "${node}" } })
Object.defineProperty(process, "version", { value: "v${node}" })
const load = Module._load
Module._load = (name, ...rest) => {
  if (${kind}) process.exit(99)
  return load(name, ...rest)
}
`)}`

const run = (host: Host, file: string, args: ReadonlyArray<string>) => {
  const { status, stderr, stdout } = spawnSync(
    process.execPath,
    ["--import", as(host, "!Module.isBuiltin(name)"), join(root, file), ...args],
    { encoding: "utf8" }
  )
  return { status, stderr, stdout }
}

const sentenceFor = (node: string) =>
  `Reins needs Node 20.19 or newer; this is v${node}. Install a newer Node and run the command again.`

const hosts: ReadonlyArray<readonly [string, Host, string]> = [
  ["Windows itself", { platform: "win32" }, onWindows],
  ["Node 18", { node: "18.20.8" }, sentenceFor("18.20.8")],
  ["Node 20 before 20.19", { node: "20.18.3" }, sentenceFor("20.18.3")]
]

describe.each(hosts)("on %s", (_, host, sentence) => {
  const programs: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
    ["packages/server/dist/main.js", ["serve"]],
    ["packages/server/dist/main.js", ["--version"]],
    ["scripts/setup.mjs", ["--quiet"]],
    ["scripts/start.mjs", []],
    ["scripts/system.mjs", []]
  ]
  for (const [file, args] of programs)
    it(`${file} ${args.join(" ")} says what to do, and loads nothing`, () => {
      assert.deepStrictEqual(run(host, file, args), { status: 1, stderr: `${sentence}\n`, stdout: "" })
    })

  it("a program that embeds the core is told the same, before the driver of SQLite is loaded", () => {
    const core = pathToFileURL(join(root, "packages/core/dist/index.js")).href
    const { status, stderr } = spawnSync(
      process.execPath,
      ["--import", as(host, "/sqlite/.test(name)"), "--input-type=module", "--eval", `await import("${core}")`],
      { encoding: "utf8", cwd: root }
    )
    assert.strictEqual(status, 1)
    assert.include(stderr, `Error: ${sentence}`)
  })
})

it("every release from 20.19 on is taken", () => {
  for (const node of ["20.19.0", "20.20.2", "22.23.3", "24.21.0", "26.10.0", "100.0.0"])
    assert.isNull(hostRefusal("linux", node))
  for (const node of ["12.0.0", "16.20.2", "18.20.8", "20.0.0", "20.18.9"])
    assert.strictEqual(hostRefusal("darwin", node), sentenceFor(node))
})
