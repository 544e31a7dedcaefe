import { Chunk, Context, Effect, Layer, Option, Redacted, Stream } from "effect"
import {
  EventReader,
  type LogReader,
  type StreamInput,
  type TypedEvent,
  WorkspaceEventReader,
  type WorkspaceStreamInput
} from "../EventStream.js"
import * as Following from "../Following.js"
import type { Job, MergeRequest, SentMessage, Turn, WorkspaceEvent } from "../generated/Resources.js"
import { nextOf } from "../List.js"
import type { ReinsClientError } from "../ReinsClientError.js"
import * as Transport from "../Transport.js"
import { callable, type EffectFunctions, FollowedCalls } from "./EffectFunctions.js"
import { type CallOptions, type EffectMethods, effectMethods, fromPromise } from "./EffectMethods.js"

/** The server, and who calls it. */
export interface ClientOptions extends Transport.ServerOptions {
  /** An API key. Without one only the public calls work, such as register and login. */
  readonly apiKey?: Redacted.Redacted | undefined
}

/** A message that was sent, and the turn that works on it. An interruption stops the waiting, not the turn. */
export interface Run {
  /** The answer to the message: the turn that was queued for it is its `turn_id`. */
  readonly sent: SentMessage
  /** The events of the turn as they come. It ends with the turn. */
  readonly events: Stream.Stream<TypedEvent, ReinsClientError>
  /** The ended turn with the agent's last message. A turn that failed is a result too; its `state` tells. */
  readonly final: Effect.Effect<Following.RunResult, ReinsClientError>
  /** The text of the agent's last message, once the turn has ended; empty when it said nothing. */
  readonly text: Effect.Effect<string, ReinsClientError>
}

/** A client of a Reins server, whose calls are effects. Each fails with a `ReinsClientError`. */
export interface Client extends Omit<EffectMethods, "sessions" | "turns" | "jobs" | "mergeRequests" | "workspaces"> {
  /** The operations on sessions, and their events as a stream. */
  readonly sessions: EffectMethods["sessions"] & {
    /** The events of a session from the log and then live, without end. It reconnects by itself, without gap or repeat. */
    readonly stream: (input: StreamInput) => Stream.Stream<TypedEvent, ReinsClientError>
  }
  /** The operations on workspaces, and the events of all sessions of one as a stream. */
  readonly workspaces: EffectMethods["workspaces"] & {
    /** The events of a workspace that a list of sessions needs, from the log and then live, without end, gap or repeat. */
    readonly stream: (input: WorkspaceStreamInput) => Stream.Stream<WorkspaceEvent, ReinsClientError>
  }
  /** The operations on turns, and the wait for the end of one. */
  readonly turns: EffectMethods["turns"] & {
    /** The turn, once it has ended. Takes a turn, or the answer of a call that started one. */
    readonly wait: (turn: Following.TurnLike) => Effect.Effect<Turn, ReinsClientError>
  }
  /** The operations on jobs, and the wait for the end of one. */
  readonly jobs: EffectMethods["jobs"] & {
    /** The job, once it has ended. Takes a job, or the answer of a call that started one, which has an `operation`. */
    readonly wait: (job: Following.JobLike) => Effect.Effect<Job, ReinsClientError>
  }
  /** The operations on merge requests, and the wait for the end of one. */
  readonly mergeRequests: EffectMethods["mergeRequests"] & {
    /** The merge request, once it is merged, closed or failed. Takes a merge request, or the answer of a call about one. */
    readonly wait: (mergeRequest: Following.MergeRequestLike) => Effect.Effect<MergeRequest, ReinsClientError>
  }
  /** Sends a message, and gives what follows its turn. */
  readonly run: (input: RunInput, options?: CallOptions) => Effect.Effect<Run, ReinsClientError>
}

/** A message to a session, and what to do with the words of its turn as they are said. */
export interface RunInput extends Omit<Following.RunInput, "tools"> {
  /** Functions that the agent may call in the turn. They run here while `events`, `final` or `text` runs. */
  readonly tools?: EffectFunctions | undefined
}

