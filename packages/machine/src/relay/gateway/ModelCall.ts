import type { ModelCallId } from "@reins/base/domain/Ids"

/** The protocols of model calls that the relay can read. */
export type CallProtocol = "openai_chat" | "openai_responses" | "anthropic_messages" | "gemini"

/**
 * The tokens of one model call, as the gateway counts them. `input` has the cached part in it, and `output` the reasoning. Null stands for a
 * figure that the gateway does not give.
 */
export interface CallUsage {
  readonly input: number | null
  /** The part of the input that came from a cache. */
  readonly cached: number | null
  /** The part of the input that was written to a cache. */
  readonly cacheWritten: number | null
  readonly output: number | null
  readonly reasoning: number | null
}

/**
 * The end of a model call. `answered`: the whole answer of a model came. `refused`: the gateway answered with an error, by its status or
 * within the answer. `broken_off`: the answer ended too early. `garbled`: the answer is none of the protocol. `unreachable`: no answer came.
 * `abandoned`: the agent did not wait for the end.
 */
export type CallOutcome = "answered" | "refused" | "broken_off" | "garbled" | "unreachable" | "abandoned"

/**
 * The way in which an answer is not what the model would have said. `cut`: it ended at the longest length of an answer. `withheld`: a filter, or
 * the model itself, kept it back.
 */
export type AnswerLack = "cut" | "withheld"

/** A model call that has ended, as the relay saw it. */
export interface ModelCall {
  readonly protocol: CallProtocol
  /** The model that the agent asked for; null when the request does not say. */
  readonly model: string | null
  /** True when the agent offered tools to the model; null when the request could not be read. */
  readonly hasTools: boolean | null
  /** Milliseconds since 1970, as for `endedAt`. */
  readonly startedAt: number
  readonly endedAt: number
  readonly outcome: CallOutcome
  /** The HTTP status of the answer, or of the error within it; null when no answer came. */
  readonly status: number | null
  /** The gateway's words about the error, in one line and without the key; null when there are none. */
  readonly words: string | null
  /** The names of the error, as its type and its code; empty when there are none. */
  readonly names: string
  /** The milliseconds that the gateway asks to be left alone; null when it asks for nothing. */
  readonly pauseMs: number | null
  /** Null for an answer that is whole, and for no answer. */
  readonly lack: AnswerLack | null
  /** Null when the gateway says nothing of tokens. */
  readonly usage: CallUsage | null
  /** The id under which a budget has let it out; absent where no budget counts it. */
  readonly admission?: ModelCallId
  /** The words of the answer about itself. Present for an observer with `readsAnswers`. */
  readonly answer?: AnswerWords
}

/** The model that an answer names, which may be another one than was asked for, and its own words for its end. */
export interface AnswerWords {
  /** Null for an answer that names none. */
  readonly model: string | null
  readonly ends: ReadonlyArray<string>
}

/** True for a call that the gateway, and not the agent, kept from its end. */
export const isFailing = ({ outcome }: ModelCall): boolean => outcome !== "answered" && outcome !== "abandoned"

/** An answer in the place of the gateway's. */
export interface CallRefusal {
  readonly status: number
  readonly type: string
  readonly message: string
}

/** The leave for a model call to go out. */
export interface CallLeave {
  readonly admission: ModelCallId | undefined
}

/** Watches the model calls of one agent. Its methods are called by the relay, return at once, and never throw. */
export interface CallObserver {
  /** True where it wants to know how answers name their model and their end. */
  readonly readsAnswers?: boolean
  /** Asked before a model call leaves. A refusal is answered at once, and the call is not one then. */
  readonly refusal: () => CallRefusal | undefined
  /**
   * Asked after `refusal`, with the bytes of the request as its header says them, null where it does not. The call is held until the promise
   * gives leave or a refusal. It is not one before it has left. Absent where nothing holds calls.
   */
  readonly admit?: (requestBytes: number | null) => Promise<CallLeave | CallRefusal>
  /** Told of a call that got leave and whose agent had gone by then, so that it never left. */
  readonly withdrawn?: (leave: CallLeave) => void
  /** Told of each model call that has left, once, when it has ended. */
  readonly ended: (call: ModelCall) => void
}

/** The observer, and whether a call is held by it now. */
export const knowingHeld = (
  observer: CallObserver
): { readonly observer: CallObserver; readonly isHeld: () => boolean } => {
  const { admit } = observer
  if (admit === undefined) return { observer, isHeld: () => false }
  let held = 0
  const admitted = async (requestBytes: number | null) => {
    held++
    try {
      return await admit(requestBytes)
    } finally {
      held--
    }
  }
  return {
    observer: {
      readsAnswers: observer.readsAnswers === true,
      refusal: () => observer.refusal(),
      admit: admitted,
      withdrawn: (leave) => observer.withdrawn?.(leave),
      ended: (call) => observer.ended(call)
    },
    isHeld: () => held > 0
  }
}

const paths: ReadonlyArray<readonly [RegExp, CallProtocol]> = [
  [/\/chat\/completions$/, "openai_chat"],
  [/\/responses(?:\/compact)?$/, "openai_responses"],
  [/\/messages$/, "anthropic_messages"],
  [/\/models\/[^/]+:(?:stream)?generateContent$/i, "gemini"]
]

/** The protocol of a request that asks a model; undefined for every other request. `target` is a path with its query. */
export const protocolOf = (method: string | undefined, target: string): CallProtocol | undefined => {
  const path = target.split("?", 1)[0] ?? ""
  return method === "POST" ? paths.find(([pattern]) => pattern.test(path))?.[1] : undefined
}

/** The model that the path of a request names, as gemini's paths do; undefined for other paths. */
export const modelInPath = (target: string): string | undefined => {
  const name = /\/models\/([^/?]+):(?:stream)?generateContent(?:\?|$)/i.exec(target)?.[1]
  try {
    return name === undefined ? undefined : decodeURIComponent(name)
  } catch {
    return name
  }
}
