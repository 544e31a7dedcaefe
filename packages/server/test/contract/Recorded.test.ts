import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { change, send, service } from "../Service.js"
import { judgeOf } from "./Answers.js"
import { operations, successes } from "./Document.js"
import { exampleOf } from "./Examples.js"
import { isRecording, keepExamples, type Recorded } from "./Recording.js"
import { newTenant } from "./Tenant.js"
import { allowGateway, Gateway } from "./TenantParts.js"

/** Only an agent that has worked keeps a state, so the story alone records it. */
const needsAgent = "GET /api/sessions/{session_id}/native-state"

if (isRecording)
  layer(Layer.provideMerge(service(allowGateway), Gateway.layer), { excludeTestServices: true })("examples", (it) => {
    it.effect("are recorded of every operation", () =>
      Effect.gen(function* () {
        const tenant = yield* newTenant
        const recorded = new Map<string, Recorded>()
        // The reads come first, because some of the changes take away what they read.
        const known = operations.filter(({ name }) => name !== needsAgent)
        const inOrder = [...known].sort((one, other) => Number(other.method === "GET") - Number(one.method === "GET"))
        for (const operation of inOrder) {
          const { body, headers, path } = yield* exampleOf(operation, tenant)
          const call = operation.method === "GET" ? send : change
          const reply = yield* call(operation.method, path, { headers, ...(body !== undefined && { body }) })
          assert.isBelow(reply.status, 300, `${operation.name} ${reply.text}`)
          recorded.set(operation.name, { body, answer: reply.json })
        }
        keepExamples(recorded)
      })
    )
  })
else
  layer(Layer.empty)("the document gives an example", (it) => {
    for (const operation of operations) {
      it.effect(`of ${operation.name} that satisfies its schema`, () =>
        Effect.sync(() => {
          const contents = [
            operation.requestBody?.content["application/json"],
            ...successes(operation).map((status) => operation.responses[status]?.content?.["application/json"])
          ]
          for (const content of contents) {
            if (content === undefined) continue
            assert.isDefined(content.example, "there is none: run `node scripts/examples.mjs`")
            assert.isUndefined(judgeOf(content.schema)(content.example))
          }
        })
      )
    }
  })
