import { once } from "node:events"
import { createServer, type IncomingHttpHeaders, request } from "node:http"
import type { AddressInfo } from "node:net"
import { script } from "reins-example-scripted-gateway/gateway.mjs"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { isUnmet, nameOf, runSuite } from "./Checks.js"
import { type Installation, installationForFile } from "./Installation.js"

const installation = installationForFile()
const proxy = createServer()
let url: string

/** The tools of the suite's reference server that tools of the door can play. Work of so many seconds is a turn of an agent. */
const parts: Readonly<Record<string, (given: { readonly seconds?: number }) => readonly [string, object]>> = {
  greet: () => ["list_projects", {}],
  slow_compute: ({ seconds = 0 }) => {
    const work = { tool: "bash", cmd: `sleep ${seconds}` }
    const message = script("Compute.", work, { say: "Done." })
    return ["start_session", { provider_id: "alpha", model: "scripted-1", message }]
  }
}

/** Gives a request for a tool of the reference server the name and the arguments of ours. Nothing else of it changes. */
const played = (body: string, headers: IncomingHttpHeaders): readonly [string, IncomingHttpHeaders] => {
  const message = JSON.parse(body)
  const play = message.method === "tools/call" ? parts[message.params?.name] : undefined
  if (play === undefined) return [body, headers]
  const [name, input] = play(message.params.arguments ?? {})
  const isNamed = headers["mcp-name"] === message.params.name
  const changed = JSON.stringify({ ...message, params: { ...message.params, name, arguments: input } })
  return [changed, isNamed ? { ...headers, "mcp-name": name } : headers]
}

const serve = ({ caller, url: target }: Installation) => {
  const { hostname, port } = new URL(target)
  proxy.on("request", async (asked, answer) => {
    const pieces: Array<Buffer> = []
    for await (const piece of asked) pieces.push(piece)
    const given = Buffer.concat(pieces).toString("utf8")
    const [body, headers] = given === "" ? [given, asked.headers] : played(given, asked.headers)
    const sent = {
      ...headers,
      authorization: `Bearer ${caller.apiKey}`,
      "content-length": String(Buffer.byteLength(body))
    }
    const out = request({ hostname, port, path: asked.url, method: asked.method, headers: sent }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers)
      got.pipe(answer)
    })
    out.on("error", () => answer.destroy())
    answer.on("close", () => out.destroy())
    out.end(body)
  })
}

beforeAll(async () => {
  serve(installation())
  proxy.listen(0, "127.0.0.1")
  await once(proxy, "listening")
  url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/mcp`
})
afterAll(() => {
  proxy.close()
  proxy.closeAllConnections()
})

/**
 * The scenarios of the extension that tools of ours can play, with the least checks that pass, and those that call another tool of the reference
 * server. The scenarios that are left out need such a tool for each check, or notifications, which the door does not send.
 */
const scenarios: ReadonlyArray<readonly [string, number, ReadonlyArray<string>]> = [
  ["tasks-capability-negotiation", 5, []],
  [
    "tasks-dispatch-and-envelope",
    7,
    ["tasks-result-type-complete-on-non-task-responses", "tasks-server-directed-creation-no-hint"]
  ],
  ["tasks-lifecycle", 7, ["sep-2663-tasks-get-status-failed", "sep-2663-tool-error-uses-completed-status"]],
  ["tasks-request-headers", 4, ["tasks-headers-tolerate-mcp-method-on-tools-call"]],
  ["tasks-request-state-removal", 3, []],
  ["tasks-wire-fields", 4, []]
]

describe("tasks before the conformance suite", () => {
  for (const [scenario, floor, expected] of scenarios)
    it(`passes ${scenario}, as far as it needs no tool of a reference server`, async () => {
      const args = ["server", "--url", url, "--scenario", scenario, "--timeout", "120000"]
      const checks = await runSuite({ directory: installation().directory, name: scenario }, args)
      const unmet = checks.filter(isUnmet)
      assert.deepStrictEqual(
        unmet.map((check) => check.id).sort(),
        [...expected].sort(),
        unmet.map((check) => `${nameOf(check)}: ${check.errorMessage ?? ""}`).join("\n")
      )
      assert.isAtLeast(checks.filter(({ status }) => status === "SUCCESS").length, floor)
    })
})
