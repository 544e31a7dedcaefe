import { assert, describe, it } from "@effect/vitest"
import { parseAttributes } from "@reins/machine/capture/attributes/Attributes"
import { headReader } from "@reins/machine/capture/attributes/BlobHeads"
import { parseTreeRecord } from "@reins/machine/capture/attributes/TreeAttributes"
import { parseBatch } from "@reins/machine/capture/files/Storing"
import { parseStaged } from "@reins/machine/capture/Survey"
import { modeIn } from "@reins/machine/git/read/CheckOut"
import { batchHasher } from "@reins/machine/git/read/Subject"
import { parseListed } from "@reins/machine/git/read/Tree"
import { refsIn } from "@reins/machine/repository/Bundles"
import { parseChanges } from "@reins/machine/repository/read/Changes"
import { parseModules } from "@reins/machine/repository/read/GitModules"
import { parsePackedRefs } from "@reins/machine/repository/remote/PackedRefs"

const id = "a".repeat(40)
const long = "a".repeat(64)
const head = `:100644 100644 ${id} ${id}`
const latin1 = (text: string) => Buffer.from(text, "latin1")

/** A reader of git's output, with an output that it knows and outputs that it does not. */
const readers: Readonly<
  Record<string, readonly [read: (text: string) => unknown, known: string, odd: ReadonlyArray<string>]>
> = {
  "a diff": [
    (text) => parseChanges(latin1(text)),
    `${head} M\0a\nb\t\xff\0${head} R087\0old\0new\x001\t2\ta\nb\t\xff\x00-\t-\t\0old\0new\0`,
    [
      `${head} M\0`,
      `${head} R100\0old\0`,
      `${head} X\0a\0`,
      `${head} \0a\0`,
      `${head} M\0\0`,
      `:100644 100644 ${long} ${long} M\0a\0`,
      `:100644 100644 ${id}... ${id}... M\0a\0`,
      `::100644 100644 100644 ${id} ${id} ${id} MM\0a\0`,
      "one\ttwo\ta\0",
      "1\t-\ta\0",
      "1\t2\0",
      "warning: something\0"
    ]
  ],
  "a tree with sizes": [
    parseListed,
    `100644 blob ${id}      12\ta b\tc\n\xff`,
    [
      "",
      `100644 blob ${id}       -\ta`,
      `100644 blob ${id}      12`,
      `100644 blob ${long}      12\ta`,
      `160000 commit ${id}      12\ta`,
      `100644 blob ${id} 1x\ta`,
      `100644 thing ${id}      12\ta`
    ]
  ],
  "the paths of submodules": [
    (text) => parseModules(latin1(text)),
    "submodule.a.b\xff.path\na\nb\xff/\0submodule.a.b\xff.url\nhttps://x\0submodule..path\nc\0submodule.../d.url\0submodule.e.path\0",
    [
      "submodule.path\na\0",
      "submodule.a.branch\nb\0",
      "core.path\na\0",
      "Submodule.a.path\na\0",
      "warning: something\0"
    ]
  ],
  "a tree": [
    parseTreeRecord,
    `160000 commit ${id}\ta\tb\n\xff`,
    [
      "",
      `100644 blob ${id}`,
      `100644 blob ${id}\t`,
      `100644 blob ${long}\ta`,
      `100644 tag ${id}\ta`,
      `1006 blob ${id}\ta`
    ]
  ],
  "the beginnings of contents": [
    (text) => {
      const reader = headReader([id], 2)
      for (const byte of latin1(text)) reader.take(Buffer.of(byte))
      return reader.end()
    },
    `${id} blob 3\na\nb\n`,
    [
      "",
      `${id} missing\n`,
      `${id} tree 3\nabc\n`,
      `${"b".repeat(40)} blob 3\nabc\n`,
      `${id} blob 3\nabc`,
      `${id} blob 3\nab\n`,
      `${id} blob 3\nabcd\n`,
      `${id} blob 3\nabc\n${id} blob 3\nabc\n`,
      `${id} blob 3`,
      `warning: ${"something ".repeat(20)}`
    ]
  ],
  "the modes of a tree": [
    modeIn,
    `160000 commit ${id}\ta\tb`,
    ["", `100644 blob ${id}`, `100644 blob ${long}\ta`, `100644 tag ${id}\ta`, `1006 blob ${id}\ta`]
  ],
  "an index": [
    parseStaged,
    `100755 ${id} 0\ta\nb`,
    ["", `100755 ${id} 1\ta`, `100755 ${id}\ta`, `100755 ${long} 0\ta`, `100755 ${id} 0\t`]
  ],
  "the references of a bundle": [
    refsIn,
    `${id} refs/reins/a\n`,
    [`${id} refs/reins/a`, `${id}\n`, `${long} refs/reins/a\n`, `${id} refs/reins/a..b\n`, "\n", "warning: odd\n"]
  ],
  attributes: [
    (text) => parseAttributes(latin1(text), ["text"]),
    "a\nb\0text\0unspecified\0",
    ["a\0text\0", "a\0other\0set\0", "\0text\0set\0", "a\0text\0\0", "a: text: set\n"]
  ],
  "blobs in a row": [
    (text) => parseBatch(latin1(text), [id]),
    `${id} blob 3\nabc\n`,
    [`${id} missing\n`, `${id} blob 3\nab\n`, `${id} blob 3\nabc\nmore`, `${"b".repeat(40)} blob 3\nabc\n`, ""]
  ],
  "packed references": [
    parsePackedRefs,
    `# pack-refs with: peeled\n${id} refs/tags/a\n^${id}\n`,
    [`${id}\n`, `${long} refs/tags/a\n`, `${id} other/a\n`, "^abc\n", "<<<<<<< HEAD\n"]
  ]
}

describe("a reader of git's output", () => {
  for (const [name, [read, known, odd]] of Object.entries(readers))
    it(`of ${name} refuses what it does not know`, () => {
      assert.doesNotThrow(() => read(known))
      for (const text of odd) assert.throws(() => read(text), Error, undefined, JSON.stringify(text))
    })

  it("of blobs finds nothing in what it does not know, however the pieces fall", () => {
    const known = `${id} blob 3\nabc\n${"b".repeat(40)} blob 0\n\n`
    const odd = [
      `${id} missing\n`,
      `${id} tree 3\nabc\n`,
      `${id} blob 3\nab`,
      `${id} blob\nabc\n`,
      `${long} blob 3\nabc\n`
    ]
    const foundIn = (text: string, piece: number) => {
      const { found, take } = batchHasher()
      for (let at = 0; at < text.length; at += piece) take(latin1(text.slice(at, at + piece)))
      return found()
    }
    for (const piece of [1, 2, 7, 1000]) {
      assert.strictEqual(foundIn(known, piece)?.size, 2)
      for (const text of odd) assert.strictEqual(foundIn(text, piece), null, text)
    }
  })
})
