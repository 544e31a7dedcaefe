import { type Circumstances, sleep } from "./Clock.js"
import { EventReader, type StreamInput, type TypedEvent } from "./EventStream.js"
import { type CallableFunctions, functionsOf } from "./Functions.js"
import type {
  Job,
  MergeRequest,
  Message,
  MessagesSendInput,
  SentMessage,
  Session,
  Turn,
  TurnSnapshot
} from "./generated/Resources.js"
import { type Route, routeOf } from "./Route.js"
import type { Call, Transport } from "./Transport.js"

/** A message to a session, and what to do with the words of its turn as they are said. */
export interface RunInput extends Omit<MessagesSendInput, "routing" | "tools">, Pick<StreamInput, "onDelta"> {
  /** Functions that the agent may call in the turn. They run here while the turn is followed, by a loop or by `final`. */
  readonly tools?: CallableFunctions | undefined
}

/** The result of a message. */
export interface RunResult {
  /** The ended turn; its `state` tells whether it succeeded and its `reason_message` why not. */
  readonly turn: TurnSnapshot
  /** The agent's last message; null when it said nothing. */
  readonly message: Message | null
  /** The text of that message; empty when there is none. */
  readonly text: string
  /** The result that satisfies the `result_schema` of the message; undefined when none was asked for or given. */
  readonly result?: unknown
}

/** A turn, or the answer of a call that started one. */
export type TurnLike =
  | { readonly [Name in "id" | "session_id" | "message_id"]: string }
  | {
      /** The turn that the call started. */
      readonly turn_id?: string | undefined
    }

interface Operation {
  readonly job_id: string
}

/** A job, its `operation` as it stands in an answer, or the answer itself. */
export type JobLike =
  | { readonly [Name in "id" | "operation_id"]: string }
  | Operation
  | {
      /** The durable work that the call started. */
      readonly operation?: Operation | undefined
    }

/** A merge request, or the answer of a call about one. */
export type MergeRequestLike =
  | { readonly [Name in "id" | "session_id" | "delivery_id"]: string }
  | {
      /** The id of the merge request. */
      readonly merge_request_id: string
    }
  | {
      /** The merge request that was made. */
      readonly merge_request: { readonly id: string }
    }

/** The text of a message, a line for each block, without its files. */
export const textOf = (message: Message | null): string =>
  (message?.content ?? []).flatMap((block) => (block.type === "text" ? [block.text] : [])).join("\n")

/** The states that a turn stays in. */
export const turnEnds = ["succeeded", "failed", "cancelled", "interrupted"] as const satisfies Array<Turn["state"]>

/** The states that a job stays in. */
export const jobEnds = ["succeeded", "failed", "cancelled"] as const satisfies Array<Job["state"]>

/** The states that a merge request stays in. */
export const mergeRequestEnds = ["merged", "closed", "failed"] as const satisfies Array<MergeRequest["state"]>

const hasEnded = (turn: Turn): boolean => turnEnds.some((state) => state === turn.state)

/** Gathers the result of a turn out of its events. */
export class Outcome {
  private readonly messages = new Map<string, Message>()
  result: RunResult | undefined

  constructor(private readonly turnId: string) {}

  /** Takes an event in. True when it is the end of the turn. */
  readonly see = (event: TypedEvent): boolean => {
    if (event.type === "message.completed") this.messages.set(event.payload.message.id, event.payload.message)
    const turn = endOf(event, this.turnId)
    if (turn === undefined) return false
    const message = this.messages.get(turn.outcome?.message_id ?? "") ?? null
    this.result = { turn, message, text: textOf(message) }
    return true
  }
}

const endOf = (event: TypedEvent, turnId: string): TurnSnapshot | undefined => {
  switch (event.type) {
    case "turn.succeeded":
    case "turn.failed":
    case "turn.cancelled":
    case "turn.interrupted":
      return event.payload.turn.id === turnId ? event.payload.turn : undefined
    default:
      return undefined
  }
}

/** Sends a message whose turn is to be followed. */
export const send = async (transport: Transport, input: RunInput, call: Call): Promise<Followed> => {
  const { onDelta, tools, ...words } = input
  const message = tools === undefined ? words : { ...words, tools: functionsOf(tools) }
  const sent = await read<SentMessage>(transport, routeOf("messages", "send"), message, call)
  const { event_watermark: after, turn_id } = sent
  if (turn_id === undefined) throw new Error("The server queued a message without a turn")
  const { session_id } = input
  // The server was reached before, so it is awaited through restarts.
  const open = () => new EventReader(transport, { session_id, turn_id, after, onDelta }, Number.POSITIVE_INFINITY)
  return { sent, turnId: turn_id, open }
}

/** A message that was sent, and its turn. */
export interface Followed {
  readonly sent: SentMessage
  readonly turnId: string
  /** A reader of the events of the turn, from the message on. */
  readonly open: () => EventReader
}

