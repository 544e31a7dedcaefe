// A server of tools behind the authorization server of the package oidc-provider, as somebody would put the two together. It prints its address.
import { once } from "node:events"
import { createServer } from "node:http"
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js"
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js"
import Provider from "oidc-provider"

const listen = async (handler) => {
  const server = createServer(handler)
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return `http://localhost:${server.address().port}`
}

let handleIssuer
const issuer = await listen((request, response) => handleIssuer(request, response))
let handleTools
const tools = await listen((request, response) => handleTools(request, response))
const resource = `${tools}/mcp`

const provider = new Provider(issuer, {
  cookies: { keys: ["only for a test"] },
  findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  scopes: ["openid", "offline_access", "issues"],
  ttl: { AccessToken: 3600, Grant: 3600, Interaction: 600, RefreshToken: 3600, Session: 3600, IdToken: 600 },
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      getResourceServerInfo: (_, indicator) => ({ scope: "issues", audience: indicator, accessTokenFormat: "opaque" }),
      useGrantedResource: () => true
    }
  }
})
handleIssuer = provider.callback()

const challenge = `Bearer resource_metadata="${tools}/.well-known/oauth-protected-resource/mcp", scope="issues"`
handleTools = async (request, response) => {
  const { pathname } = new URL(request.url, tools)
  if (pathname === "/.well-known/oauth-protected-resource/mcp") {
    response.writeHead(200, { "content-type": "application/json" })
    return response.end(JSON.stringify({ resource, authorization_servers: [issuer] }))
  }
  const [, token = ""] = /^Bearer (.+)$/.exec(request.headers.authorization ?? "") ?? []
  const found = await provider.AccessToken.find(token)
  if (found === undefined || !found.isValid || found.aud !== resource || !found.scope.split(" ").includes("issues"))
    return response.writeHead(401, { "www-authenticate": challenge }).end()
  const server = new McpServer({ name: "issues", version: "1.0.0" })
  server.registerTool("count_issues", { description: "Counts the issues." }, () => ({
    content: [{ type: "text", text: "7" }]
  }))
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
  response.on("close", () => void transport.close().then(() => server.close()))
  await server.connect(transport)
  await transport.handleRequest(request, response)
}

process.stdout.write(`${resource}\n`)
