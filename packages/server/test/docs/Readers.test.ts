import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { read } from "./Reader.js"
import { world } from "./World.js"

/** The pages of `npm test`, and what has to be said on the way. The others are read by `npm run test:docs`. */
const told = {
  "README.md": [/^succeeded [\s\S]*The total now counts every piece/m, /^\d+ turn\.succeeded$/m],
  "docs/calling.md": [
    /^id: 1$/m,
    /^succeeded$/m,
    /^\+.*item\.quantity/m,
    /^\d+ turn\.succeeded$/m,
    /^not_found 404 \S+$/m
  ],
  "docs/embedding.md": [/^\+.*item\.quantity/m, /^succeeded$/m, /^http:\/\/127\.0\.0\.1:\d+ 401$/m]
}

describe("a reader who runs every block of a page", () => {
  for (const [page, words] of Object.entries(told))
    it.scopedLive(
      `comes through ${page}`,
      () =>
        Effect.gen(function* () {
          const around = yield* world("small")
          const { code, failedAt, output } = yield* read(page, around)
          assert.deepStrictEqual([code, failedAt], [0, undefined], output)
          for (const each of words) assert.match(output, each, output)
        }),
      120_000
    )
})