/** The API of a Reins server. */
export class ReinsClient extends Context.Tag("@reins/client/ReinsClient")<ReinsClient, Client>() {
  static readonly layer = (options: ClientOptions) => Layer.sync(ReinsClient, () => make(options))
}

/** Throws a TypeError when the options cannot work. */
export const make = ({ apiKey, ...options }: ClientOptions): Client => {
  const transport = Transport.make({ ...options, apiKey: apiKey === undefined ? undefined : Redacted.value(apiKey) })
  const methods = effectMethods(transport)
  return {
    ...methods,
    sessions: { ...methods.sessions, stream: (input) => eventsOf(() => new EventReader(transport, input)) },
    workspaces: {
      ...methods.workspaces,
      stream: (input) => eventsOf(() => new WorkspaceEventReader(transport, input))
    },
    turns: {
      ...methods.turns,
      wait: (turn) => fromPromise((circumstances) => Following.waitForTurn(transport, turn, circumstances))
    },
    jobs: {
      ...methods.jobs,
      wait: (job) => fromPromise((circumstances) => Following.waitForJob(transport, job, circumstances))
    },
    mergeRequests: {
      ...methods.mergeRequests,
      wait: (mergeRequest) =>
        fromPromise((circumstances) => Following.waitForMergeRequest(transport, mergeRequest, circumstances))
    },
    run: ({ tools: given, ...input }, options) =>
      Effect.flatMap(Effect.runtime<never>(), (runtime) => {
        const tools = given && callable(given, runtime)
        const message = tools === undefined ? input : { ...input, tools }
        return Effect.map(
          fromPromise((circumstances) => Following.send(transport, message, { ...options, ...circumstances })),
          (followed) => runOf({ transport, followed, input, calls: new FollowedCalls(transport, tools ?? {}, runtime) })
        )
      })
  }
}

interface RunParts {
  readonly transport: Transport.Transport
  readonly followed: Following.Followed
  readonly input: RunInput
  readonly calls: FollowedCalls
}

const runOf = ({ calls, followed, input, transport }: RunParts): Run => {
  const ended = Effect.scoped(
    Effect.flatMap(calls.follow, (failed) =>
      Effect.raceFirst(
        fromPromise((circumstances) => Following.finalOf(followed, calls.hear, circumstances)),
        failed
      )
    )
  )
  const final =
    input.result_schema === undefined
      ? ended
      : Effect.flatMap(ended, (result) =>
          fromPromise((circumstances) => Following.withResult(transport, result, circumstances))
        )
  return {
    sent: followed.sent,
    events: Stream.unwrapScoped(
      Effect.map(calls.follow, (failed) => {
        const outcome = new Following.Outcome(followed.turnId)
        const heard = Stream.tap(eventsOf(followed.open), (event) => Effect.sync(() => calls.hear(event)))
        return Stream.takeUntil(Stream.interruptWhen(heard, failed), outcome.see)
      })
    ),
    final,
    text: Effect.map(final, ({ text }) => text)
  }
}

const eventsOf = <Item>(open: () => LogReader<Item>): Stream.Stream<Item, ReinsClientError> =>
  Effect.acquireRelease(Effect.sync(open), (reader) => Effect.sync(() => reader.close())).pipe(
    Effect.map((reader) =>
      Stream.repeatEffectChunk(
        Effect.map(
          fromPromise((circumstances) => reader.wait(circumstances)),
          () => Chunk.unsafeFromArray(reader.take())
        )
      )
    ),
    Stream.unwrapScoped
  )

/** Every item of a list, one page at a time, as in `items(reins.sessions.list, { workspace_id })`. */
export const items = <Input extends object, Item>(
  list: (input: Input) => Effect.Effect<{ readonly items: ReadonlyArray<Item> }, ReinsClientError>,
  input: Input
): Stream.Stream<Item, ReinsClientError> =>
  Stream.paginateChunkEffect({}, (more: object) =>
    Effect.map(list({ ...input, ...more }), (page) => [
      Chunk.unsafeFromArray(page.items),
      Option.fromNullable(nextOf(page))
    ])
  )
