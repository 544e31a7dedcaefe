import { execFile } from "node:child_process"
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "vitest"
import { root, tools } from "./Places.js"
import { published } from "./Published.js"

const run = promisify(execFile)

const filesOf = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((file) =>
    statSync(join(directory, file)).isFile()
  )

const { packed } = published()

describe.each(Object.entries(packed))("@reins/%s, packed", (name, { tarball, unpacked }) => {
  const manifest = JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8"))
  const files = filesOf(unpacked)

  it("says what it is, whose, and under which licence", () => {
    assert.strictEqual(manifest.name, `@reins/${name}`)
    assert.strictEqual(manifest.repository.directory, `packages/${name}`)
    assert.match(manifest.repository.url, /^git\+https:/)
    for (const field of ["description", "keywords", "homepage", "bugs", "engines"])
      assert.isDefined(manifest[field], field)
    assert.include(files, "README.md")
    assert.strictEqual(readFileSync(join(unpacked, "LICENSE"), "utf8"), readFileSync(join(root, "LICENSE"), "utf8"))
  })

  it("holds nothing that only the repository needs", () => {
    const folders = new Set(files.map((file) => file.split("/")[0]))
    for (const folder of folders)
      assert.include(["LICENSE", "README.md", "console", "dist", "lib", "manifests", "package.json"], folder)
    assert.deepStrictEqual(
      files.filter(
        (file) =>
          !/\.(js|cjs|json|d\.c?ts)$|^(README\.md|LICENSE)$|^console\/.+\.(html|css|svg)$|^dist\/empty\.db$/.test(file)
      ),
      []
    )
    const texts = files.map((file) => [file, readFileSync(join(unpacked, file), "utf8")] as const)
    const leaked = texts.filter(
      ([, text]) => /@reins\/source|^\/\/[#@] sourceMappingURL=(?!data:)/m.test(text) || text.includes(root)
    )
    assert.deepStrictEqual(
      leaked.map(([file]) => file),
      []
    )
    for (const field of ["scripts", "devDependencies", "//exports"]) assert.isUndefined(manifest[field], field)
  })

  it("has the file of every entry point, and those of its program", () => {
    type Conditions = Readonly<Record<string, string | Readonly<Record<string, string>>>>
    const targets = Object.entries<Conditions>(manifest.exports).flatMap(([path, conditions]) =>
      path.includes("*")
        ? []
        : Object.values(conditions).flatMap((to) => (typeof to === "string" ? [to] : Object.values(to)))
    )
    for (const target of [...targets, ...Object.values<string>(manifest.bin ?? {})])
      assert.isTrue(existsSync(join(unpacked, target)), target)
    assert.isAbove(targets.length, 1)
  })

  it("gives publint nothing to say, and attw nothing of any way that knows `exports`", async () => {
    const { stdout } = await run(process.execPath, [join(import.meta.dirname, "judge.mjs"), tarball, tools])
    const { entryPoints, messages, problems } = JSON.parse(stdout)
    assert.deepStrictEqual(messages, [])
    // The profile `esm-only` of attw: CommonJS requires these modules, which Node can since 20.19.
    const wrong = problems.filter(
      ({ kind, resolutionKind }: Record<string, string>) =>
        resolutionKind !== "node10" && !(kind === "CJSResolvesToESM" && resolutionKind === "node16-cjs")
    )
    assert.deepStrictEqual(wrong, [])
    assert.isNotEmpty(entryPoints)
  })
})

it("are one version, and the server asks for the core of its own", () => {
  const manifests = Object.values(packed).map(({ unpacked }) =>
    JSON.parse(readFileSync(join(unpacked, "package.json"), "utf8"))
  )
  assert.strictEqual(new Set(manifests.map(({ version }) => version)).size, 1)
  assert.strictEqual(manifests[2].peerDependencies["@reins/core"], manifests[0].version)
})
