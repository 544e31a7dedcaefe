import { assert, describe, it } from "@effect/vitest"
import { Interactions } from "@reins/core/sessions/Interactions"
import { Messages } from "@reins/core/sessions/Messages"
import { Sessions } from "@reins/core/sessions/Sessions"
import { Turns } from "@reins/core/sessions/Turns"
import { callingAgents, deafAgents } from "@reins/testing/harness/SmallAgent"
import { flowDatabases } from "@reins/testing/store/Databases"
import { Effect, Schedule } from "effect"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { isTurnEnd, withAgent } from "../execution/Agent.js"

const lookup = {
  name: "lookup_ticket",
  description: "Looks a ticket up.",
  input_schema: { type: "object", properties: { ticket: { type: "integer" } }, required: ["ticket"] }
}

for (const { layer: database, name } of flowDatabases) {
  describe(`functions that agents call on ${name}`, () => {
    it.scopedLive("an agent that does not ask for its tools is told of once, and its turns go on", () =>
      withAgent(
        "alpha_gateway",
        ({ eventsUntil, principal, runTurn, workspaceId }) =>
          Effect.gen(function* () {
            const session = yield* (yield* Sessions).create(principal, workspaceId, {})
            for (const words of ["One.", "Two."])
              assert.strictEqual((yield* runTurn(session.id, script("Say it.", { say: words }))).state, "succeeded")
            let ends = 0
            const events = yield* eventsUntil(session.id, (event) => isTurnEnd(event) && ++ends === 2)
            assert.deepStrictEqual(
              events.flatMap(({ payload, type }) => (type === "diagnostic.reported" ? [payload["kind"]] : [])),
              ["tools_not_offered"]
            )
          }),
        {},
        deafAgents,
        database
      )
    )

    it.scopedLive(
      "the model of an agent is offered a function, calls it, and reads the answer that a program claimed",
      () =>
        withAgent(
          "alpha_gateway",
          ({ eventsUntil, gateway, principal, workspaceId }) =>
            Effect.gen(function* () {
              const interactions = yield* Interactions
              const session = yield* (yield* Sessions).create(principal, workspaceId, {})
              const sent = yield* (yield* Messages).send(principal, session.id, {
                content: script("Triage it.", { tool: "lookup_ticket", args: { ticket: 7 } }, { say: "Done." }),
                tools: { functions: [lookup] }
              })
              const open = Effect.map(
                interactions.list(principal, session.id, { state: "pending" }),
                ({ items }) => items[0]
              )
              const call = yield* Effect.repeat(open, {
                until: (found) => found !== undefined,
                schedule: Schedule.spaced("20 millis")
              }).pipe(Effect.zipRight(open))
              const id = call?.id ?? ""
              const { claim_id } = yield* interactions.claim(principal, id, { holder: "program", seconds: 60 })
              yield* interactions.answer(principal, id, { result: "It is about the cart.", claim_id })
              yield* eventsUntil(session.id, isTurnEnd)
              const turn = yield* (yield* Turns).get(principal, sent.turn_id ?? "")
              assert.strictEqual(turn.state, "succeeded", JSON.stringify(turn))
              const newest = gateway.requests.at(-1)
              assert.include(newest?.tools ?? [], "reins_lookup_ticket")
              const told = newest?.messages.filter(({ role }) => role === "tool_result").map(({ text }) => text)
              assert.deepStrictEqual(told, ["It is about the cart."])
            }),
          {},
          callingAgents,
          database
        )
    )
  })
}
