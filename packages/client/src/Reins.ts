import type { TypedEvent } from "@reins/core/domain/Event"
import type { Job } from "@reins/core/domain/Job"
import type { Turn } from "@reins/core/domain/Turn"
import { Cause, Effect, Exit, Redacted } from "effect"
import { derive, type EndpointName, type EndpointOf, type GroupName, type Input, type Success } from "./Contract.js"
import * as EventStream from "./EventStream.js"
import { effectMethods } from "./effect/EffectMethods.js"
import * as Following from "./Following.js"
import * as Transport from "./Transport.js"

/** The server of a client and the key that it calls with. */
export interface ReinsOptions extends Omit<Transport.ClientOptions, "apiKey"> {
  /** An API key. Without one only the public calls work, such as register and login. */
  readonly apiKey?: string | undefined
}

/** The settings of one call. */
export interface RequestOptions extends Transport.CallOptions {
  /** Ends the call: it rejects with the reason of the signal. What the server has begun goes on. */
  readonly signal?: AbortSignal | undefined
}

export type Method<E extends EndpointOf<GroupName>> =
  Partial<Input<E>> extends Input<E>
    ? (input?: Input<E>, options?: RequestOptions) => Promise<Success<E>>
    : (input: Input<E>, options?: RequestOptions) => Promise<Success<E>>

/** Every endpoint of the API, by group. */
export type Methods = {
  readonly [Group in GroupName]: {
    readonly [E in EndpointOf<Group> as EndpointName<E>]: Method<E>
  }
}

/** A client of a Reins server. Every method rejects with a `ReinsClientError`. */
export interface Reins extends Omit<Methods, "sessions" | "turns" | "jobs"> {
  /** The URL of the server, without a slash at its end. */
  readonly baseUrl: string
  /** The operations on sessions, and their events as a loop. */
  readonly sessions: Methods["sessions"] & {
    /**
     * The events of a session from the log and then live, until you leave the loop. It reconnects by itself, without gap or repeat,
     * and reads no faster than the loop does.
     */
    readonly stream: (
      input: EventStream.StreamInput,
      options?: { readonly signal?: AbortSignal | undefined }
    ) => AsyncIterableIterator<TypedEvent>
  }
  /** The operations on turns, and a wait for their end. */
  readonly turns: Methods["turns"] & {
    /** The turn, once it has ended. */
    readonly wait: (
      input: { readonly turn_id: string },
      options?: { readonly signal?: AbortSignal | undefined }
    ) => Promise<Turn>
  }
  /** The operations on jobs, and a wait for their end. */
  readonly jobs: Methods["jobs"] & {
    /** The job, once it has ended. Takes the `job_id` of an answer's `operation`. */
    readonly wait: (
      input: { readonly job_id: string },
      options?: { readonly signal?: AbortSignal | undefined }
    ) => Promise<Job>
  }
  /** Sends a message and waits for its turn to end. An aborted signal stops the waiting, not the turn. */
  readonly run: (
    input: Following.RunInput & { readonly onEvent?: (event: TypedEvent) => void | Promise<void> },
    options?: RequestOptions
  ) => Promise<Following.Run>
}

/** Makes a client. Throws a `TypeError` when the options cannot work. */
// Boundary: the members are assigned from the derived client, which the compiler cannot see in a class.
export const Reins = class Reins {
  constructor(options: ReinsOptions) {
    Object.assign(this, connect(options))
  }
} as unknown as new (
  options: ReinsOptions
) => Reins

const connect = ({ apiKey, ...options }: ReinsOptions): Reins => {
  const transport = Transport.make({ ...options, apiKey: apiKey === undefined ? undefined : Redacted.make(apiKey) })
  const following = Following.make(transport, effectMethods(transport))
  const methods = derive<Methods>(
    (route) =>
      (input: object = {}, request: RequestOptions = {}) =>
        settle(transport.call(route, input, request), request.signal)
  )
  return {
    baseUrl: transport.baseUrl,
    ...methods,
    sessions: {
      ...methods.sessions,
      stream: (input, request) => iterate(EventStream.make(transport, input), request?.signal)
    },
    turns: { ...methods.turns, wait: (input, request) => settle(following.waitForTurn(input), request?.signal) },
    jobs: { ...methods.jobs, wait: (input, request) => settle(following.waitForJob(input), request?.signal) },
    run: ({ onEvent, ...input }, request = {}) => {
      const watch = onEvent && ((event: TypedEvent) => Effect.promise(async () => onEvent(event)))
      return settle(following.run(input, watch, request), request.signal)
    }
  }
}

/** The result as a promise that rejects with the error itself, or with the reason of the signal. */
const settle = async <A, E>(effect: Effect.Effect<A, E>, signal: AbortSignal | undefined): Promise<A> => {
  signal?.throwIfAborted()
  const exit = await Effect.runPromiseExit(effect, signal === undefined ? {} : { signal })
  if (Exit.isSuccess(exit)) return exit.value
  if (Exit.isInterrupted(exit)) signal?.throwIfAborted()
  const error = Cause.originalError(Cause.squash(exit.cause))
  // The stack of a client error that helps is the one of the caller who waits here, not that of where it was made.
  if (error instanceof Error && Cause.isFailType(exit.cause)) Error.captureStackTrace?.(error)
  throw error
}

const iterate = (
  reader: EventStream.EventReader,
  signal: AbortSignal | undefined
): AsyncIterableIterator<TypedEvent> => {
  const stopped = new AbortController()
  let left = false
  const abort = () => stopped.abort(signal?.reason)
  const read = async function* (): AsyncGenerator<TypedEvent, undefined> {
    signal?.throwIfAborted()
    signal?.addEventListener("abort", abort)
    try {
      while (true) {
        for (const event of await settle(reader.pull, stopped.signal)) {
          yield event
          signal?.throwIfAborted()
        }
      }
    } catch (error) {
      if (!left) throw error
    } finally {
      signal?.removeEventListener("abort", abort)
      Effect.runSync(reader.close)
    }
  }
  const events = read()
  const iterator: AsyncIterableIterator<TypedEvent> = {
    next: () => events.next(),
    // A generator alone would answer only after the next event.
    return: () => {
      left = true
      stopped.abort()
      return events.return(undefined)
    },
    [Symbol.asyncIterator]: () => iterator
  }
  return iterator
}
