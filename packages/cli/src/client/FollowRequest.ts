import {
  type Attention,
  type Care,
  careSentence,
  conditionsSentence,
  type MergeRequest,
  type Reins,
  ReinsApiError,
  ReinsConnectionError,
  waitingSentence
} from "@reins/client"
import { takeInterrupts } from "../terminal/Interrupts.js"
import { printJsonNow } from "../terminal/Output.js"
import { liveProgress } from "../terminal/Progress.js"
import { harmless, harmlessLine } from "../terminal/Style.js"
import { firstLook } from "./OpenRequest.js"
import { exitCodes } from "./Remote.js"

/** A merge request with what Reins does for it. */
export interface CaredRequest {
  readonly request: MergeRequest
  /** Undefined when nobody has ever started care. */
  readonly care: Care | undefined
  /** The newest one that care is about; undefined for none. */
  readonly attention: Attention | undefined
}

/** Reads a merge request with its care. */
export const readCared = async (
  reins: Reins,
  merge_request_id: string,
  signal?: AbortSignal
): Promise<CaredRequest> => {
  const options = signal === undefined ? {} : { signal }
  const request = await reins.mergeRequests.get({ merge_request_id }, options)
  if (request.care_state === null) return { request, care: undefined, attention: undefined }
  const [care, { items }] = await Promise.all([
    reins.care.get({ merge_request_id }, options),
    reins.care.listAttentions({ merge_request_id, limit: 1 }, options)
  ])
  return { request, care, attention: items[0] }
}

/** The state of a merge request in sentences: what is done for it, how it comes to be merged, and what it waits for. */
export const standingSentences = ({ attention, care, request }: CaredRequest): ReadonlyArray<string> => {
  if (request.state !== "open") return [harmless(waitingSentence(request))]
  const own = conditionsSentence(request)
  return [
    ...(care === undefined || care.state === "ended" ? [] : [careSentence(care, attention)]),
    request.conditions === null || request.conditions.state === "given_up" ? waitingSentence(request) : "",
    own
  ]
    .filter((sentence) => sentence !== "")
    .map(harmless)
}

export type RequestEnd = "merged" | "closed" | "failed" | "handed_over" | "proposed" | "given_up"

/** The end of what Reins does for a merge request; undefined while it goes on, or waits for others than a person of the workspace. */
export const endOfRequest = ({ attention, care, request }: CaredRequest): RequestEnd | undefined => {
  const { conditions, state } = request
  if (state === "merged" || state === "closed" || state === "failed") return state
  if (care?.state === "handed_over") return "handed_over"
  if (care?.state === "working" && attention?.state === "proposed") return "proposed"
  return conditions?.state === "given_up" ? "given_up" : undefined
}

/** The command with which a person goes on; undefined where there is none. */
export const nextCommand = (end: RequestEnd, id: string): string | undefined => {
  if (end === "handed_over") return `reins merge-requests care ${id} --again`
  if (end === "proposed") return `reins merge-requests deliver ${id}`
  return end === "given_up" ? `reins merge-requests conditions ${id} --again` : undefined
}

export interface Watching {
  /** True prints a line of JSON for each event, and nothing for people. */
  readonly json: boolean
}

/** The end of a watch. */
export interface Watched {
  /** Undefined when the person has left it. */
  readonly end: RequestEnd | undefined
  /** As it was read last; undefined when the person has left before. */
  readonly last: CaredRequest | undefined
}

/** Prints what happens to a merge request, until it is merged or closed, or a person has to go on. Ctrl-C leaves it as it is. */
export const watchRequest = async (reins: Reins, id: string, { json }: Watching): Promise<Watched> => {
  const left = new AbortController()
  const interrupts = takeInterrupts(() => left.abort())
  const lines = requestLines(json)
  let last: CaredRequest | undefined
  const show = (seen: CaredRequest) => {
    last = seen
    lines.show(seen)
  }
  try {
    last = await followed(reins, id, { show, json, signal: left.signal })
    return { end: endOfRequest(last), last }
  } catch (error) {
    if (!left.signal.aborted) throw error
    return { end: undefined, last }
  } finally {
    lines.clear()
    interrupts.release()
  }
}

/** The exit code that tells how a watch has ended. */
export const exitCodeOfWatch = ({ end }: Watched): number => {
  if (end === undefined) return exitCodes.detached
  return end === "merged" ? 0 : exitCodes.deliveryFailed
}

/** Nothing new is told again after this time, so that the log of a CI shows that the command lives, in milliseconds. */
const repeatMs = 5 * 60_000

const requestLines = (json: boolean) => {
  const busy = liveProgress()
  let last = ""
  let toldMs = 0
  return {
    clear: busy.clear,
    show: (seen: CaredRequest) => {
      if (json) return
      const text = standingSentences(seen).join(" ")
      const isQuiet = text === last && (process.stderr.isTTY === true || performance.now() - toldMs < repeatMs)
      if (!isQuiet) {
        busy.clear()
        process.stdout.write(harmlessLine(`${new Date().toISOString().slice(11, 19)} ${text}\n`))
        toldMs = performance.now()
      }
      last = text
      if (endOfRequest(seen) === undefined) busy.say(seen.care?.state === "working" ? "A turn is at work" : "Waiting")
    }
  }
}

interface Following extends Watching {
  readonly show: (seen: CaredRequest) => void
  readonly signal: AbortSignal
}

/** Some changes have no event, such as a condition that waits for something else. They are shown after this time at the latest. */
const refreshMs = 5000

/** Shows a merge request at the beginning and after each of its events, until its end. */
const followed = async (reins: Reins, id: string, { json, show, signal }: Following): Promise<CaredRequest> => {
  const { session_id } = await reins.mergeRequests.get({ merge_request_id: id }, { signal })
  const { event_watermark: after } = await reins.sessions.get({ session_id }, { signal })
  // This read holds all before the watermark, and the stream has what comes after it.
  const first = await readCared(reins, id, signal)
  show(first)
  if (endOfRequest(first) !== undefined) return first
  if (first.request.standing === null) await firstLook(reins, id)
  const refreshing = refresh(() => readCared(reins, id, signal), show)
  try {
    for await (const event of reins.sessions.stream({ session_id, after, types: ["merge_request.*"] }, { signal })) {
      const { payload } = event
      if (!("merge_request_id" in payload) || payload.merge_request_id !== id) continue
      if (json) printJsonNow(event)
      const now = await readAgain(() => readCared(reins, id, signal), signal)
      show(now)
      if (endOfRequest(now) !== undefined) return now
    }
    return await readCared(reins, id, signal)
  } finally {
    clearInterval(refreshing)
  }
}

const refresh = (read: () => Promise<CaredRequest>, show: (seen: CaredRequest) => void): NodeJS.Timeout => {
  let isReading = false
  return setInterval(() => {
    if (isReading) return
    isReading = true
    read()
      // The event tells the end.
      .then((seen) => (endOfRequest(seen) === undefined ? show(seen) : undefined))
      // The stream deals with a server that is gone.
      .catch(() => undefined)
      .finally(() => {
        isReading = false
      })
  }, refreshMs)
}

const retryMs = 1000

/** Reads through restarts of the server: the event that was heard may be the last one. */
const readAgain = async (get: () => Promise<CaredRequest>, signal: AbortSignal): Promise<CaredRequest> => {
  for (;;) {
    try {
      return await get()
    } catch (error) {
      const isPassing =
        error instanceof ReinsConnectionError || (error instanceof ReinsApiError && error.code === "shutting_down")
      if (signal.aborted || !isPassing) throw error
      await new Promise((resolve) => setTimeout(resolve, retryMs))
    }
  }
}
