import { whenAborted } from "./Abort.js"
import { type Circumstances, sleep } from "./Clock.js"
import { WorkspaceEventReader } from "./EventStream.js"
import type { Methods } from "./generated/Methods.js"
import type { Interaction, InteractionList, SessionList, WorkspaceEventPage } from "./generated/Resources.js"
import { ReinsApiError, ReinsConnectionError } from "./ReinsClientError.js"
import { type Route, routeOf } from "./Route.js"
import type { Transport } from "./Transport.js"

/** The call of a function, besides its input. */
export interface FunctionCall {
  /** The id of the call, as the agent gave it. */
  readonly call_id: string
  /** The number of holders that have claimed the call, this one among them. Above 1 another one may have begun the work. */
  readonly attempt: number
  /** Aborts when the call is withdrawn, or another holder has answered it. */
  readonly signal: AbortSignal
}

/** A function that agents call. */
export interface CallableFunction {
  /** The words that tell the model when to call it and what it gives. */
  readonly description: string
  /** The JSON Schema of its input, of the type `object`. Inputs that do not fit never come here. */
  readonly input: Readonly<Record<string, unknown>>
  /** The time for an answer, in seconds; 600 when absent. */
  readonly deadline_seconds?: number | undefined
  /** Gives the answer as JSON. What it throws is told to the model, and `later` leaves the call to another program. */
  // Boundary: the schema says what the input is, which the compiler cannot see.
  // biome-ignore lint/suspicious/noExplicitAny: a function names the type of its own input
  readonly run: (input: any, call: FunctionCall) => unknown
}

/** Functions by their names. */
export type CallableFunctions = Readonly<Record<string, CallableFunction>>

/** The program that answers the calls of functions in a workspace. */
export interface ServeToolsInput {
  /** The workspace whose sessions call. */
  readonly workspace_id: string
  /** Only the calls of this session. */
  readonly session_id?: string | undefined
  /** The functions that it answers for, by their names. Calls of others are left alone. */
  readonly tools: CallableFunctions
  /** The most calls at once; 4 when absent. */
  readonly concurrency?: number | undefined
  /** Ends the work. Calls that run are left to others. */
  readonly signal?: AbortSignal | undefined
}

/** Throw it in a function to leave the call to another program. It is the same in every copy of this package. */
export const later: unique symbol = Symbol.for("@reins/client/later")

type CallClaim = Awaited<ReturnType<Methods["interactions"]["claim"]>>

/** The functions as a message names them. */
export const functionsOf = (tools: CallableFunctions) => ({
  functions: Object.entries(tools).map(([name, { deadline_seconds, description, input }]) => ({
    name,
    description,
    input_schema: input,
    ...(deadline_seconds !== undefined && { deadline_seconds })
  }))
})

/** The seconds of one claim. It is renewed every third of them. */
const claimSeconds = 60

/** Answers the calls of functions that it is told of. */
export class CallAnswers {
  /** The calls that run here or wait for their turn, each with what ends it. */
  private readonly open = new Map<string, AbortController>()
  private readonly waiting: Array<() => void> = []
  private running = 0
  private readonly holder = `client-${crypto.getRandomValues(new Uint32Array(2)).join("-")}`
  /** Rejects with the first failure that no other try can mend. */
  readonly failed: Promise<never>
  private fail: (reason: unknown) => void = () => {}

  constructor(
    private readonly transport: Transport,
    private readonly tools: CallableFunctions,
    private readonly circumstances: Circumstances,
    private readonly concurrency = Number.POSITIVE_INFINITY
  ) {
    this.failed = new Promise((_, reject) => {
      this.fail = reject
    })
    this.failed.catch(() => {})
  }

  /** Takes in an interaction as it stands. */
  readonly take = (interaction: Interaction): void => {
    const { id, state, tool } = interaction
    if (state !== "pending") {
      this.open.get(id)?.abort()
      this.open.delete(id)
    } else if (tool !== null && !this.open.has(id) && Object.hasOwn(this.tools, tool.name)) this.begin(interaction)
  }

