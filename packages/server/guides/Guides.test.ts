import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { blocksOf, pages } from "../test/docs/Blocks.js"
import { read } from "../test/docs/Reader.js"
import { type World, world } from "../test/docs/World.js"

/** The state that has to hold when a page has been read. */
const after: Readonly<Record<string, (world: World) => void>> = {
  "docs/deliveries.md": ({ forges }) => {
    for (const [kind, forge] of Object.entries(forges)) {
      assert.deepStrictEqual(
        forge.pulls.map(({ draft, state }) => [draft, state]),
        [[false, "merged"]],
        kind
      )
      assert.isTrue(forge.passesOn("main"), `${kind}: the project's test passes on the merged branch`)
    }
  }
}

/** The pages with something to run. */
const guides = pages.filter((page) => blocksOf(page).some(({ use }) => use.kind === "run"))

describe("a reader who runs every block of a page, with the real agent", () => {
  for (const page of guides)
    it.scopedLive(
      `comes through ${page}`,
      () =>
        Effect.gen(function* () {
          const around = yield* world("real")
          const { code, failedAt, output } = yield* read(blocksOf(page), around)
          assert.deepStrictEqual([code, failedAt], [0, undefined], output)
          after[page]?.(around)
        }),
      600_000
    )
})
