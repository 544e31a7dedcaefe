import { assert, describe, it } from "@effect/vitest"
import { readEach } from "@reins/base/base/ForeignList"
import { json, localServer } from "@reins/testing/connections/LocalServer"
import { openBetween } from "@reins/testing/world/Between"
import { tryBorder } from "@reins/testing/world/Border"
import { changesOfAnswer, changesOfElement, changesOfField } from "@reins/testing/world/Changes"
import { Effect, Schema } from "effect"

const Item = Schema.Struct({ id: Schema.Int, name: Schema.String })
const items = [1, 2, 3].map((id) => ({ id, name: `item ${id}` }))
const changes = [...changesOfElement(["items"], 1, ["id", "name"]), ...changesOfAnswer(["items"])]

/** A server with a list, and a reader that a proxy stands before. */
const place = Effect.gen(function* () {
  const { url } = yield* localServer((_, response) => json(response, 200, { items, total: 3 }))
  const between = yield* openBetween(url, ({ path }) => path === "/items")
  const get = Effect.promise(async () => {
    try {
      const answer = await fetch(`${between.url}/items`, { redirect: "manual" })
      return answer.status === 200
        ? { body: JSON.parse((await answer.text()).replace(/^\ufeff/, "")) as unknown }
        : undefined
    } catch {
      return undefined
    }
  })
  return { between, get }
})

const List = Schema.decodeUnknownOption(Schema.Struct({ items: Schema.Array(Schema.Unknown) }))

describe("the suite of the world", () => {
  it.scopedLive(
    "passes a reader that reads each element and says what it cannot read, and finds one that does not",
    () =>
      Effect.gen(function* () {
        const { between, get } = yield* place
        const border = (name: string, read: (body: unknown) => { readonly ids: ReadonlyArray<number> } | undefined) =>
          tryBorder({
            name,
            changes,
            ask: (change) =>
              Effect.gen(function* () {
                between.change = change
                between.picked = 0
                const answer = yield* get
                if (between.picked !== 1 || between.fault !== undefined)
                  return yield* Effect.dieMessage(`the change was not made: ${String(between.fault)}`)
                const seen = answer === undefined ? undefined : read(answer.body)
                if (change.kind === "lost")
                  return seen === undefined ? [] : ["nothing was told, and something was read"]
                return seen?.ids.includes(1) && seen.ids.includes(3) ? [] : ["one costs all"]
              })
          })
        const tolerant = yield* border("the test's own list, read by element", (body) => {
          const found = List(body)
          return found._tag === "None"
            ? undefined
            : { ids: readEach(Item)(found.value.items).items.map(({ id }) => id) }
        })
        assert.deepStrictEqual(tolerant.wrong, [])
        assert.isAbove(tolerant.tried, 45)
        const strict = yield* border("the test's own list, read as a whole", (body) => {
          const found = Schema.decodeUnknownOption(Schema.Struct({ items: Schema.Array(Item) }))(body)
          return found._tag === "None" ? undefined : { ids: found.value.items.map(({ id }) => id) }
        })
        assert.isAbove(strict.wrong.length, 10)
      })
  )

  it.scopedLive("tells a defect, a known change, and one that is known no more", () =>
    Effect.gen(function* () {
      const [first, second, third] = changesOfField(["name"])
      if (first === undefined || second === undefined || third === undefined) return assert.fail("there are no changes")
      const { wrong } = yield* tryBorder({
        name: "the test's own outcomes",
        changes: [first, second, third],
        assumed: { [second.name]: "a reason", [third.name]: "a reason" },
        ask: (change) =>
          change === first ? Effect.die(new Error("a fault")) : Effect.succeed(change === second ? ["a problem"] : [])
      })
      assert.lengthOf(wrong, 2)
      assert.match(wrong[0] ?? "", /a defect: Error: a fault/)
      assert.match(wrong[1] ?? "", /take it off the list/)
    })
  )
})
