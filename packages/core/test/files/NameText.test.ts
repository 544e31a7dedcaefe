import { isUtf8 } from "node:buffer"
import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { leftoversOf } from "@reins/machine/files/Leftovers"
import { nameBytes, nameText, pathBytes, pathNames, pathText, quotedPath } from "@reins/machine/files/NameText"
import { pack, unpackFiles } from "@reins/machine/files/PackedFiles"
import { removeTree } from "@reins/machine/files/RemoveTree"
import { readTree } from "@reins/machine/files/TreeReader"
import { parseWorkspacePath } from "@reins/machine/files/WorkspacePath"
import { temporary } from "@reins/testing/git/Fixture"
import { packagesOfCore, sourcesOf } from "@reins/testing/Sources"
import { Effect, Either } from "effect"
import * as fc from "fast-check"

/** Bytes that a name may have, with many that the form itself uses. */
const anyName = fc
  .array(
    fc.oneof(
      fc.constantFrom(...[0x22, 0x5c, 0x32, 0x33, 0x35, 0x31, 0x61, 0xe9, 0xc3, 0xa9, 0xff, 0xf0, 0x9f, 0x98, 0x80]),
      fc.integer({ min: 1, max: 255 })
    ),
    { minLength: 1, maxLength: 12 }
  )
  .map((bytes) => Buffer.from(bytes.map((byte) => (byte === 0x2f ? 0x2e : byte))))

describe("a name as text", () => {
  it("gives back every name, is UTF-8, and never U+FFFD", () => {
    fc.assert(
      fc.property(anyName, (name) => {
        const text = nameText(name)
        assert.deepStrictEqual([...nameBytes(text)], [...name])
        assert.strictEqual(Buffer.from(text).toString(), text)
        if (!isUtf8(name)) assert.notInclude(text.replaceAll(name.toString("utf8"), ""), "\uFFFD")
        assert.notInclude(text, "/")
      }),
      { numRuns: 2_000 }
    )
    fc.assert(
      fc.property(fc.array(anyName, { minLength: 1, maxLength: 4 }), (names) => {
        const path = Buffer.from(names.map((name) => name.toString("latin1")).join("/"), "latin1")
        assert.deepStrictEqual(pathBytes(pathText(path)), path)
        assert.deepStrictEqual(pathNames(pathText(path)), names)
      })
    )
  })

  it("is the name itself where that is UTF-8, and quoted as git does it where not", () => {
    assert.strictEqual(nameText(Buffer.from('é "x" \\ y')), 'é "x" \\ y')
    assert.strictEqual(pathText(Buffer.from("data/caf\xe9.txt", "latin1")), 'data/"caf\\351.txt"')
    assert.strictEqual(nameText(Buffer.from('"caf\\351.txt"')), '"\\"caf\\\\351.txt\\""')
    assert.strictEqual(quotedPath(Buffer.from("data/caf\xe9.txt", "latin1")), 'data/"caf\\351.txt"')
    assert.strictEqual(quotedPath(Buffer.from("data/x")), '"data/x"')
  })

  it("stands for no other name than one that needs the form, and leads nowhere else", () => {
    for (const text of ['"\\056\\056"', '"\\303\\251"', '"a\\057b"', '"\\000"', '"a\\\\b"', '".g\\342\\200\\214it"'])
      assert.strictEqual(nameBytes(text).toString(), text)
    assert.deepStrictEqual(
      Either.getOrThrow(parseWorkspacePath('data/"caf\\351.txt"')).map((name) => name.toString("latin1")),
      ["data", "caf\xe9.txt"]
    )
    for (const path of ['"\\056\\056"/x', "a\\b", '"a\\\\b"']) assert.isTrue(Either.isLeft(parseWorkspacePath(path)))
  })
})

const listed = async (tree: string): Promise<ReadonlyArray<string>> => {
  const entries: Array<string> = []
  for await (const { linkpath, path } of readTree(tree, "t")) entries.push(`${path} ${linkpath}`.trim())
  return entries
}

