// Reins as a client of a server of tools, as the conformance suite runs one: it logs in with a browser, names the server in a project and asks for its
// tools. The last argument is the address of the server.
import { randomUUID } from "node:crypto"

const { MCP_CONFORMANCE_CONTEXT: context = "{}", REINS_API_KEY, REINS_URL, REINS_WORKSPACE } = process.env
const server_url = process.argv.at(-1)

const ask = async (path, body) => {
  const response = await fetch(`${REINS_URL}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${REINS_API_KEY}`,
      "content-type": "application/json",
      "idempotency-key": randomUUID()
    },
    body: JSON.stringify(body)
  })
  const text = await response.text()
  if (!response.ok) {
    process.stderr.write(`${path}: ${response.status} ${text}\n`)
    process.exit(1)
  }
  return JSON.parse(text)
}

const { client_id, client_secret } = JSON.parse(context)
const begun = await ask(`/api/workspaces/${REINS_WORKSPACE}/connection-logins`, {
  server_url,
  label: "suite",
  ...(client_id !== undefined && { client_id, client_secret })
})

// The person allows everything: the authorization servers of the suite lead the browser back at once.
const { headers } = await fetch(begun.authorize_url, { redirect: "manual" })
const { searchParams } = new URL(headers.get("location") ?? "", begun.authorize_url)
const brought = ["state", "code", "error", "iss"].flatMap((name) => {
  const value = searchParams.get(name)
  return value === null ? [] : [[name, value]]
})
const login = await ask(`/api/connection-logins/${begun.login.id}/answers`, Object.fromEntries(brought))
if (login.state !== "completed") throw new Error(`${login.state}: ${login.reason_message}`)

const project = await ask(`/api/workspaces/${REINS_WORKSPACE}/projects`, {
  slug: `suite-${begun.login.id.slice(-12)}`,
  name: "Suite",
  spec: {
    tools: {
      mcp_servers: [{ name: "suite", url: server_url, connection_id: login.connection_id, allow: ["test-tool"] }]
    }
  }
})
const { servers } = await ask(`/api/projects/${project.id}/mcp-checks`, {})
process.stdout.write(`${JSON.stringify(servers)}\n`)
if (servers[0].state !== "reached") throw new Error(servers[0].problem)
