import { execFile } from "node:child_process"
import { existsSync, lstatSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "vitest"
import type { Installed } from "./Places.js"
import { published } from "./Published.js"

const { client, server, together } = published().installed

/** The versions of a package below a directory of modules, as in `3.22.4 at node_modules/effect`. */
const copiesOf = (name: string, { directory }: Installed): ReadonlyArray<string> =>
  readdirSync(join(directory, "node_modules"), { recursive: true, encoding: "utf8" })
    .filter(
      (path) => path.endsWith(`${name}/package.json`) && path.replace(/.*node_modules\//, "") === `${name}/package.json`
    )
    .map((path) => join(directory, "node_modules", path))
    .filter((path) => !lstatSync(join(path, "..")).isSymbolicLink())
    .map((path) => String(JSON.parse(readFileSync(path, "utf8")).version))

/** The space that a directory takes of a disk, in megabytes. */
const megabytes = (directory: string): number =>
  readdirSync(directory, { recursive: true, encoding: "utf8" }).reduce(
    (sum, file) => sum + lstatSync(join(directory, file)).blocks * 512,
    0
  ) / 1e6

const range = (name: string): string =>
  JSON.parse(readFileSync(join(published().packed.core.unpacked, "package.json"), "utf8")).peerDependencies[name]

/** Waits beside vitest: tests that hold its worker for a minute are taken for dead. */
const run = (directory: string, command: string, ...args: ReadonlyArray<string>) =>
  promisify(execFile)(command, args, { cwd: directory, encoding: "utf8" })

describe.each(Object.entries(together))("together with %s", (which, project) => {
  it("the packages are installed without a word about peers", () => {
    assert.isFalse(project.failed, project.output)
    assert.notMatch(project.output, /peer|ERESOLVE|deprecated/i)
  })

  it("there is one copy of what has to be one, and it is the one that was asked for", () => {
    for (const name of ["effect", "@effect/platform"]) {
      const copies = copiesOf(name, project)
      assert.lengthOf(copies, 1, name)
      if (which.includes("lowest")) assert.strictEqual(`^${copies[0]}`, range(name))
    }
  })

  it("CommonJS takes every package by `require`", async () => {
    const names = [
      "@reins/core",
      "@reins/core/store/Postgres",
      "@reins/client",
      "@reins/client/effect",
      "@reins/server"
    ]
    const program = `console.log(${names.map((name) => `Object.keys(require(${JSON.stringify(name)})).length > 0`).join(", ")})`
    const { stderr, stdout } = await run(
      project.directory,
      process.execPath,
      "--input-type=commonjs",
      "--eval",
      program
    )
    assert.deepStrictEqual([stdout.trim(), stderr], [names.map(() => "true").join(" "), ""])
  })
})

it.each(Object.entries(together).filter(([, { by }]) => by === "npm"))(
  "npm finds nothing amiss with %s",
  async (_: string, project) => {
    const { stdout } = await run(project.directory, "npm", "ls", "--all")
    assert.notMatch(stdout, /invalid|extraneous|UNMET DEPENDENCY/)
  }
)

it("the client alone is itself and the Effect that was asked for", () => {
  assert.isFalse(client.failed, client.output)
  assert.lengthOf(copiesOf("effect", client), 1)
  assert.notInclude(readdirSync(join(client.directory, "node_modules")), "@effect")
  assert.deepStrictEqual(readdirSync(join(client.directory, "node_modules/@reins")), ["client"])
})

describe("the server, installed with nothing else", () => {
  it("takes at most 51 MB, with all that compiling better-sqlite3 leaves", () => {
    assert.isFalse(server.failed, server.output)
    assert.isAtMost(megabytes(join(server.directory, "node_modules")), 51)
  })

  it("brings no package that its bundle carries", () => {
    const there = ["effect", "@effect", "prom-client", "ajv", "undici"].filter((name) =>
      existsSync(join(server.directory, "node_modules", name))
    )
    assert.deepStrictEqual(there, [])
  })

  it("has the command line, with the manifests of every provider", async () => {
    const reins = async (...args: ReadonlyArray<string>) =>
      (await run(server.directory, "npx", "reins", ...args)).stdout
    const { version } = JSON.parse(readFileSync(join(published().packed.server.unpacked, "package.json"), "utf8"))
    assert.strictEqual((await reins("--version")).trim(), version)
    assert.match(await reins("harnesses", "list"), /alpha/)
  })
})
