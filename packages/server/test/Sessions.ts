import type { NewEvent } from "@reins/base/domain/Event"
import { SessionId, type TurnId } from "@reins/base/domain/Ids"
import { Journal } from "@reins/core/store/Journal"
import { Server } from "@reins/server/Server"
import { type Block, blockReader } from "@reins/testing/process/Blocks"
import { Effect, Schema } from "effect"
import { Caller, change, send } from "./Service.js"

const WithId = Schema.Struct({ id: Schema.String })
const Workspaces = Schema.Struct({ items: Schema.NonEmptyArray(WithId) })

/** A new session of the caller, made as a client makes one. */
export const newSession = Effect.gen(function* () {
  const { bearer: headers } = yield* Caller
  const list = yield* Schema.decodeUnknown(Workspaces)((yield* send("GET", "/api/workspaces", { headers })).json)
  const workspace = `/api/workspaces/${list.items[0].id}`
  const credential = { base_url: "http://127.0.0.1:9/v1", api_key: "nobody listens there" }
  const connection = yield* change("POST", `${workspace}/connections`, {
    headers,
    body: { kind: "alpha_gateway", label: "test", credential }
  })
  const { id: connectionId } = yield* Schema.decodeUnknown(WithId)(connection.json)
  yield* change("PATCH", `/api/connections/${connectionId}`, { headers, body: { preferred_model: "scripted-1" } })
  const created = yield* change("POST", `${workspace}/sessions`, { headers, body: { title: "test" } })
  const { id } = yield* Schema.decodeUnknown(WithId)(created.json)
  const read = yield* Schema.decodeUnknown(Schema.Struct({ event_watermark: Schema.Int }))(
    (yield* send("GET", `/api/sessions/${id}`, { headers })).json
  )
  return {
    sessionId: SessionId.make(id),
    workspace,
    events: `/api/sessions/${id}/events`,
    watermark: read.event_watermark
  }
}).pipe(Effect.orDie)

/** Appends events that the stream of a workspace has in one commit. */
export const appendListed = (sessionId: SessionId, count: number, title = "x") =>
  Effect.flatMap(Journal, (journal) => {
    const harness = { provider_id: "alpha", model: null }
    const payload = { lifecycle: "open" as const, title, labels: {}, harness, version: 2 }
    const event: NewEvent = { type: "session.updated", payload }
    return journal.commit(
      journal.append(
        sessionId,
        { kind: "system", id: "test" },
        Array.from({ length: count }, () => event)
      )
    )
  })

/** Appends `count` events in one commit, each with a line of `size` characters, of a turn if one is named. */
export const append = (sessionId: SessionId, count: number, size = 10, turnId?: TurnId) =>
  Effect.flatMap(Journal, (journal) => {
    const event: NewEvent = {
      type: "diagnostic.reported",
      payload: { kind: "test", line: "x".repeat(size) },
      ...(turnId !== undefined && { subjects: { turn_id: turnId } })
    }
    return journal.commit(
      journal.append(
        sessionId,
        { kind: "system", id: "test" },
        Array.from({ length: count }, () => event)
      )
    )
  })

export interface OpenStream {
  readonly status: number
  readonly headers: Headers
  /** Reads on until a block is the wanted one, or the stream ends. */
  readonly until: (wanted: (block: Block) => boolean) => Effect.Effect<ReadonlyArray<Block>>
  readonly close: () => void
}

/** Opens a stream of events. */
export const openStream = (
  path: string,
  headers: Readonly<Record<string, string>>
): Effect.Effect<OpenStream, never, Server> =>
  Effect.flatMap(Server, ({ url }) =>
    Effect.promise(async () => {
      const abort = new AbortController()
      const response = await fetch(url + path, {
        headers: { accept: "text/event-stream", ...headers },
        signal: abort.signal
      })
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
      const blocksOf = blockReader()
      const blocks: Array<Block> = []
      const next = async (): Promise<Block | undefined> => {
        for (;;) {
          const ready = blocks.shift()
          if (ready !== undefined) return ready
          const chunk = await reader?.read()
          if (chunk?.value === undefined) return undefined
          blocks.push(...blocksOf(chunk.value))
        }
      }
      return {
        status: response.status,
        headers: response.headers,
        until: (wanted) =>
          Effect.promise(async () => {
            const seen: Array<Block> = []
            for (let block = await next(); block !== undefined; block = await next()) {
              seen.push(block)
              if (wanted(block)) break
            }
            return seen
          }),
        close: () => abort.abort()
      } satisfies OpenStream
    })
  )