/** Reads the events of a turn to its end. */
export const finalOf = async (
  { open, turnId }: Followed,
  hear: (event: TypedEvent) => void,
  circumstances: Circumstances
): Promise<RunResult> => {
  const outcome = new Outcome(turnId)
  const visit = (event: TypedEvent) => {
    hear(event)
    return outcome.see(event)
  }
  await follow(open(), visit, circumstances)
  if (outcome.result === undefined) throw new Error("The events ended before the turn")
  return outcome.result
}

/** Gives every event to the visitor until it answers true. */
const follow = async (
  reader: EventReader,
  visit: (event: TypedEvent) => boolean,
  circumstances: Circumstances
): Promise<void> => {
  try {
    while (true) {
      await reader.wait(circumstances)
      if (reader.take().some(visit)) return
    }
  } finally {
    reader.close()
  }
}

/** The result of an ended turn with the value that its message asked for. */
export const withResult = async (
  transport: Transport,
  result: RunResult,
  circumstances: Circumstances
): Promise<RunResult> => {
  const input = { turn_id: result.turn.id }
  const turn = await read<Turn>(transport, routeOf("turns", "get"), input, circumstances)
  return turn.result === null ? result : { ...result, result: turn.result.value }
}

/** The turn, once it has ended. Its events tell the end, so that nothing is asked again and again. */
export const waitForTurn = async (transport: Transport, given: TurnLike, call: Circumstances): Promise<Turn> => {
  const turn_id = "turn_id" in given ? given.turn_id : "id" in given ? given.id : undefined
  if (turn_id === undefined) throw new TypeError("turns.wait needs a turn, or the answer of a call that started one")
  const get = () => read<Turn>(transport, routeOf("turns", "get"), { turn_id }, call)
  const first = await get()
  if (hasEnded(first)) return first
  const { session_id } = first
  const session = await read<Session>(transport, routeOf("sessions", "get"), { session_id }, call)
  // The turn may have ended before the watermark, where its events are not looked for.
  const second = await get()
  if (hasEnded(second)) return second
  const types = turnEnds.map((state) => `turn.${state}` as const)
  const input = { session_id, turn_id, types, after: session.event_watermark }
  await follow(
    new EventReader(transport, input, Number.POSITIVE_INFINITY),
    (event) => endOf(event, turn_id) !== undefined,
    call
  )
  return get()
}

/** The merge request, once it is merged, closed or failed. Its events tell the end, so that nothing is asked again and again. */
export const waitForMergeRequest = async (
  transport: Transport,
  given: MergeRequestLike,
  call: Circumstances
): Promise<MergeRequest> => {
  const merge_request_id = mergeRequestIdOf(given)
  const get = () => read<MergeRequest>(transport, routeOf("mergeRequests", "get"), { merge_request_id }, call)
  const isOver = ({ state }: MergeRequest) => mergeRequestEnds.some((end) => end === state)
  const first = await get()
  if (isOver(first)) return first
  const { session_id } = first
  const session = await read<Session>(transport, routeOf("sessions", "get"), { session_id }, call)
  // It may have ended before the watermark, where its events are not looked for.
  const second = await get()
  if (isOver(second)) return second
  const types = mergeRequestEnds.map((state) => `merge_request.${state}` as const)
  const input = { session_id, types, after: session.event_watermark }
  const isItsEnd = (event: TypedEvent) =>
    (event.type === "merge_request.merged" ||
      event.type === "merge_request.closed" ||
      event.type === "merge_request.failed") &&
    event.payload.merge_request_id === merge_request_id
  await follow(new EventReader(transport, input, Number.POSITIVE_INFINITY), isItsEnd, call)
  return get()
}

const mergeRequestIdOf = (given: MergeRequestLike): string => {
  if ("merge_request_id" in given) return given.merge_request_id
  return "merge_request" in given ? given.merge_request.id : given.id
}

/** The job, once it has ended. It is read again and again. */
export const waitForJob = async (transport: Transport, given: JobLike, call: Circumstances): Promise<Job> => {
  const job_id = jobIdOf(given)
  if (job_id === undefined) throw new TypeError("jobs.wait needs a job, or the answer of a call that started one")
  for (let delayMs = 100; ; delayMs = Math.min(delayMs * 2, 2_000)) {
    const job = await read<Job>(transport, routeOf("jobs", "get"), { job_id }, call)
    if (jobEnds.some((state) => state === job.state)) return job
    await sleep(delayMs, call)
  }
}

const jobIdOf = (given: JobLike): string | undefined => {
  if ("job_id" in given) return given.job_id
  if ("operation" in given) return given.operation?.job_id
  return "id" in given ? given.id : undefined
}

// Boundary: the server answers by the document that the types are made from.
const read = <A>(transport: Transport, route: Route, input: object, call: Call): Promise<A> =>
  transport.call(route, input, call) as Promise<A>
