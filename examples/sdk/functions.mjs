// A function of this program that the agent of a session calls: the agent asks for a ticket, and this program looks it up.
//
//   REINS_URL=http://127.0.0.1:4000 REINS_API_KEY=rk_... node functions.mjs <workspace_id> "Triage ticket 7"
//
// The function runs here. The server, and the agent in its sandbox, never see what it needs to know.

import { Reins } from "@reins/client"

const { REINS_API_KEY, REINS_MODEL, REINS_URL } = process.env
const [workspace_id, task] = process.argv.slice(2)
if (!REINS_URL || !REINS_API_KEY || !workspace_id || !task) {
  console.error('Usage: REINS_URL=... REINS_API_KEY=... node functions.mjs <workspace_id> "<the task>"')
  process.exit(1)
}

/** Stands in for a database of tickets. */
const tickets = new Map([[7, { title: "The total ignores quantities", reporter: "ada" }]])

const reins = new Reins({ baseUrl: REINS_URL, apiKey: REINS_API_KEY })
const session = await reins.sessions.create({
  workspace_id,
  title: task.slice(0, 80),
  ...(REINS_MODEL && { harness: { provider_id: "alpha", model: REINS_MODEL } })
})

const run = reins.run({
  session_id: session.id,
  content: task,
  result_schema: {
    type: "object",
    properties: { priority: { enum: ["low", "high"] } },
    required: ["priority"]
  },
  tools: {
    lookup_ticket: {
      description: "Looks a ticket up by its number. Gives its title and who reported it.",
      input: { type: "object", properties: { ticket: { type: "integer" } }, required: ["ticket"] },
      run: ({ ticket }) => {
        console.log(`The agent asks for ticket ${ticket}`)
        const found = tickets.get(ticket)
        // The model reads the message, and may try another number.
        if (found === undefined) throw new Error(`There is no ticket ${ticket}.`)
        return found
      }
    }
  }
})
const { result, text, turn } = await run.final()
console.log(`The turn ${turn.state}: ${text}`)
console.log("Result:", JSON.stringify(result))
process.exit(turn.state === "succeeded" ? 0 : 1)
