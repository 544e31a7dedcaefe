import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import { type List, Reins, ReinsApiError, type Session, type SessionList } from "../src/index.js"
import { json, refuse, serve } from "./ScriptedServer.js"

const cursorOf = (url: string) => new URL(url, "http://x").searchParams.get("cursor")

describe("List", () => {
  it("an await gives a page, a loop gives the items of all pages, each asked for when the one before was read", async () => {
    await using server = await serve((response, { url }) => {
      const page = Number(cursorOf(url) ?? 0)
      const items = [{ id: `sess_${page * 2}` }, { id: `sess_${page * 2 + 1}` }]
      json(response, 200, { items, next_cursor: page === 2 ? null : String(page + 1) })
    })
    const reins = new Reins({ baseUrl: server.url })
    const sessions = reins.sessions.list({ workspace_id: "w", limit: 2, lifecycle: "open" })
    expectTypeOf(sessions).toEqualTypeOf<List<SessionList, Session>>()
    assert.strictEqual((await sessions).next_cursor, "1")
    const seen: Array<[string, number]> = []
    for await (const { id } of sessions) seen.push([id, server.received.length])
    assert.deepStrictEqual(seen, [
      ["sess_0", 1],
      ["sess_1", 1],
      ["sess_2", 2],
      ["sess_3", 2],
      ["sess_4", 3],
      ["sess_5", 3]
    ])
    const all = await sessions.all()
    assert.deepStrictEqual(
      all.map(({ id }) => id),
      seen.map(([id]) => id)
    )
    assert.isTrue(server.received.every(({ url }) => url.includes("limit=2&lifecycle=open")))
  })

  it("the events of a session are read on by their numbers, to the last one there is", async () => {
    await using server = await serve((response, { url }) => {
      const after = Number(new URL(url, "http://x").searchParams.get("after"))
      json(response, 200, {
        items: [{ seq: after + 1 }],
        next_after: after + 1,
        has_more: after < 2,
        event_watermark: 3
      })
    })
    const seqs: Array<number> = []
    for await (const { seq } of new Reins({ baseUrl: server.url }).sessions.listEvents({ session_id: "s" }))
      seqs.push(seq)
    assert.deepStrictEqual(seqs, [1, 2, 3])
  })

  it("a list without pages is one page", async () => {
    await using server = await serve((response) => json(response, 200, { items: [{ provider_id: "alpha" }] }))
    const ids: Array<string> = []
    for await (const { provider_id } of new Reins({ baseUrl: server.url }).catalog.listHarnesses())
      ids.push(provider_id)
    assert.deepStrictEqual(ids, ["alpha"])
  })

  it("a page that is refused ends the loop, and a loop that is left asks for no more", async () => {
    await using server = await serve((response, { url }) =>
      cursorOf(url) === null
        ? json(response, 200, { items: [{ id: "sess_0" }], next_cursor: "1" })
        : refuse(response, 400, "invalid_cursor")
    )
    const reins = new Reins({ baseUrl: server.url })
    for await (const { id } of reins.sessions.list({ workspace_id: "w" })) if (id === "sess_0") break
    assert.strictEqual(server.received.length, 1)
    const reading = async () => {
      for await (const _ of reins.sessions.list({ workspace_id: "w" }));
    }
    assert.instanceOf(await reading().catch((error: unknown) => error), ReinsApiError)
    const all = reins.sessions.list({ workspace_id: "w" }).all()
    assert.instanceOf(await all.catch((error: unknown) => error), ReinsApiError)
  })
})
