// A server of tools for the agents of a project, which speaks the Model Context Protocol over HTTP: it finds tickets, and closes them.
//
//   TICKETS_KEY=... PORT=7200 node server.mjs
//
// Reins sends the key with each call. No agent ever sees it.

import { timingSafeEqual } from "node:crypto"
import { createServer } from "node:http"
import { Readable } from "node:stream"
import { pipeline } from "node:stream/promises"
import { createMcpHandler, Server } from "@modelcontextprotocol/server"

const { PORT = "7200", TICKETS_KEY } = process.env
if (!TICKETS_KEY) {
  console.error("Usage: TICKETS_KEY=<a long random text> [PORT=7200] node server.mjs")
  process.exit(1)
}

/** Stands in for a database of tickets. */
const tickets = new Map([[7, { title: "The total ignores quantities", state: "open" }]])

const ticketOf = ({ ticket }) => {
  const found = tickets.get(ticket)
  // The model reads the message, and may try another number.
  if (found === undefined) throw new Error(`There is no ticket ${ticket}.`)
  return found
}

const inputSchema = { type: "object", properties: { ticket: { type: "integer" } }, required: ["ticket"] }

/** The tools by name. Their descriptions are all that a model knows of them. */
const tools = {
  find_ticket: {
    description: "Finds a ticket by its number. Gives its title and its state.",
    inputSchema,
    annotations: { readOnlyHint: true },
    run: ticketOf
  },
  close_ticket: {
    description: "Closes a ticket by its number.",
    inputSchema,
    annotations: { readOnlyHint: false, idempotentHint: true },
    run: (input) => Object.assign(ticketOf(input), { state: "closed" })
  }
}

const call = ({ arguments: input = {}, name }) => {
  try {
    if (!Object.hasOwn(tools, name)) throw new Error(`There is no tool ${name}.`)
    return { content: [{ type: "text", text: JSON.stringify(tools[name].run(input)) }] }
  } catch (error) {
    return { content: [{ type: "text", text: error.message }], isError: true }
  }
}

const handler = createMcpHandler(() => {
  const server = new Server({ name: "tickets", version: "1.0.0" }, { capabilities: { tools: {} } })
  server.setRequestHandler("tools/list", () => ({
    tools: Object.entries(tools).map(([name, { run, ...tool }]) => ({ name, ...tool }))
  }))
  server.setRequestHandler("tools/call", ({ params }) => call(params))
  return server
})

const isAllowed = ({ authorization = "" }) => {
  const [given, right] = [Buffer.from(authorization), Buffer.from(`Bearer ${TICKETS_KEY}`)]
  return given.length === right.length && timingSafeEqual(given, right)
}

const answer = async (request, response) => {
  if (!isAllowed(request.headers)) return response.writeHead(401).end()
  const hasBody = request.method === "POST"
  const asked = new Request(`http://127.0.0.1${request.url}`, {
    method: request.method,
    headers: request.headers,
    ...(hasBody && { body: Readable.toWeb(request), duplex: "half" })
  })
  const { body, headers, status } = await handler.fetch(asked)
  response.writeHead(status, Object.fromEntries(headers))
  if (body === null) return response.end()
  await pipeline(Readable.fromWeb(body), response)
}

const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()))
server.listen(Number(PORT), "127.0.0.1", () =>
  console.log(`The tools are at http://127.0.0.1:${server.address().port}/mcp`)
)
