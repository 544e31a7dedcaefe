import type { TypedEvent } from "@reins/core/domain/Event"
import type { Job } from "@reins/core/domain/Job"
import type { Turn } from "@reins/core/domain/Turn"
import { Chunk, Context, Effect, Layer, Stream } from "effect"
import * as EventStream from "../EventStream.js"
import * as Following from "../Following.js"
import type { ReinsClientError } from "../ReinsClientError.js"
import * as Transport from "../Transport.js"
import { type EffectMethods, effectMethods } from "./EffectMethods.js"

/** A client of a Reins server, whose methods are effects. */
export interface Client extends Omit<EffectMethods, "sessions" | "turns" | "jobs"> {
  /** The operations on sessions, and their events as a stream. */
  readonly sessions: EffectMethods["sessions"] & {
    /** The events of a session from the log and then live, without end. It reconnects by itself, without gap or repeat. */
    readonly stream: (input: EventStream.StreamInput) => Stream.Stream<TypedEvent, ReinsClientError>
  }
  /** The operations on turns, and a wait for their end. */
  readonly turns: EffectMethods["turns"] & {
    /** The turn, once it has ended. */
    readonly wait: (input: { readonly turn_id: string }) => Effect.Effect<Turn, ReinsClientError>
  }
  /** The operations on jobs, and a wait for their end. */
  readonly jobs: EffectMethods["jobs"] & {
    /** The job, once it has ended. Takes an `operation` as it stands in an answer. */
    readonly wait: (input: { readonly job_id: string }) => Effect.Effect<Job, ReinsClientError>
  }
  /** Sends a message and waits for its turn to end. Interruption stops the waiting, not the turn. */
  readonly run: <E = never, R = never>(
    input: Following.RunInput & { readonly onEvent?: (event: TypedEvent) => Effect.Effect<void, E, R> },
    options?: Transport.CallOptions
  ) => Effect.Effect<Following.Run, ReinsClientError | E, R>
}

/** The API of a Reins server. */
export class ReinsClient extends Context.Tag("@reins/client/ReinsClient")<ReinsClient, Client>() {
  /** A client with these options. Dies when the options cannot work. */
  static readonly layer = (options: Transport.ClientOptions) => Layer.sync(ReinsClient, () => make(options))
}

/** Throws a TypeError when the options cannot work. */
export const make = (options: Transport.ClientOptions): Client => {
  const transport = Transport.make(options)
  const methods = effectMethods(transport)
  const following = Following.make(transport, methods)
  return {
    ...methods,
    sessions: {
      ...methods.sessions,
      stream: (input) =>
        Effect.acquireRelease(
          Effect.sync(() => EventStream.make(transport, input)),
          (reader) => reader.close
        ).pipe(
          Effect.map((reader) => Stream.repeatEffectChunk(Effect.map(reader.pull, Chunk.unsafeFromArray))),
          Stream.unwrapScoped
        )
    },
    turns: { ...methods.turns, wait: following.waitForTurn },
    jobs: { ...methods.jobs, wait: following.waitForJob },
    run: ({ onEvent, ...input }, options) => following.run(input, onEvent, options)
  }
}
