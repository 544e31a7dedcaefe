import type { IncomingMessage, ServerResponse } from "node:http"
import type { KnownForge } from "./ForgeDialects.js"

/** Each forge tells anybody what it is. These answers are assumed: no recording has them. */
const signs: Readonly<Record<KnownForge, { readonly path: string; readonly status: number; readonly body: unknown }>> =
  {
    github: { path: "/api/v3/meta", status: 200, body: { installed_version: "3.17.0" } },
    gitlab: { path: "/api/v4/version", status: 401, body: { message: "401 Unauthorized" } },
    gitea: { path: "/api/v1/version", status: 200, body: { version: "1.24.0" } }
  }

/** Answers a question what the forge is and gives true; false for any other request. */
export const tellForge = (kind: KnownForge, request: IncomingMessage, response: ServerResponse): boolean => {
  const { body, path, status } = signs[kind]
  if (request.url !== path) return false
  request.resume()
  response.writeHead(status, kind === "github" ? { "x-github-request-id": "0:1:2:3:4" } : {}).end(JSON.stringify(body))
  return true
}
