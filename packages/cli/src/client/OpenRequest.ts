import { cutText } from "@reins/base/base/CutText"
import {
  type CareInput,
  type Delivery,
  type MergeConditionsInput,
  type MergeRequest,
  type Reins,
  ReinsApiError,
  waitingSentence
} from "@reins/client"
import { CommandFailed } from "../CommandFailed.js"
import { tell } from "../terminal/Output.js"
import { liveProgress } from "../terminal/Progress.js"
import { harmless, painter } from "../terminal/Style.js"
import { reasonText } from "./ErrorSentences.js"
import type { Remote } from "./Remote.js"

/** The most characters of a text that a forge is given. */
const longest = 60_000
/** The first look follows at once, and this is how long it may take, in milliseconds. */
const firstLookMs = 15_000
const pollMs = 250

/** The way of an opened merge request without a person. */
export interface OpenedFor {
  readonly care?: CareInput | undefined
  readonly conditions?: MergeConditionsInput | undefined
}

/** Opens a merge request for a delivered branch, and gives it once the forge was read for the first time, if that is soon. */
export const openRequest = async (
  { reins, url }: Pick<Remote, "reins" | "url">,
  { id: delivery_id }: Delivery,
  description: string,
  { care, conditions }: OpenedFor = {}
): Promise<MergeRequest> => {
  const busy = liveProgress()
  busy.say("Opening a merge request")
  try {
    const { merge_request, operation } = await reins.deliveries.openMergeRequest({
      delivery_id,
      draft: false,
      ...(care !== undefined && { care }),
      ...(description !== "" && { description: cutText(description.trim(), longest) })
    })
    await reins.jobs.wait(operation)
    const opened = await reins.mergeRequests.get({ merge_request_id: merge_request.id })
    if (opened.state === "open") await goOnWith(reins, opened, { care, conditions })
    return await firstLook(reins, merge_request.id)
  } catch (error) {
    if (!(error instanceof ReinsApiError) || error.code !== "connection_required") throw error
    throw new CommandFailed({
      message: `The branch is delivered. A merge request needs a connection to its forge: add one at ${url}/ui/connections.`
    })
  } finally {
    busy.clear()
  }
}

/** Sets the conditions, and starts care for a request that was opened before without it. */
const goOnWith = async (reins: Reins, { care_state, id: merge_request_id }: MergeRequest, given: OpenedFor) => {
  const isCaredFor = care_state === "watching" || care_state === "working"
  if (given.care !== undefined && !isCaredFor) await reins.care.start({ merge_request_id, ...given.care })
  if (given.conditions !== undefined) await reins.mergeRequests.setConditions({ merge_request_id, ...given.conditions })
}

/** An open merge request once the forge was read for the first time, which no event tells; as it is when that takes long. */
export const firstLook = async (reins: Reins, merge_request_id: string): Promise<MergeRequest> => {
  const endsAt = performance.now() + firstLookMs
  for (;;) {
    const now = await reins.mergeRequests.get({ merge_request_id })
    if (now.state !== "open" || now.standing !== null || performance.now() > endsAt) return now
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}

/** Says on the standard error where a merge request is, and what it waits for unless that is watched from now on. */
export const tellRequest = (request: MergeRequest, isWatched = false): void => {
  const paint = painter(process.stderr)
  const { base_branch, id, number, state, web_url } = request
  if (state === "failed") {
    tell(paint("red", `The merge request was not opened: ${reasonText(request)}`))
    return
  }
  tell(paint("green", harmless(`Merge request #${number} into ${base_branch}: ${web_url ?? id}`)))
  if (isWatched) return
  tell(harmless(waitingSentence(request)))
  if (request.care_state !== null) tell("Care goes on by itself.")
  tell(`Follow it: reins merge-requests watch ${id}`)
}
