import * as fs from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { findCollisions, foldedName } from "@reins/machine/git/findings/Collisions"
import { kindOfFilter } from "@reins/machine/git/findings/Obstacles"
import { cloned, gitLayer, put } from "@reins/testing/git/Fixture"
import { variants } from "@reins/testing/Variants"
import { Effect } from "effect"
import * as fc from "fast-check"

const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
const lfs = "*.bin filter=lfs diff=lfs merge=lfs -text\n"
const crypt = "secret/** filter=git-crypt diff=git-crypt\n"
const encrypted = "\0GITCRYPT\0 and what nobody can read"

/** What stands in the way of the work that is done in a clone of the files, as kind, filter and paths. */
const found = (files: Readonly<Record<string, string>>, work: (workTree: string) => void) =>
  Effect.gen(function* () {
    const { base, git, gitDir, workTree } = yield* cloned(files)
    work(workTree)
    const { changes, tree } = yield* git.snapshot({ gitDir, workTree, base })
    const obstacles = yield* git.obstacles({ gitDir, base, tree, changes })
    assert.deepStrictEqual(yield* git.obstacles({ gitDir, base, tree }), obstacles)
    return obstacles.map(({ beside, filter, kind, paths }) => [kind, filter ?? beside.join(), ...paths])
  })

type Case = readonly [
  name: string,
  files: Readonly<Record<string, string>>,
  work: (workTree: string) => void,
  expected: ReadonlyArray<ReadonlyArray<string>>
]

const cases: ReadonlyArray<Case> = [
  [
    "a pointer that is kept, changed, moved or added is none, and neither is an empty file",
    { ".gitattributes": lfs, "kept.bin": pointer, "changed.bin": pointer, "moved.bin": pointer },
    (at) => {
      put(at, "changed.bin", pointer.replace("00", "11"))
      fs.renameSync(join(at, "moved.bin"), join(at, "there.bin"))
      put(at, "new.bin", pointer.replace("00", "22"))
      put(at, "empty.bin", "")
    },
    []
  ],
  [
    "content in the place of a pointer, or below a pattern, is one; what the base has is not",
    { ".gitattributes": lfs, "a.bin": pointer, "old.bin": "content of long ago", "gone.bin": pointer },
    (at) => {
      put(at, "a.bin", "content")
      put(at, "dir/deep/new.bin", Buffer.alloc(5000, 7))
      put(at, "long.bin", pointer.padEnd(2000, "\n"))
      fs.rmSync(join(at, "gone.bin"))
    },
    [["lfs_content", "lfs", "a.bin", "dir/deep/new.bin", "long.bin"]]
  ],
  [
    "a pattern that the same change adds counts, in any folder, and one that it takes away does not",
    { ".gitattributes": lfs, "dir/a.txt": "a\n", "b.bin": pointer },
    (at) => {
      put(at, ".gitattributes", "# none\n")
      put(at, "dir/.gitattributes", "*.psd filter=lfs\n")
      put(at, "dir/picture.psd", "pixels")
      put(at, "picture.psd", "pixels")
      put(at, "b.bin", "content")
    },
    [["lfs_content", "lfs", "dir/picture.psd"]]
  ],
  [
    "plain content where a filter encrypts is the gravest; what is encrypted, or moves unchanged, is none",
    { ".gitattributes": `${crypt}${lfs}`, "secret/key": encrypted, "secret/moves": "plain long ago", "a.bin": pointer },
    (at) => {
      put(at, "secret/key", "the key itself")
      put(at, "secret/new/deep", "another")
      put(at, "secret/fine", `${encrypted} too`)
      fs.renameSync(join(at, "secret/moves"), join(at, "secret/moved"))
      put(at, "a.bin", "content")
    },
    [
      ["unencrypted_content", "git-crypt", "secret/key", "secret/new/deep"],
      ["lfs_content", "lfs", "a.bin"]
    ]
  ],
  [
    "a line that encrypts holds on where its file is moved to another folder, and counts there",
    { "secret/.gitattributes": "* filter=git-crypt\n", "secret/key": encrypted },
    (at) => {
      put(at, "other/key", "another")
      fs.renameSync(join(at, "secret/.gitattributes"), join(at, "other/.gitattributes"))
      put(at, "secret/key", "the key itself")
    },
    [["unencrypted_content", "git-crypt", "other/key", "secret/key"]]
  ],
  [
    "content of any other filter is one by its name, whatever form it has; a mode alone is no content",
    { ".gitattributes": "*.ipynb filter=nbstripout\n", "a.ipynb": "{}\n", "b.ipynb": "{}\n" },
    (at) => {
      put(at, "a.ipynb", '{"outputs": [1]}\n')
      fs.chmodSync(join(at, "b.ipynb"), 0o755)
    },
    [["unfiltered_content", "nbstripout", "a.ipynb"]]
  ],
  [
    "a macro, a later line and an unset attribute decide as git says",
    { ".gitattributes": "[attr]big filter=lfs\n*.raw big\nsmall.raw -filter\n*.dat filter=lfs\n*.dat !filter\n" },
    (at) => {
      for (const name of ["large.raw", "small.raw", "c.dat"]) put(at, name, "content")
    },
    [["lfs_content", "lfs", "large.raw"]]
  ],
  [
    "names that differ by case or Unicode form collide where one of them is added",
    { "Readme.md": "a\n", "caf\u00e9.txt": "a\n", "dir/x": "x\n", "old/A": "1\n" },
    (at) => {
      put(at, "README.md", "b\n")
      put(at, "cafe\u0301.txt", "b\n")
      put(at, "DIR", "a file\n")
      fs.renameSync(join(at, "old/A"), join(at, "old/a"))
      put(at, "new", "n\n")
    },
    [
      [
        "name_collision",
        "dir/x,Readme.md,café.txt".replace("é", "\u00c3\u00a9"),
        "DIR",
        "README.md",
        "cafe\u00cc\u0081.txt"
      ]
    ]
  ]
]

