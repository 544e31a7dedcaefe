import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { filesIn, sizeText } from "@reins/cli/client/Attach"
import { completeMessage } from "@reins/cli/client/MessageWords"
import * as fc from "fast-check"
import { afterAll, assert, beforeAll, describe, it } from "vitest"

let root = ""
let folder = ""

beforeAll(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "reins-attach-")))
  folder = join(root, "project")
  mkdirSync(join(folder, "src"), { recursive: true })
  for (const [name, text] of [
    ["src/cart.js", "sum"],
    ["src/card.js", "card"],
    ["my notes.txt", "notes"],
    [".env", "KEY=1"],
    ["../secret.txt", "secret"],
    ["../shot.png", "pixels"]
  ] as const)
    writeFileSync(join(folder, name), text)
  symlinkSync(join(root, "secret.txt"), join(folder, "link.txt"))
})

afterAll(() => rmSync(root, { recursive: true, force: true }))

const named = (message: string) => filesIn(message, folder).map(({ name, path, size }) => [name, path, size])

describe("the files of a message", () => {
  it("are those behind an @, with blanks behind backslashes or in quotes, each once", () => {
    const cart = ["src-cart.js", join(folder, "src/cart.js"), 3]
    const notes = ["my notes.txt", join(folder, "my notes.txt"), 5]
    assert.deepStrictEqual(named("Look at @src/cart.js, then again @src/cart.js."), [cart])
    assert.deepStrictEqual(named("@my\\ notes.txt and (@src/cart.js) @'my notes.txt'"), [notes])
    assert.deepStrictEqual(named('@"my notes.txt" @./src/cart.js'), [notes, cart])
  })

  it("are pictures anywhere by their path, and nothing else without an @", () => {
    const shot = ["shot.png", join(root, "shot.png"), 6]
    assert.deepStrictEqual(named(`See ${join(root, "shot.png")} and ../shot.png`), [shot])
    assert.deepStrictEqual(named("src/cart.js my notes.txt none.png"), [])
  })

  it("lead out of the directory by no path and no link, and words that are no files stay words", () => {
    assert.deepStrictEqual(named("@../secret.txt @link.txt @/etc/passwd @~/.ssh/id @nobody @src @"), [])
    assert.deepStrictEqual(named("mail ann@src/cart.js"), [])
  })

  it("are never more than a message takes", () => {
    for (let each = 0; each < 21; each++) writeFileSync(join(folder, `many-${each}`), "")
    const message = Array.from({ length: 21 }, (_, each) => `@many-${each}`).join(" ")
    assert.throws(() => filesIn(message, folder), "A message takes 20 files, and this one names 21.")
  })

  it("are found in any text", () => {
    fc.assert(fc.property(fc.fullUnicodeString(), (text) => assert.isAtMost(filesIn(text, folder).length, text.length)))
  })

  it("have a size that people read", () => {
    assert.deepStrictEqual([0, 999, 1200, 3_450_000].map(sizeText), ["0 B", "999 B", "1.2 kB", "3.5 MB"])
  })
})

describe("Tab", () => {
  const complete = (line: string) => completeMessage(["/diff", "/deliver", "/help"], folder)(line)

  it("completes commands at the beginning, paths behind an @, and nothing else", () => {
    assert.deepStrictEqual(complete("/d"), [["/diff", "/deliver"], "/d"])
    assert.deepStrictEqual(complete("see @src/ca"), [["@src/card.js", "@src/cart.js"], "@src/ca"])
    assert.deepStrictEqual(complete("@sr"), [["@src/"], "@sr"])
    assert.deepStrictEqual(complete("@my"), [["@my\\ notes.txt"], "@my"])
    assert.deepStrictEqual(complete("@.e"), [["@.env"], "@.e"])
    assert.deepStrictEqual(complete("@none/x"), [[], "@none/x"])
    for (const line of ["", "plain", "a /d", "ann@sr"]) assert.isUndefined(complete(line), line)
  })
})
