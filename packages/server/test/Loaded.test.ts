import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "vitest"

const dist = resolve(dirname(fileURLToPath(import.meta.url)), "../dist")

/** The modules that a file of the build loads with it. What it imports when it needs it stands in brackets: `import("./x.js")`. */
const importsOf = (file: string): ReadonlyArray<string> =>
  [...readFileSync(file, "utf8").matchAll(/\b(?:from|import)\s*"([^"]+)"/g)].map(([, name = ""]) => name)

/** The parts of the build that are loaded once these are, and the packages outside of it. */
const loadedWith = (...names: ReadonlyArray<string>) => {
  const files = new Set<string>()
  const packages = new Set<string>()
  const visit = (file: string) => {
    if (files.has(file)) return
    files.add(file)
    for (const name of importsOf(file)) {
      const path = join(dist, name)
      if (!name.startsWith(".")) packages.add(name)
      else if (existsSync(path)) visit(path)
    }
  }
  for (const name of names) visit(join(dist, name))
  return { files: [...files], packages }
}

/** The part that a module of the source became, by the import of it in the program. */
const partOf = (name: string): string => {
  const found = new RegExp(`import\\("\\./(${name}-\\w+\\.js)"\\)`).exec(
    readFileSync(join(dist, "main.js"), "utf8")
  )?.[1]
  assert.isDefined(found, `main.js does not import ${name}`)
  return found
}

const textOf = (files: ReadonlyArray<string>): string => files.map((file) => readFileSync(file, "utf8")).join("\n")

describe("a server that starts loads only what it needs to become ready", () => {
  const { files, packages } = loadedWith("main.js", partOf("Serve"))

  it("reads less than 2 MB of JavaScript", () => {
    const bytes = files.reduce((sum, file) => sum + statSync(file).size, 0)
    // All of it was found: the services of the core alone have more than this.
    assert.isAbove(bytes, 500_000)
    assert.isBelow(bytes, 2_000_000)
  })

  it("leaves the PostgreSQL driver to an installation on PostgreSQL", () => {
    assert.include([...packages], "better-sqlite3")
    assert.notInclude([...packages], "pg")
  })

  it.each([
    ["the sender of mails", "SMTPConnection"],
    ["the page at /docs", "SwaggerUIBundle"],
    ["what unpacks archives", "TAR_BAD_ARCHIVE"]
  ])("leaves %s to those who use it", (_, mark) => {
    const everything = readdirSync(dist).filter((name) => name.endsWith(".js"))
    assert.include(textOf(everything.map((name) => join(dist, name))), mark)
    assert.notInclude(textOf(files), mark)
  })
})