describe("a tree with names that are not UTF-8", () => {
  it.scopedLive("is read, searched, packed, unpacked and removed", () =>
    Effect.gen(function* () {
      const root = yield* temporary
      const at = (...names: ReadonlyArray<string>) => Buffer.from(names.join("/"), "latin1")
      const tree = join(root, "tree")
      fs.mkdirSync(at(tree, "d\xe9p", "shut"), { recursive: true })
      fs.writeFileSync(at(tree, "caf\xe9"), "1")
      fs.writeFileSync(at(tree, "d\xe9p", "x"), "22")
      fs.symlinkSync(at("d\xe9p", "x"), at(tree, "link\xff"))
      const entries = yield* Effect.promise(() => listed(tree))
      const expected = ["t", 't/"caf\\351"', 't/"d\\351p"', 't/"d\\351p"/shut', 't/"d\\351p"/x']
      assert.deepStrictEqual(entries, [...expected, 't/"link\\377" "d\\351p"/x'])
      const bounds = { maxBytes: 100, maxEntries: 100 }
      const { items } = yield* Effect.promise(() => leftoversOf(tree, ['"d\\351p"/x'], new Set(), bounds))
      const shut = { path: '"d\\351p"/shut', bytes: 0 }
      assert.deepStrictEqual(items, [{ path: '"caf\\351"', bytes: 1 }, shut, { path: '"link\\377"', bytes: 0 }])
      const file = join(root, "packed")
      yield* Effect.promise(() => pack(file, [{ part: "p", entries: readTree(tree, "t") }]))
      const copy = join(root, "copy")
      fs.mkdirSync(copy)
      assert.deepStrictEqual(yield* unpackFiles(file, () => copy), [])
      const names = (directory: string) =>
        fs.readdirSync(Buffer.from(directory), { encoding: "latin1", recursive: false }).sort()
      assert.deepStrictEqual(names(copy), names(tree))
      assert.strictEqual(fs.readFileSync(at(copy, "link\xff"), "utf8"), "22")
      fs.chmodSync(at(copy, "d\xe9p", "shut"), 0o500)
      fs.chmodSync(at(copy, "d\xe9p"), 0o500)
      yield* Effect.promise(() => removeTree(copy))
      assert.isFalse(fs.existsSync(copy))
    })
  )
})

describe("the sources", () => {
  /** Directories whose names Reins itself has chosen, or that the system makes. */
  const own = new Set([
    "backup/Restore.ts",
    "bench/Archives.ts",
    "bench/DiskHere.ts",
    "bench/OwnedDirectories.ts",
    "bench/setup/SetupSweep.ts",
    "bench/snapshots/SealedFiles.ts",
    "bench/StoreSweep.ts",
    "executor/Container.ts",
    "executor/Descriptors.ts",
    "executor/Guard.ts",
    "executor/ProcessTable.ts",
    "executor/sandbox/Cgroups.ts",
    "repository/Commit.ts",
    "repository/objects/StoreCare.ts",
    "harness/ManifestFiles.ts",
    "identity/OutboxFiles.ts",
    "identity/OutboxMailer.ts",
    "placement/BootRecord.ts"
  ])
  const files = sourcesOf(packagesOfCore)

  it("read names of directories that others fill as bytes", () => {
    const asText = files.flatMap(({ path, text }) =>
      [...text.matchAll(/\b(?:readdir|readdirSync|opendir|opendirSync|readlink|readlinkSync)\(([^\n]*)/g)]
        .filter(([, rest = ""]) => !/encoding: "(?:buffer|latin1)"/.test(rest))
        .map(() => path)
    )
    assert.deepStrictEqual(
      [...new Set(asText)].filter((name) => !own.has(name)),
      []
    )
  })

  it("name the reason of a failure and guess none", () => {
    const guesses = files.filter(({ text }) => /check the (?:space|permissions|data directory)/.test(text))
    assert.deepStrictEqual(
      guesses.map(({ name }) => name),
      []
    )
  })
})
