import { readJson } from "@reins/base/base/ForeignJson"
import { adorns } from "@reins/base/base/ForeignText"
import { Data, Deferred, Effect, Option, Schema, type Scope, Stream } from "effect"
import type { ExecutorError } from "../../executor/Executor.js"
import type { Notices, Requests } from "./AcpSchema.js"

/** The agent answered a request with an error. */
export class RpcError extends Data.TaggedError("RpcError")<{
  readonly method: string
  readonly code: number
  readonly message: string
  readonly data: unknown
}> {}

const Message = Schema.Struct({
  id: Schema.optional(Schema.Union(Schema.Number, Schema.String, Schema.Null)),
  method: Schema.optional(Schema.String),
  params: Schema.optional(Schema.Unknown),
  result: Schema.optional(Schema.Unknown),
  error: Schema.optional(Schema.Unknown)
})
const decodeMessage = readJson(Message)

const readError = Schema.decodeUnknownOption(
  Schema.Struct({ code: adorns(Schema.Number), message: adorns(Schema.String), data: Schema.optional(Schema.Unknown) })
)

/** An error of any form. Some agents say a text alone. */
const errorOf = (method: string, given: unknown): RpcError => {
  const { code, data, message } = Option.getOrElse(readError(given), () => ({
    code: null,
    message: typeof given === "string" ? given : null,
    data: given
  }))
  return new RpcError({ method, code: code ?? 0, message: message ?? "", data })
}

/** The number of a request that an answer is for. Some agents write it as a text. */
const numberOf = (id: typeof Message.Type.id): number | undefined =>
  typeof id === "string" && /^\d{1,15}$/.test(id) ? Number(id) : typeof id === "number" ? id : undefined

/** The answer to a request of the agent. */
export type Served =
  | { readonly result: unknown }
  | { readonly error: { readonly code: number; readonly message: string } }

export interface PeerOptions {
  readonly lines: Stream.Stream<string, ExecutorError>
  readonly write: (line: string) => Effect.Effect<void, ExecutorError>
  /** Gets every line, before it is parsed or after it was written. */
  readonly onLine: (direction: "in" | "out", line: string) => Effect.Effect<void>
  readonly onNotification: (method: string, params: unknown, line: string) => Effect.Effect<void>
  /**
   * Handles a request of the agent and gives the effect of the answer. That effect may take its time, and later lines are handled meanwhile.
   * Null for an unknown method.
   */
  readonly onRequest: (
    method: string,
    params: unknown,
    id: string | number
  ) => Effect.Effect<Effect.Effect<Served> | null>
  /** Gets a line that is no message of the protocol, or answers no request. */
  readonly onUnparsed: (line: string) => Effect.Effect<void>
}

export interface Peer {
  /** Sends a request and waits for its answer. `sent` runs once the request is on its way. */
  readonly request: <Method extends keyof Requests>(
    method: Method,
    params: Requests[Method],
    sent?: Effect.Effect<unknown>
  ) => Effect.Effect<unknown, RpcError | ExecutorError>
  readonly notify: <Method extends keyof Notices>(
    method: Method,
    params: Notices[Method]
  ) => Effect.Effect<void, ExecutorError>
  /** Handles lines in their order until the output ends. Requests are answered only while it runs. */
  readonly run: Effect.Effect<void, ExecutorError>
}

/** A peer of JSON-RPC 2.0 with one message a line. Pending requests stay pending when the output ends, so the caller watches `run`. */
export const make = (options: PeerOptions): Peer => {
  const pending = new Map<number, { readonly method: string; readonly answer: Deferred.Deferred<unknown, RpcError> }>()
  let lastId = 0

  const send = (message: object) => {
    const line = JSON.stringify({ jsonrpc: "2.0", ...message })
    return Effect.zipRight(options.write(line), options.onLine("out", line))
  }

  const answer = (message: typeof Message.Type, line: string) => {
    const id = numberOf(message.id)
    const waiting = id === undefined ? undefined : pending.get(id)
    if (waiting === undefined) return options.onUnparsed(line)
    return message.error === undefined || message.error === null
      ? Deferred.succeed(waiting.answer, message.result)
      : Deferred.fail(waiting.answer, errorOf(waiting.method, message.error))
  }

  const serve = Effect.fnUntraced(function* (id: string | number, method: string, params: unknown) {
    const answer = yield* options.onRequest(method, params, id)
    if (answer === null) {
      return yield* send({ id, error: { code: -32601, message: `Method not found: ${method}` } })
    }
    // A broken pipe means that the agent has ended, which the reading side sees.
    yield* Effect.forkScoped(Effect.ignore(Effect.flatMap(answer, (served) => send({ id, ...served }))))
  })

  const handle = (message: typeof Message.Type, line: string): Effect.Effect<unknown, ExecutorError, Scope.Scope> => {
    if (message.method === undefined) return answer(message, line)
    return message.id === undefined || message.id === null
      ? options.onNotification(message.method, message.params, line)
      : serve(message.id, message.method, message.params)
  }

  const receive = (line: string) =>
    line.trim() === ""
      ? Effect.void
      : Effect.zipRight(
          options.onLine("in", line),
          Option.match(decodeMessage(line), {
            onNone: () => options.onUnparsed(line),
            onSome: (message) => handle(message, line)
          })
        )

  return {
    request: (method, params, sent = Effect.void) =>
      Effect.gen(function* () {
        const id = ++lastId
        const deferred = yield* Deferred.make<unknown, RpcError>()
        pending.set(id, { method, answer: deferred })
        yield* send({ id, method, params })
        yield* sent
        return yield* Deferred.await(deferred).pipe(Effect.ensuring(Effect.sync(() => pending.delete(id))))
      }),
    notify: (method, params) => send({ method, params }),
    run: Effect.scoped(Stream.runForEach(options.lines, receive))
  }
}
