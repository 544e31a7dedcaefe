import type { ServerResponse } from "node:http"
import { assert } from "@effect/vitest"
import type { ConnectionId } from "@reins/base/domain/Ids"
import { Connections } from "@reins/core/connections/Connections"
import { Validations } from "@reins/core/connections/Validations"
import * as Embedded from "@reins/core/Embedded"
import { Jobs } from "@reins/core/jobs/Jobs"
import { type Asked, json } from "@reins/testing/connections/LocalServer"
import { Clock, Effect, TestClock, TestContext } from "effect"
import { workAll } from "./ValidationRun.js"

export const canary = "canary-Val8rT2vX5nB7mK1p"

export const connect = (kind: string, credential: Readonly<Record<string, unknown>>) =>
  Effect.gen(function* () {
    const { principal, workspaceId } = yield* Embedded.owner
    const connections = yield* Connections
    const connection = yield* connections.create(principal, workspaceId, { kind, label: "test", credential })
    return { principal, id: connection.id, connections }
  })

/** Validates a connection to the end; what it was, what it is now, and what was observed. */
export const validated = (id: ConnectionId) =>
  Effect.gen(function* () {
    const { principal } = yield* Embedded.owner
    const validations = yield* Validations
    const { operation, validation } = yield* validations.request(principal, id)
    assert.deepInclude(validation, { state: "queued", reason: null, observations: [], started_at: null })
    yield* workAll
    const ended = (yield* validations.list(principal, id, {})).items.find((item) => item.id === validation.id)
    const connection = yield* (yield* Connections).get(principal, id)
    const { items, provider_id } = yield* validations.capabilities(principal, id)
    const job = yield* (yield* Jobs).get(principal, operation.job_id)
    return { ended, health: connection.health, items, provider_id, job }
  })

/** Runs with a clock that stands still at the present until it is moved. */
export const withTestClock = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(Clock.currentTimeMillis, (present) =>
    Effect.zipRight(TestClock.setTime(present), effect).pipe(Effect.provide(TestContext.TestContext))
  )

const authorized = ({ headers }: Asked) =>
  headers.authorization === `Bearer ${canary}` ||
  headers["x-api-key"] === canary ||
  headers["x-goog-api-key"] === canary

const asksForList = ({ path }: Asked) => path.split("?")[0] === "/v1/models"

const list = { data: [{ id: "one" }, { id: "two" }] }

/** Gemini lists models that answer nothing too. */
const geminiList = {
  models: [
    { name: "models/one", displayName: "One", inputTokenLimit: 1000, supportedGenerationMethods: ["generateContent"] },
    { name: "models/two" },
    { name: "models/three", supportedGenerationMethods: ["embedContent"] }
  ]
}

/** A gateway that wants the key, lists two models and answers completions. */
export const gateway = (asked: Asked, response: ServerResponse) => {
  if (!authorized(asked))
    return json(response, 401, { error: { message: `no such key: ${asked.headers.authorization}` } })
  if (asksForList(asked)) return json(response, 200, asked.headers["x-goog-api-key"] ? geminiList : list)
  return json(response, 200, { id: "answer" })
}

export const withoutList = (asked: Asked, response: ServerResponse) =>
  asksForList(asked) ? json(response, 404, {}) : gateway(asked, response)