/** More ways in which attributes go, or are none. */
const more: ReadonlyArray<Case> = [
  [
    "attributes of a link count for nothing, and a link has no content",
    { "a.txt": "a\n", "outside.txt": lfs },
    (at) => {
      fs.mkdirSync(join(at, "dir"))
      fs.symlinkSync("../outside.txt", join(at, "dir/.gitattributes"))
      put(at, "dir/a.bin", "content")
      put(at, ".gitattributes", "*.lnk filter=lfs\n")
      fs.symlinkSync("a.txt", join(at, "x.lnk"))
    },
    []
  ],
  [
    "a line that encrypts holds on where the change takes it away, also for new files",
    { ".gitattributes": crypt, "secret/key": encrypted },
    (at) => {
      fs.rmSync(join(at, ".gitattributes"))
      put(at, "secret/key", "the key itself")
      put(at, "secret/new", "another")
    },
    [["unencrypted_content", "git-crypt", "secret/key", "secret/new"]]
  ],
  [
    "it holds on where its file is renamed",
    { ".gitattributes": crypt, "secret/key": encrypted },
    (at) => {
      fs.renameSync(join(at, ".gitattributes"), join(at, "attributes.txt"))
      put(at, "secret/key", "the key itself")
    },
    [["unencrypted_content", "git-crypt", "secret/key"]]
  ],
  [
    "it holds on where a link takes the place of its file",
    { ".gitattributes": crypt, "secret/key": encrypted },
    (at) => {
      fs.rmSync(join(at, ".gitattributes"))
      fs.symlinkSync("secret/key", join(at, ".gitattributes"))
      put(at, "secret/key", "the key itself")
    },
    [["unencrypted_content", "git-crypt", "secret/key"]]
  ]
]

