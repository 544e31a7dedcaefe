import { type MergeRequest, type Reins, ReinsApiError, ReinsConnectionError, waitingSentence } from "@reins/client"
import { argument, flag } from "../Command.js"
import { takeInterrupts } from "../terminal/Interrupts.js"
import { printJsonNow, tell } from "../terminal/Output.js"
import { liveProgress } from "../terminal/Progress.js"
import { harmless } from "../terminal/Style.js"
import { firstLook } from "./OpenRequest.js"
import { exitCodes, remoteCommand } from "./Remote.js"

/** `reins merge-requests watch` */
export const watch = remoteCommand({
  takes: {
    request: argument("merge-request", "The id of a merge request"),
    json: flag("json", "A line of JSON for each event, and a last one with the merge request")
  },
  details:
    "It prints a line whenever something changes, and ends when the request is merged or closed. Restarts of the server are come through.\n" +
    "Exits with 4 when it was not merged, and with 5 after Ctrl-C, which leaves it as it is.",
  examples: [
    ["reins merge-requests watch mr_01h…", "See what it waits for, until it is merged"],
    ["reins merge-requests watch mr_01h… --json | jq -r .type", "The types of its events"]
  ],
  run: async ({ json, request: merge_request_id }, connect) => {
    const { reins } = await connect()
    const left = new AbortController()
    const interrupts = takeInterrupts(() => left.abort())
    const busy = liveProgress()
    let last = ""
    const show = (request: MergeRequest) => {
      if (json) return
      const sentence = harmless(waitingSentence(request))
      if (sentence !== last) {
        busy.clear()
        process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${sentence}\n`)
      }
      last = sentence
      if (request.state === "open" || request.state === "pending") busy.say("Watching")
    }
    try {
      const ended = await followed(reins, merge_request_id, { show, json, signal: left.signal })
      process.exitCode = ended.state === "merged" ? 0 : exitCodes.deliveryFailed
      if (json) printJsonNow(ended)
    } catch (error) {
      if (!left.signal.aborted) throw error
      busy.clear()
      tell("The merge request stays as it is.")
      process.exitCode = exitCodes.detached
    } finally {
      busy.clear()
      interrupts.release()
    }
  }
})

const isOpen = ({ state }: MergeRequest): boolean => state === "open" || state === "pending"

interface Watching {
  readonly show: (request: MergeRequest) => void
  readonly json: boolean
  readonly signal: AbortSignal
}

/** Shows a merge request at the beginning and after each of its events, until it is open no more. */
const followed = async (
  reins: Reins,
  merge_request_id: string,
  { json, show, signal }: Watching
): Promise<MergeRequest> => {
  const get = () => reins.mergeRequests.get({ merge_request_id }, { signal })
  const { session_id } = await get()
  const { event_watermark: after } = await reins.sessions.get({ session_id }, { signal })
  // What came before the watermark is in this read, and the stream has what comes after it.
  const first = await get()
  show(first)
  if (!isOpen(first)) return first
  if (first.standing === null) show(await firstLook(reins, merge_request_id))
  for await (const event of reins.sessions.stream({ session_id, after, types: ["merge_request.*"] }, { signal })) {
    const { payload } = event
    if (!("merge_request_id" in payload) || payload.merge_request_id !== merge_request_id) continue
    if (json) printJsonNow(event)
    const now = await readAgain(get, signal)
    show(now)
    if (!isOpen(now)) return now
  }
  return get()
}

const retryMs = 1000

/** Reads through restarts of the server: the event that was heard may be the last one. */
const readAgain = async (get: () => Promise<MergeRequest>, signal: AbortSignal): Promise<MergeRequest> => {
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
