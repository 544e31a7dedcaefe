import { systemClock } from "./Clock.js"
import {
  EventReader,
  type StreamInput,
  type TypedEvent,
  WorkspaceEventReader,
  type WorkspaceStreamInput
} from "./EventStream.js"
import * as Following from "./Following.js"
import { CallAnswers, type ServeToolsInput, serveTools } from "./Functions.js"
import type { Methods } from "./generated/Methods.js"
import type { Job, MergeRequest, SessionExport, Turn, WorkspaceEvent } from "./generated/Resources.js"
import { iterate } from "./Iteration.js"
import { listOf } from "./List.js"
import { ReinsApiError, ReinsConnectionError, ReinsValidationError } from "./ReinsClientError.js"
import { methodsBy } from "./Route.js"
import type { Run } from "./Run.js"
import * as Transport from "./Transport.js"

/** The server, and who calls it. */
export interface ReinsOptions extends Transport.ServerOptions {
  /** An API key. Without one only the public calls work, such as register and login. */
  readonly apiKey?: string | undefined
}

type Waiting = Pick<Transport.RequestOptions, "signal">

/** The export of a session: as Markdown a text, else its fields. */
export interface GetExport {
  /** Gives the text of the file in Markdown. */
  (
    input: { readonly session_id: string; readonly format: "markdown" },
    options?: Transport.RequestOptions
  ): Promise<string>
  /** Gives the fields of the file. */
  (
    input: { readonly session_id: string; readonly format?: "json" | undefined },
    options?: Transport.RequestOptions
  ): Promise<SessionExport>
}

/** A client of a Reins server. Every method rejects with a `ReinsClientError`. */
export interface Reins extends Omit<Methods, "sessions" | "turns" | "jobs" | "mergeRequests" | "workspaces"> {
  /** The URL that it calls, without a slash at the end. */
  readonly baseUrl: string
  /** The operations on sessions, and their events as a stream. */
  readonly sessions: Omit<Methods["sessions"], "getExport"> & {
    /** All of a session as one file, without secrets: `GET /api/sessions/{session_id}/export`. */
    readonly getExport: GetExport
    /**
     * The events of a session from the log and then live, until you leave the loop. It reconnects by itself, without gap or repeat,
     * and reads no faster than the loop does.
     */
    readonly stream: (input: StreamInput, options?: Waiting) => AsyncIterableIterator<TypedEvent>
  }
  /** The operations on workspaces, and the events of all sessions of one as a stream. */
  readonly workspaces: Methods["workspaces"] & {
    /**
     * The events of a workspace that a list of sessions needs, from the log and then live, until you leave the loop. It reconnects by itself,
     * without gap or repeat, and reads no faster than the loop does.
     */
    readonly stream: (input: WorkspaceStreamInput, options?: Waiting) => AsyncIterableIterator<WorkspaceEvent>
  }
  /** The operations on turns, and the wait for the end of one. */
  readonly turns: Methods["turns"] & {
    /** The turn, once it has ended. Takes a turn, or the answer of a call that started one. */
    readonly wait: (turn: Following.TurnLike, options?: Waiting) => Promise<Turn>
  }
  /** The operations on jobs, and the wait for the end of one. */
  readonly jobs: Methods["jobs"] & {
    /** The job, once it has ended. Takes a job, or the answer of a call that started one, which has an `operation`. */
    readonly wait: (job: Following.JobLike, options?: Waiting) => Promise<Job>
  }
  /** The operations on merge requests, and the wait for the end of one. */
  readonly mergeRequests: Methods["mergeRequests"] & {
    /**
     * The merge request, once it is merged, closed or failed; `state` tells which. It waits for as long as that takes, through lost connections
     * and restarts of the server. Takes a merge request, or the answer of a call about one.
     */
    readonly wait: (mergeRequest: Following.MergeRequestLike, options?: Waiting) => Promise<MergeRequest>
  }
  /** Sends a message and follows its turn. An aborted signal stops the waiting, not the turn. */
  readonly run: (input: Following.RunInput, options?: Transport.MutationOptions) => Run
  /**
   * Answers the calls of functions with these names in all sessions of a workspace, also those that waited before. It ends with the signal alone,
   * and lost connections and restarts of the server are come through.
   */
  readonly serveTools: (input: ServeToolsInput) => Promise<void>
}

