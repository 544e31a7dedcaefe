import type { Reins } from "@reins/client"
import { placeForEachTest } from "@reins/testing/process/Place"
import { assertAnswers } from "@reins/testing/process/Turns"
import { eventually } from "@reins/testing/process/Waiting"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { assert, it } from "vitest"
import { twoMachines } from "./Machines.js"

const place = placeForEachTest()

const lookup = {
  name: "lookup_ticket",
  description: "Looks a ticket up.",
  input_schema: { type: "object", properties: { ticket: { type: "integer" } }, required: ["ticket"] }
}

/** The calls of one turn, each with another input. */
const tickets = Array.from({ length: 8 }, (_, ticket) => ticket)

/** A turn that calls the function for each ticket. It is asked for at the node that is given. */
const calling = (client: Reins, session_id: string) =>
  client.messages.send({
    session_id,
    content: script("Triage.", ...tickets.map((ticket) => ({ tool: "lookup_ticket", args: { ticket } })), {
      say: "Done."
    }),
    tools: { functions: [lookup] }
  })

/** The call of a ticket, as a node tells it. */
const callOf = (client: Reins, session_id: string, ticket: number) =>
  eventually(`the call of ticket ${ticket} is open`, async () => {
    const { items } = await client.interactions.list({ session_id, state: "pending" })
    return items.find(({ tool }) => JSON.stringify(tool?.input) === JSON.stringify({ ticket }))
  })

/** Nobody looks at a call again before its deadline of ten minutes, so each answer has woken its call. */
it("an answer at another node wakes the call, and so does a program that answers there", async () => {
  const { caller, other, session_id } = await twoMachines(place, (given, server, id) =>
    assertAnswers(given.at(server), id)
  )
  const there = caller.at(other)
  const { turn_id = "" } = await calling(there, session_id)
  for (const ticket of tickets) {
    const { id } = await callOf(there, session_id, ticket)
    const { claim_id } = await there.interactions.claim({ interaction_id: id, holder: "program", seconds: 60 })
    await there.interactions.answer({ interaction_id: id, claim_id, result: `ticket ${ticket}` })
    await eventually(`the model reads the answer of ticket ${ticket}`, () =>
      place.gateway.requests.some(({ messages }) => messages.some(({ text }) => text === `ticket ${ticket}`))
    )
  }
  assert.strictEqual((await there.turns.wait({ turn_id })).state, "succeeded")

  const stopped = new AbortController()
  const ran: Array<number> = []
  const run = ({ ticket }: { readonly ticket: number }) => {
    ran.push(ticket)
    return `served ${ticket}`
  }
  const { description, input_schema: input } = lookup
  const serving = there.serveTools({
    workspace_id: caller.workspaceId,
    tools: { lookup_ticket: { description, input, run } },
    signal: stopped.signal
  })
  const again = await calling(there, session_id)
  assert.strictEqual((await there.turns.wait({ turn_id: again.turn_id ?? "" })).state, "succeeded")
  stopped.abort()
  await serving
  assert.deepStrictEqual(ran, tickets)
})
