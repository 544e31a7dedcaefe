import { assert, layer } from "@effect/vitest"
import { CoreConfig } from "@reins/base/base/CoreConfig"
import { turnOfTheLoop } from "@reins/base/base/EventLoop"
import { databaseFile } from "@reins/core/store/DataDirectory"
import type { Server } from "@reins/server/Server"
import { Effect, Runtime, Struct } from "effect"
import { allowedWork, leastWork, overhear } from "../../../../bench/work.mjs"
import { Caller, change, type Reply, send, service } from "../Service.js"
import { newSession } from "../Sessions.js"

layer(service(), { excludeTestServices: true })("on SQLite", (it) => {
  it.scoped("a request runs so many statements and writes so many trees at most", () =>
    Effect.gen(function* () {
      const { bearer: headers } = yield* Caller
      const { sessionId, workspace } = yield* newSession
      const { dataDir } = yield* CoreConfig
      const heard: Array<string> = []
      yield* Effect.acquireRelease(
        Effect.sync(() => overhear((statement) => heard.push(statement))),
        (end) => Effect.sync(end)
      )
      const post = (path: string, body: object) => Effect.suspend(() => change("POST", path, { headers, body }))
      const note = post(`/api/sessions/${sessionId}/messages`, { content: "a note", routing: "note" })
      const requests: Readonly<Record<keyof typeof allowedWork, Effect.Effect<Reply, never, Server>>> = {
        "GET a session": send("GET", `/api/sessions/${sessionId}`, { headers }),
        "GET a page of events": send("GET", `/api/sessions/${sessionId}/events?after=0&limit=100`, { headers }),
        "POST a session": post(`${workspace}/sessions`, { title: "new" }),
        "POST a note": note
      }
      const runPromise = Runtime.runPromise(yield* Effect.runtime<Server>())
      // The snapshot of a read ends with the turn of the loop.
      const whole = (request: Effect.Effect<Reply, never, Server>) => () =>
        runPromise(Effect.zipLeft(request, Effect.repeatN(turnOfTheLoop, 1)))
      let written: ReadonlyArray<string> = []
      for (const [name, request] of Struct.entries(requests)) {
        const counted = {
          database: databaseFile(dataDir),
          heard: () => heard,
          before: whole(note),
          run: whole(request)
        }
        const { statements, trees } = yield* Effect.promise(() => leastWork(counted))
        const allowed = allowedWork[name]
        assert.isAtMost(statements.length, allowed.statements, `${name}:\n${statements.join("\n")}`)
        assert.isAtMost(trees.length, allowed.trees, `${name}: ${trees.join(", ")}`)
        assert.isAbove(statements.length, 2, `${name} was not overheard`)
        if (name === "POST a session") written = trees
      }
      assert.includeMembers([...written], ["sessions", "events", "idempotency"])
    })
  )
})
