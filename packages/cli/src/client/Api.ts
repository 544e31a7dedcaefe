import { randomUUID } from "node:crypto"
import { readFileSync } from "node:fs"
import { text as readAll } from "node:stream/consumers"
import { argument, flag, option, options } from "../Command.js"
import { CommandFailed } from "../CommandFailed.js"
import { printJsonNow } from "../terminal/Output.js"
import { target } from "./Profile.js"
import { remoteCommand } from "./Remote.js"

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"]

/** `reins api` */
export const api = remoteCommand({
  takes: {
    method: argument("method", "GET, POST, PUT, PATCH or DELETE"),
    path: argument("path", "The path, as /api/me; {workspace} stands for the id of your workspace"),
    query: options("query", "A parameter of the query; may be given more than once", { value: "name=value" }),
    data: option("data", "The body: JSON, @file, or - for the standard input", { value: "json" }),
    idempotencyKey: option("idempotency-key", "The key of a change (a new one)", { value: "key" }),
    paginate: flag("paginate", "All pages of a list, each item as a line of JSON"),
    include: flag("include", "The status and the headers too, on the standard error")
  },
  details: "The answer goes to the standard output as it is. Exits with 1 when the server refuses the request.",
  examples: [
    ["reins api GET /api/workspaces/{workspace}/sessions --paginate", "Every session, a line each"],
    [
      "reins api POST /api/sessions/sess_01h…/archives --idempotency-key once",
      "A change, once however often it is sent"
    ]
  ],
  run: async (given, connect) => {
    const method = given.method.toUpperCase()
    if (!methods.includes(method))
      throw new CommandFailed({ message: `"${given.method}" is no method. There are: ${methods.join(", ")}.` })
    if (!given.path.startsWith("/")) throw new CommandFailed({ message: `A path begins with a slash: /${given.path}` })
    if (given.paginate && method !== "GET")
      throw new CommandFailed({ message: "--paginate goes with GET, because only lists have pages." })
    const body = await bodyOf(given.data)
    const { reins, url, workspaceId } = await connect()
    const address = new URL(`${url}${given.path.replaceAll("{workspace}", workspaceId)}`)
    for (const [name, value] of given.query.map(pairOf)) address.searchParams.append(name, value)
    const ask = async () => {
      const response = await fetch(address, {
        method,
        headers: headersOf(reins.baseUrl, body, method === "GET" ? undefined : (given.idempotencyKey ?? randomUUID())),
        redirect: "manual",
        ...(body !== undefined && { body })
      })
      if (given.include) tellHead(response)
      return response
    }
    if (given.paginate) return everyPage(ask, address)
    const response = await ask()
    await write(response)
    if (!response.ok) throw new CommandFailed({ message: `The server answered ${response.status}.` })
  }
})

const bodyOf = async (data: string | undefined): Promise<string | undefined> => {
  if (data === "-") return readAll(process.stdin)
  if (data?.startsWith("@") !== true) return data
  try {
    return readFileSync(data.slice(1), "utf8")
  } catch {
    throw new CommandFailed({ message: `${data.slice(1)} cannot be read.` })
  }
}

const pairOf = (pair: string): readonly [string, string] => {
  const at = pair.indexOf("=")
  if (at < 1) throw new CommandFailed({ message: `--query takes name=value, and "${pair}" is none.` })
  return [pair.slice(0, at), pair.slice(at + 1)]
}

const headersOf = (url: string, body: string | undefined, key: string | undefined): Record<string, string> => ({
  authorization: `Bearer ${target(url).apiKey ?? ""}`,
  ...(body !== undefined && { "content-type": "application/json" }),
  ...(key !== undefined && { "idempotency-key": key })
})

const tellHead = ({ headers, status, statusText }: Response): void => {
  process.stderr.write(`HTTP ${status} ${statusText}\n`)
  for (const [name, value] of headers) process.stderr.write(`${name}: ${value}\n`)
}

/** Writes an answer as it comes, so that a stream of events can be read. */
const write = async ({ body }: Response): Promise<void> => {
  if (body === null) return
  let last = ""
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    process.stdout.write(text)
    last = text.slice(-1)
  }
  if (last !== "\n" && last !== "") process.stdout.write("\n")
}

const everyPage = async (ask: () => Promise<Response>, address: URL): Promise<void> => {
  for (;;) {
    const response = await ask()
    if (!response.ok) {
      await write(response)
      throw new CommandFailed({ message: `The server answered ${response.status}.` })
    }
    const page: unknown = await response.json()
    if (typeof page !== "object" || page === null || !("items" in page) || !Array.isArray(page.items))
      throw new CommandFailed({ message: "The answer is no list. Leave out --paginate." })
    page.items.forEach(printJsonNow)
    const cursor = "next_cursor" in page ? page.next_cursor : null
    if (typeof cursor !== "string") return
    address.searchParams.set("cursor", cursor)
  }
}
