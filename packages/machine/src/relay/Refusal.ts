import type { ServerResponse } from "node:http"

/** Answers with an error, in a form that the clients of every protocol can read. */
export const refuse = (response: ServerResponse, status: number, type: string, message: string): void => {
  const body = JSON.stringify({ type: "error", error: { type, message } })
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) })
  response.end(body)
}