  private begin(interaction: Interaction): void {
    const ended = new AbortController()
    this.open.set(interaction.id, ended)
    void this.work(interaction, ended.signal).catch((error) => this.fail(error))
  }

  /** Leaves the calls that run to others. */
  readonly close = (): void => {
    for (const ended of this.open.values()) ended.abort()
  }

  private async work({ id, tool }: Interaction, signal: AbortSignal): Promise<void> {
    if (this.running >= this.concurrency) await new Promise<void>((resolve) => this.waiting.push(resolve))
    this.running += 1
    try {
      if (tool !== null && !signal.aborted) await this.answer(id, tool, signal)
    } catch (error) {
      // The call has ended, or somebody else has it.
      if (!signal.aborted && !isSettled(error)) throw error
    } finally {
      this.running -= 1
      this.waiting.shift()?.()
    }
  }

  private async answer(id: string, tool: NonNullable<Interaction["tool"]>, signal: AbortSignal): Promise<void> {
    const claim = await this.claim(id, signal)
    const renewed = new AbortController()
    const stay = whenAborted(signal, () => renewed.abort())
    let leave = () => {}
    const gone = new Promise<undefined>((resolve) => {
      leave = whenAborted(signal, () => resolve(undefined))
    })
    void this.renew(id, renewed.signal)
    try {
      const call = { call_id: tool.call_id, attempt: claim.attempt, signal }
      const outcome = outcomeOf(this.tools[tool.name], tool.input, call)
      // A function that never ends gives up its place once its call has ended.
      const given = await Promise.race([outcome, gone])
      if (given !== undefined && !signal.aborted) await this.give(id, claim.claim_id, given, signal)
    } finally {
      leave()
      stay()
      renewed.abort()
    }
  }

  /** Gives the answer of a function. The model is told of one that the server refuses. */
  private async give(interaction_id: string, claim_id: string, given: Outcome, signal: AbortSignal): Promise<void> {
    try {
      await this.call("answer", { interaction_id, claim_id, ...given }, signal)
    } catch (error) {
      if (!(error instanceof ReinsApiError) || !refusedAnswer.includes(error.status)) throw error
      const result = `The answer of the function was refused: ${cut(error.message)}`
      await this.call("answer", { interaction_id, claim_id, result, is_error: true }, signal)
    }
  }

  /** Claims a call, once nobody else has it. */
  private async claim(id: string, signal: AbortSignal): Promise<CallClaim> {
    while (true) {
      try {
        return await this.claimOnce(id, signal)
      } catch (error) {
        if (!(error instanceof ReinsApiError) || error.code !== "already_claimed") throw error
        const { until } = error.details
        const leftMs = Date.parse(String(until)) - this.circumstances.clock.now()
        await sleep(Math.max(1000, leftMs || 0), { ...this.circumstances, signal })
      }
    }
  }

  private claimOnce(interaction_id: string, signal: AbortSignal): Promise<CallClaim> {
    // Boundary: the server answers by the document that the types are made from.
    return this.call(
      "claim",
      { interaction_id, holder: this.holder, seconds: claimSeconds },
      signal
    ) as Promise<CallClaim>
  }

  private async renew(id: string, signal: AbortSignal): Promise<void> {
    try {
      while (true) {
        await sleep((claimSeconds * 1000) / 3, { ...this.circumstances, signal })
        await this.claimOnce(id, signal)
      }
    } catch {
      // The answer tells whether the claim still holds.
    }
  }

  /** Tries again for as long as the server is away. A claim and an answer may be repeated. */
  private async call(method: "answer" | "claim", input: object, signal: AbortSignal): Promise<unknown> {
    const circumstances = { ...this.circumstances, signal }
    while (true) {
      try {
        return await this.transport.call(routeOf("interactions", method), input, circumstances)
      } catch (error) {
        if (!isPassing(error)) throw error
        await sleep(1000, circumstances)
      }
    }
  }
}

