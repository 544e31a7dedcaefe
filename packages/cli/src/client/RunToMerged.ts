import type { Care, MergeRequest, Reins } from "@reins/client"
import { CommandFailed } from "../CommandFailed.js"
import { tell } from "../terminal/Output.js"
import { painter } from "../terminal/Style.js"
import { exitCodeOfWatch, nextCommand, watchRequest } from "./FollowRequest.js"
import type { OpenedFor } from "./OpenRequest.js"

export const mergeWords = ["when-green", "when-required"] as const

interface Wanted {
  readonly care: "fix" | "propose" | undefined
  readonly merge: (typeof mergeWords)[number] | undefined
  readonly request: boolean
  readonly json: boolean
}

/** Refuses the options that are about a merge request of a run that opens none. */
export const mustOpen = ({ care, merge, request }: Wanted): void => {
  if (!request && (care !== undefined || merge !== undefined))
    throw new CommandFailed({
      message: "--care and --merge are about a merge request. Add --request, which opens one."
    })
}

/** The way of the merge request of a run by itself. */
export const afterOpening = ({ care, merge }: Wanted): OpenedFor => ({
  care: care === undefined ? undefined : { checks: care, reviews: care, conflicts: care },
  conditions: merge === undefined ? undefined : { checks: merge === "when-green" ? "all" : "required" }
})

interface RunMerge {
  readonly exitCode: number
  readonly request: MergeRequest
  readonly care: Care | undefined
}

/** Waits until an open merge request is merged, if the run has asked for that, and says how it ended. */
export const untilMerged = async (
  reins: Reins,
  opened: MergeRequest | undefined,
  { json, merge }: Wanted
): Promise<RunMerge | undefined> => {
  if (opened === undefined || opened.state === "failed" || merge === undefined) return undefined
  const { id } = opened
  const watched = await watchRequest(reins, id, { json })
  const { end, last } = watched
  if (!json) {
    const paint = painter(process.stderr)
    const next = end === undefined ? undefined : nextCommand(end, id)
    if (end === undefined) tell(`It goes on without you. Look at it again: reins merge-requests watch ${id}`)
    else if (end === "merged") tell(paint("green", "Merged."))
    else tell(paint("red", "It was not merged."))
    if (next !== undefined) tell(`Go on: ${next}`)
  }
  return { exitCode: exitCodeOfWatch(watched), request: last?.request ?? opened, care: last?.care }
}
