import { type EventType, Reins } from "@reins/client"
import { problemOf } from "../contract/Answers.js"
import { fill, type Operation, operations, successes } from "../contract/Document.js"
import type { Recorded } from "../contract/Recording.js"

export interface Call {
  /** The path parameters, by their names. */
  readonly ids?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answer {
  readonly json: unknown
  readonly headers: Headers
}

const byName = new Map(operations.map((operation) => [operation.name, operation]))

const operationOf = (name: string): Operation => {
  const operation = byName.get(name)
  if (operation === undefined) throw new Error(`the document has no ${name}`)
  return operation
}

/** A value of an answer by its path, as in `operation.job_id`; undefined where there is none. */
export const at = (json: unknown, path: string): unknown => {
  let value = json
  for (const key of path.split(".")) {
    if (typeof value !== "object" || value === null) return undefined
    value = Array.isArray(value) ? value[Number(key)] : new Map<string, unknown>(Object.entries(value)).get(key)
  }
  return value
}

export const textAt = (json: unknown, path: string): string => {
  const value = at(json, path)
  if (typeof value !== "string") throw new Error(`no ${path} in ${JSON.stringify(json)}`)
  return value
}

export const itemsOf = (json: unknown): ReadonlyArray<unknown> => {
  const items = at(json, "items")
  return Array.isArray(items) ? items : []
}

/** Somebody who uses a server over HTTP, holds each answer to the document, and remembers which operations have succeeded. */
export class Visitor {
  /** The operations that have succeeded. */
  readonly succeeded = new Set<string>()
  /** The request and the answer of the first success of each. */
  readonly recorded = new Map<string, Recorded>()
  private keys = 0

  constructor(
    private readonly url: string,
    /** Sent with every call; a credential above all. */
    public headers: Readonly<Record<string, string>> = {},
    /** Carries its calls; streams go to the server itself. */
    private readonly carry: (url: string, init: RequestInit) => Promise<Response> = fetch
  ) {}

  /** Calls an operation by its method and path, which has to succeed as declared. */
  readonly call = async (name: string, { body, headers, ids = {}, query = {} }: Call = {}): Promise<Answer> => {
    const operation = operationOf(name)
    const search = new URLSearchParams(query).toString()
    const response = await this.carry(`${this.url}${fill(operation.path, ids)}${search === "" ? "" : `?${search}`}`, {
      method: operation.method,
      headers: {
        ...(operation.method !== "GET" && { "idempotency-key": `visit-${++this.keys}` }),
        ...(body !== undefined && { "content-type": "application/json" }),
        ...this.headers,
        ...headers
      },
      ...(body !== undefined && { body: JSON.stringify(body) })
    })
    const text = await response.text()
    const contentType = response.headers.get("content-type") ?? undefined
    const problem = problemOf(operation, { status: response.status, contentType, text })
    if (problem !== undefined || !successes(operation).includes(response.status)) {
      throw new Error(`${name}: ${response.status} ${problem ?? ""}\n${text}`)
    }
    this.succeeded.add(name)
    const json = text === "" || contentType?.includes("json") !== true ? text : JSON.parse(text)
    if (!this.recorded.has(name)) this.recorded.set(name, { body, answer: text === "" ? undefined : json })
    return { json, headers: response.headers }
  }

  readonly read = async (name: string, call?: Call): Promise<unknown> => (await this.call(name, call)).json

  /** Waits for the job of an answer's operation, and reads the operation, which has ended then. */
  readonly ended = async (answer: unknown): Promise<unknown> => {
    await this.client.jobs.wait({ job_id: textAt(answer, "operation.job_id") })
    return this.read("GET /api/operations/{operation_id}", { ids: { operation_id: textAt(answer, "operation.id") } })
  }

  /** Follows a session until something has happened to one of its resources. */
  readonly seen = async (session_id: string, id: string, ...types: ReadonlyArray<EventType>): Promise<void> => {
    for await (const event of this.client.sessions.stream({ session_id }))
      if (types.includes(event.type) && JSON.stringify(event).includes(id)) return
  }

  private get client(): Reins {
    return new Reins({ baseUrl: this.url, apiKey: this.headers["authorization"]?.slice("Bearer ".length) })
  }
}
