import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { blocksOf, ownNames } from "./Blocks.js"
import { read } from "./Reader.js"
import { temporary, world } from "./World.js"

describe("a reader who runs every block of a page", () => {
  it.scopedLive(
    "comes through README.md, with the small agent",
    () =>
      Effect.gen(function* () {
        const around = yield* world("small")
        const { code, failedAt, output } = yield* read(blocksOf("README.md"), around)
        assert.deepStrictEqual([code, failedAt], [0, undefined], output)
        for (const words of [/^succeeded [\s\S]*The total now counts every piece/m, /^\d+ turn\.succeeded$/m])
          assert.match(output, words, output)
      }),
    120_000
  )

  it.scopedLive(
    "comes through docs/hooks.md from a labelled issue to the merge that closes it, with the small agent",
    () =>
      Effect.gen(function* () {
        const around = yield* world("small")
        const { code, failedAt, output } = yield* read(blocksOf("docs/hooks.md"), around)
        assert.deepStrictEqual([code, failedAt], [0, undefined], output)
        assert.include(output, "It would begin a run.")
        assert.deepStrictEqual(around.forges.github.closed, [12])
      }),
    120_000
  )

  it.scopedLive("stops at the first command that fails, and is told what was said beside it", () =>
    Effect.gen(function* () {
      const text = [
        "<!-- beside -->",
        "```sh",
        `echo '{"event":"ready"}'; echo beside; exec tail -f /dev/null`,
        "```",
        "```js",
        'import { Reins } from "@reins/client"',
        "console.log(typeof Reins)",
        "```",
        "```sh",
        "false",
        "```",
        "```sh",
        "echo never",
        "```"
      ]
      const directory = yield* temporary
      const { code, failedAt, output } = yield* read(blocksOf("page.md", text.join("\n")), { directory, env: {} })
      assert.deepStrictEqual([code, failedAt], [1, "page.md:9"], output)
      assert.strictEqual(output, 'function\n@failed page.md:9\n{"event":"ready"}\nbeside\n')
    })
  )
})

describe("a block", () => {
  const refusals = {
    "in a language that nobody runs here": "```python\nprint(1)\n```",
    "without a language": "```\nls\n```",
    "of JSON without a schema": "```json\n{}\n```",
    "that is left without a reason": "<!-- not run: -->\n```sh\nls\n```",
    "below a comment that says something else": "<!-- beware -->\n```sh\nls\n```",
    "that is indented": "- so\n  ```sh\n  ls\n  ```",
    "without an end": "```sh\nls"
  }
  for (const [which, text] of Object.entries(refusals))
    it(`${which} is refused`, () => {
      assert.throws(() => blocksOf("page.md", text), /^page\.md:\d+: /)
    })

  it("of a reader's own values holds exports alone", () => {
    const [own] = blocksOf("page.md", "<!-- yours -->\n```sh\nexport ONE=1 TWO=2   # both\nls\n```")
    assert.isDefined(own)
    if (own !== undefined) assert.throws(() => ownNames(own), 'page.md:2: "ls" is no export of values')
  })
})
