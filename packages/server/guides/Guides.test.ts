import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { blocksOf, pages } from "../test/docs/Blocks.js"
import { read } from "../test/docs/Reader.js"
import { type World, world } from "../test/docs/World.js"

/** The state that has to hold when a page has been read. */
const after: Readonly<Record<string, (world: World) => void>> = {
  "docs/deliveries.md": ({ forges }) => {
    for (const [kind, forge] of Object.entries(forges)) {
      // The one line that is the whole way goes to the project on Gitea.
      const merged = { draft: false, state: "merged" }
      const pulls = forge.pulls.map(({ draft, state }) => ({ draft, state }))
      assert.deepStrictEqual(pulls, kind === "gitea" ? [merged, merged] : [merged], kind)
      assert.isTrue(
        forge.passesInCi("main"),
        `${kind}: the tests of the project and of the CI pass on the merged branch`
      )
    }
  },
  "docs/hooks.md": ({ forges: { github } }) => {
    assert.deepStrictEqual(
      github.pulls.map(({ state }) => state),
      ["merged"]
    )
    assert.deepStrictEqual(github.closed, [12])
    assert.isTrue(github.passesOn("main"), "the project's test passes on the merged branch")
  }
}

/** The words that have to be said on the way. */
const told: Readonly<Record<string, ReadonlyArray<RegExp>>> = {
  "docs/calling.md": [
    /^id: 1$/m,
    /^succeeded$/m,
    /^\+.*item\.quantity/m,
    /^\d+ turn\.succeeded$/m,
    /^not_found 404 \S+$/m
  ],
  "docs/deliveries.md": [/ 1 of 5 turns used\. Its conditions hold, and it is being merged\.$/m, /^ {2}passing test /m],
  "docs/delegations.md": [/^succeeded$/m, /^applied$/m, /^\[ 'cart\.js' \]$/m],
  "docs/hooks.md": [/It would begin a run\./, /^\/label\/name +yes +"reins"$/m, /^merged$/m],
  "docs/webhooks.md": [/^session\.created is from Reins, seq 1$/m],
  "docs/embedding.md": [/^\+.*item\.quantity/m, /^succeeded$/m, /^http:\/\/127\.0\.0\.1:\d+ 401$/m]
}

/** The pages with something to run. */
const guides = pages.filter((page) => blocksOf(page).some(({ use }) => use.kind === "run"))

it("knows every page that more is asked of", () => {
  assert.includeMembers(guides, [...Object.keys(after), ...Object.keys(told)])
})

describe("a reader who runs every block of a page, with the real agent", () => {
  for (const page of guides)
    it.scopedLive(
      `comes through ${page}`,
      () =>
        Effect.gen(function* () {
          const around = yield* world("real")
          const { code, failedAt, output } = yield* read(blocksOf(page), around)
          assert.deepStrictEqual([code, failedAt], [0, undefined], output)
          for (const words of told[page] ?? []) assert.match(output, words, output)
          after[page]?.(around)
        }),
      600_000
    )
})