interface Outcome {
  readonly result: unknown
  readonly is_error?: true
}

/** The answer of a function; undefined for a call that it leaves to another program. */
const outcomeOf = async (
  called: CallableFunction | undefined,
  input: unknown,
  call: FunctionCall
): Promise<Outcome | undefined> => {
  try {
    return { result: asJson((await called?.run(input, call)) ?? null) }
  } catch (error) {
    if (error === later) return undefined
    const words = error instanceof Error ? error.message || error.name : String(error)
    return { result: cut(words) || "The function has failed.", is_error: true }
  }
}

/** The longest answer that the server takes, in characters of its JSON. */
const longestAnswer = 1_000_000

/** The same value. It throws for one that JSON does not have, and for one that is too long. */
const asJson = (value: unknown): unknown => {
  let text: string | undefined
  try {
    text = JSON.stringify(value)
  } catch (error) {
    throw new Error(`The answer of the function is no JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (text === undefined) throw new Error(`The answer of the function is no JSON: it is a ${typeof value}`)
  if (text.length > longestAnswer)
    throw new Error(`The answer of the function has ${text.length} characters of JSON, and may have ${longestAnswer}.`)
  return value
}

const cut = (words: string): string => words.slice(0, 10_000)

/** The statuses of a server that does not take an answer as it is: it is too long, or has no right form. */
const refusedAnswer: ReadonlyArray<number> = [413, 422]

/** True for a failure that a later try may not meet. */
const isPassing = (error: unknown): boolean =>
  error instanceof ReinsConnectionError || (error instanceof ReinsApiError && error.retryable)

/** True for the refusal of a call that has ended, or that somebody else has. */
const isSettled = (error: unknown): boolean =>
  error instanceof ReinsApiError && ["already_claimed", "invalid_transition", "not_found"].includes(error.code)

/** Answers the calls of all sessions of a workspace, those first that waited before it came. */
export const serveTools = async (
  transport: Transport,
  { concurrency = 4, session_id, signal, tools, workspace_id }: ServeToolsInput,
  { clock }: Circumstances
): Promise<void> => {
  const circumstances = { clock, signal }
  // Boundary: the server answers by the document that the types are made from.
  const read = <A>(route: Route, input: object) => transport.call(route, input, circumstances) as Promise<A>
  const answers = new CallAnswers(transport, tools, { clock }, concurrency)
  const stay = whenAborted(signal, answers.close)
  const { event_watermark: after } = await read<WorkspaceEventPage>(routeOf("workspaces", "listEvents"), {
    workspace_id,
    limit: 1
  })
  const reader = new WorkspaceEventReader(transport, {
    workspace_id,
    after,
    types: ["turn.action_required", "turn.action_resolved"]
  })
  const takeOpen = async (of: string) => {
    const open = await read<InteractionList>(routeOf("interactions", "list"), {
      session_id: of,
      state: "pending",
      limit: 100
    })
    for (const each of open.items) answers.take(each)
  }
  try {
    if (session_id !== undefined) await takeOpen(session_id)
    else
      for (const activity of ["requires_action", "attention"]) {
        let cursor: string | null | undefined
        while (cursor !== null) {
          const page: SessionList = await read(routeOf("sessions", "list"), {
            workspace_id,
            activity,
            limit: 100,
            cursor
          })
          for (const { id } of page.items) await takeOpen(id)
          cursor = page.next_cursor
        }
      }
    while (true) {
      await Promise.race([reader.wait(circumstances), answers.failed])
      for (const { event } of reader.take()) {
        const isWanted = session_id === undefined || event.session_id === session_id
        if (isWanted && (event.type === "turn.action_required" || event.type === "turn.action_resolved"))
          answers.take(event.payload.interaction)
      }
    }
  } catch (error) {
    if (signal?.aborted !== true) throw error
  } finally {
    stay()
    reader.close()
    answers.close()
  }
}