/** Makes a client. It throws a TypeError when the options cannot work. */
// Boundary: the members are assigned from the table of routes, which the compiler cannot see in a class.
export const Reins = class Reins {
  constructor(options: ReinsOptions) {
    Object.assign(this, connect(options))
  }
} as unknown as new (
  options: ReinsOptions
) => Reins

const clock = systemClock

const connect = (options: ReinsOptions): Reins => {
  const transport = Transport.make(options)
  const methods = methodsBy<Methods>((route) => (input: object = {}, request: Transport.MutationOptions = {}) => {
    const call = (more: object) => seenHere(transport.call(route, { ...input, ...more }, { ...request, clock }))
    // Boundary: the table says which answers are pages.
    return route.list ? listOf(call as Parameters<typeof listOf>[0]) : call({})
  })
  return {
    baseUrl: transport.baseUrl,
    ...methods,
    sessions: {
      ...methods.sessions,
      // Boundary: the server answers each format in its form.
      getExport: methods.sessions.getExport as GetExport,
      stream: (input, { signal } = {}) =>
        iterate({ open: () => new EventReader(transport, input), isLast: () => false, clock, signal })
    },
    workspaces: {
      ...methods.workspaces,
      stream: (input, { signal } = {}) =>
        iterate({ open: () => new WorkspaceEventReader(transport, input), isLast: () => false, clock, signal })
    },
    turns: {
      ...methods.turns,
      wait: (turn, { signal } = {}) => seenHere(Following.waitForTurn(transport, turn, { clock, signal }))
    },
    jobs: {
      ...methods.jobs,
      wait: (job, { signal } = {}) => seenHere(Following.waitForJob(transport, job, { clock, signal }))
    },
    mergeRequests: {
      ...methods.mergeRequests,
      wait: (mergeRequest, { signal } = {}) =>
        seenHere(Following.waitForMergeRequest(transport, mergeRequest, { clock, signal }))
    },
    run: (input, request = {}) => runOf(transport, input, request),
    serveTools: (input) => seenHere(serveTools(transport, input, { clock }))
  }
}

const runOf = (transport: Transport.Transport, input: Following.RunInput, request: Transport.MutationOptions): Run => {
  const followed = Following.send(transport, input, { ...request, clock })
  // A loop or a wait is told of a refusal itself.
  followed.catch(() => {})
  const { signal } = request
  const answers = new CallAnswers(transport, input.tools ?? {}, { clock })
  const hear = (event: TypedEvent): void => {
    if (event.type === "turn.action_required" || event.type === "turn.action_resolved")
      answers.take(event.payload.interaction)
  }
  let result: Following.RunResult | undefined
  let finishing: Promise<Following.RunResult> | undefined
  const events = (): AsyncIterator<TypedEvent> => {
    let outcome: Following.Outcome | undefined
    return iterate({
      open: async () => {
        const { open, turnId } = await followed
        outcome = new Following.Outcome(turnId)
        return open()
      },
      isLast: (event) => {
        hear(event)
        const ended = outcome?.see(event) === true
        if (ended) result = outcome?.result
        return ended
      },
      clock,
      signal
    })
  }
  const finish = async (): Promise<Following.RunResult> => {
    const given = await followed
    const ended = result ?? (await Promise.race([Following.finalOf(given, hear, { clock, signal }), answers.failed]))
    return input.result_schema === undefined ? ended : Following.withResult(transport, ended, { clock, signal })
  }
  const final = (): Promise<Following.RunResult> => {
    finishing ??= finish().finally(answers.close)
    return seenHere(finishing)
  }
  return {
    sent: () => seenHere(followed.then(({ sent }) => sent)),
    final,
    text: async () => (await final()).text,
    [Symbol.asyncIterator]: events
  }
}

// Boundary: the engines that have it are not those that the types of a browser tell of.
const { captureStackTrace } = Error as { readonly captureStackTrace?: (error: object) => void }

/** A client error shows where its caller waits for it, and not where it was made. */
const seenHere = async <A>(work: Promise<A>): Promise<A> => {
  try {
    return await work
  } catch (error) {
    if (
      error instanceof ReinsApiError ||
      error instanceof ReinsValidationError ||
      error instanceof ReinsConnectionError
    )
      captureStackTrace?.(error)
    throw error
  }
}