describe("Git.obstacles", () => {
  const isFound = ([name, files, work, expected]: Case) =>
    it.scopedLive(name, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* found(files, work), expected)
      }).pipe(Effect.provide(gitLayer))
    )

  for (const each of cases) isFound(each)
  variants(() => {
    for (const each of more) isFound(each)
  })

  it.scopedLive("a work without a base is looked at too, and names keep their bytes", () =>
    Effect.gen(function* () {
      const { git, gitDir, workTree } = yield* cloned({ "a.txt": "a\n" })
      put(workTree, ".gitattributes", "*.bin filter=lfs\n")
      const folder = Buffer.concat([Buffer.from(`${workTree}/`), Buffer.from([0x66, 0xe9, 0x0a])])
      fs.mkdirSync(folder)
      fs.writeFileSync(Buffer.concat([folder, Buffer.from("/a\t.bin")]), "content")
      const { tree } = yield* git.snapshot({ gitDir, workTree, base: null })
      const [obstacle, ...more] = yield* git.obstacles({ gitDir, base: null, tree })
      assert.deepStrictEqual(obstacle?.paths, ["f\xe9\n/a\t.bin"])
      assert.isEmpty(more)
    }).pipe(Effect.provide(gitLayer))
  )

  it("a filter is known by its name", () => {
    assert.strictEqual(kindOfFilter("lfs"), "lfs_content")
    for (const name of ["git-crypt", "git-crypt-team", "crypt", "git-agecrypt", "age", "openssl", "sops"])
      assert.strictEqual(kindOfFilter(name), "unencrypted_content", name)
    for (const name of ["nbstripout", "tabs", "image", "package"])
      assert.strictEqual(kindOfFilter(name), "unfiltered_content", name)
  })

  it("every pair of names that fold to one is found, and no other", () => {
    const name = fc.string({ unit: fc.constantFrom("a", "A", "b", "B", "\xc3\xa9", "/"), minLength: 1, maxLength: 4 })
    const path = name.filter((text) => !/^\/|\/$|\/\//.test(text))
    fc.assert(
      fc.property(fc.uniqueArray(path, { maxLength: 8 }), fc.nat(8), (all, count) => {
        const added = new Set(all.slice(0, count))
        const isCollision = (left: string, right: string) =>
          left !== right &&
          (foldedName(left) === foldedName(right) ||
            foldedName(right).startsWith(`${foldedName(left)}/`) ||
            foldedName(left).startsWith(`${foldedName(right)}/`))
        const expected = [...added].filter((one) => all.some((other) => isCollision(one, other)))
        assert.sameMembers([...findCollisions(added, all).keys()], expected)
      }),
      { numRuns: 1000, examples: [[["B/a", "b/B", "B"], 2]] }
    )
  })
})

describe("Git.filters", () => {
  it.scopedLive("the filters of a commit are counted by the files that they cover", () =>
    Effect.gen(function* () {
      const { base, git, gitDir } = yield* cloned({
        ".gitattributes": `${lfs}`,
        "a.bin": pointer,
        "b.bin": pointer,
        "dir/.gitattributes": "key filter=git-crypt\n",
        "dir/key": encrypted,
        key: "plain\n"
      })
      assert.deepStrictEqual(yield* git.filters({ gitDir, tree: base ?? "" }), [
        { filter: "lfs", files: 2 },
        { filter: "git-crypt", files: 1 }
      ])
    }).pipe(Effect.provide(gitLayer))
  )

  it.scopedLive("a commit without filters has none", () =>
    Effect.gen(function* () {
      for (const files of [{ "a.txt": "a\n" }, { ".gitattributes": "*.txt text\n", "a.txt": "a\n" }]) {
        const { base, git, gitDir } = yield* cloned(files)
        assert.isEmpty(yield* git.filters({ gitDir, tree: base ?? "" }))
      }
    }).pipe(Effect.provide(gitLayer))
  )
})
