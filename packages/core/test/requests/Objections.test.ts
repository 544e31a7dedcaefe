import { MergeRequestId, ReviewId, ThreadId } from "@reins/base/domain/Ids"
import {
  askingForChanges,
  counting,
  inOpenThreads,
  objectorsOf,
  type Rights,
  unknownRight
} from "@reins/core/requests/looks/Objections"
import type { ForgeAuthor, JudgedReview, RequestThread } from "@reins/core/requests/rows/RequestParts"
import { assert, describe, it } from "vitest"

const unvalidated = { disableValidation: true } as const
const merge_request_id = MergeRequestId.make("mr_1", unvalidated)

type Kind = ForgeAuthor["kind"]
type Said = readonly [
  login: string,
  state: JudgedReview["state"],
  day: number | null,
  more?: { readonly kind?: Kind; readonly official?: boolean | null }
]

const review = ([login, state, day, { kind = "person", official = null } = {}]: Said): JudgedReview => ({
  official,
  id: ReviewId.make("rvw_1", unvalidated),
  merge_request_id,
  author: { login, kind },
  state,
  head_sha: "a".repeat(40),
  body: "",
  url: null,
  submitted_at: day === null ? null : `2026-01-0${day}T00:00:00Z`
})

/** Ann may write, Eve may not, and of Lee the forge does not tell. */
const rights: Rights = new Map([
  ["ann", true],
  ["eve", false],
  ["lee", null]
])

const asking = "changes_requested"

describe("those who ask for changes", () => {
  const rows: ReadonlyArray<
    readonly [name: string, said: ReadonlyArray<Said>, holding: ReadonlyArray<string>, unknown?: ReadonlyArray<string>]
  > = [
    ["somebody who may write holds it up", [["ann", asking, 1]], ["ann"]],
    ["somebody who may not write does not", [["eve", asking, 1]], []],
    ["somebody of whom it is not known is named", [["lee", asking, 1]], [], ["lee"]],
    ["somebody who was not asked about is not known", [["zoe", asking, 1]], [], ["zoe"]],
    ["a program was let in by somebody who may write", [["ci", asking, 1, { kind: "bot" }]], ["ci"]],
    ["our own account too", [["reins", asking, 1, { kind: "self" }]], ["reins"]],
    [
      "a later approval takes it back",
      [
        ["ann", asking, 1],
        ["ann", "approved", 2]
      ],
      []
    ],
    [
      "also where the list is not in order",
      [
        ["ann", "approved", 2],
        ["ann", asking, 1]
      ],
      []
    ],
    [
      "a later dismissal takes it back",
      [
        ["ann", asking, 1],
        ["ann", "dismissed", 2]
      ],
      []
    ],
    [
      "a later comment does not",
      [
        ["ann", asking, 1],
        ["ann", "commented", 2]
      ],
      ["ann"]
    ],
    [
      "an approval of another one does not",
      [
        ["ann", asking, 1],
        ["bob", "approved", 2]
      ],
      ["ann"]
    ],
    [
      "it stands where a time is unknown",
      [
        ["ann", asking, null],
        ["ann", "approved", 2]
      ],
      ["ann"]
    ],
    ["what the forge does not count does not hold it up", [["ann", asking, 1, { official: false }]], []],
    [
      "nor does it take anything back",
      [
        ["ann", asking, 1],
        ["ann", "approved", 2, { official: false }]
      ],
      ["ann"]
    ],
    [
      "each is named once",
      [
        ["ann", asking, 1],
        ["lee", asking, 1],
        ["lee", asking, 2]
      ],
      ["ann"],
      ["lee"]
    ]
  ]
  for (const [name, said, holding, unknown = []] of rows)
    it(name, () => assert.deepStrictEqual(askingForChanges(said.map(review), rights), { holding, unknown }))
})

const thread = (voices: ReadonlyArray<readonly [string, Kind?]>, more: Partial<RequestThread> = {}): RequestThread => ({
  id: ThreadId.make("thr_1", unvalidated),
  merge_request_id,
  path: "a.txt",
  line: 1,
  side: "new",
  outdated: false,
  resolved: false,
  comments: voices.map(([login, kind = "person"]) => ({
    forge_id: "1",
    author: { login, kind },
    body: "",
    url: null,
    written_at: null
  })),
  ...more
})

describe("those who have a word in an open thread", () => {
  const rows: ReadonlyArray<
    readonly [name: string, thread: RequestThread, holding: ReadonlyArray<string>, unknown?: ReadonlyArray<string>]
  > = [
    ["somebody who may write holds it up", thread([["ann"]]), ["ann"]],
    ["somebody who may not write does not", thread([["eve"]]), []],
    ["somebody of whom it is not known is named", thread([["lee"]]), [], ["lee"]],
    ["one who may write makes the thread of a stranger count", thread([["eve"], ["ann"]]), ["ann"]],
    ["one who may write is enough to know that it counts", thread([["lee"], ["ann"]]), ["ann"]],
    ["the answer of a program takes no side", thread([["eve"], ["ci", "bot"]]), []],
    ["our own answer takes no side", thread([["eve"], ["reins", "self"]]), []],
    ["the question of a program counts", thread([["ci", "bot"]]), ["ci"]],
    ["a resolved one holds nothing up", thread([["ann"]], { resolved: true }), []],
    ["one that cannot be resolved holds nothing up", thread([["ann"]], { resolved: null }), []],
    ["one about no file holds nothing up", thread([["ann"]], { path: null }), []],
    ["one about a whole file does", thread([["ann"]], { line: null }), ["ann"]]
  ]
  for (const [name, given, holding, unknown = []] of rows)
    it(name, () => assert.deepStrictEqual(inOpenThreads([given], rights), { holding, unknown }))
})

describe("whose rights decide", () => {
  it("are asked about: all who ask for changes, and all in open threads", () => {
    const reviews = [review(["ann", asking, 1]), review(["bob", "approved", 1])]
    const threads = [thread([["eve"], ["lee"], ["ci", "bot"]]), thread([["zoe"]], { resolved: true })]
    assert.deepStrictEqual(
      objectorsOf(reviews, threads).map(({ login }) => login),
      ["ann", "eve", "lee"]
    )
  })

  it("count by the newest review of each", () => {
    const all = [review(["ann", asking, 1]), review(["ann", "approved", 2]), review(["bob", "commented", 3])]
    assert.deepStrictEqual(
      counting(all).map(({ author, state }) => [author.login, state]),
      [["ann", "approved"]]
    )
  })

  it("are named, five at most, where they are not known", () => {
    const unknown = ["a", "b\u202e", "c", "d", "e", "f", "g"]
    const said = unknownRight({ holding: [], unknown }, "the review")
    assert.match(said, /"a".*"c", "d", "e" and 2 more may write to the repository, so the review counts\.$/)
  })
})
