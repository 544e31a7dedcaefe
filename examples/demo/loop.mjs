// The merge request of the demo, from its first commit to the merge, in sentences.
import { eventPrinter } from "./terminal.mjs"

const short = (sha) => sha?.slice(0, 7) ?? "none"

const ofChecks = {
  pending: (head) => `The CI is at work on commit ${head}.`,
  failing: (head) => `The CI is red on commit ${head}.`,
  passing: (head) => `The CI is green on commit ${head}.`
}

/** The meaning of an event for the merge request, in a sentence; undefined for nothing new. */
const sentences = () => {
  let told
  const sentenceOf = ({ payload, type }) => {
    switch (type) {
      case "merge_request.opened":
        return `Merge request #${payload.number} is open. The CI runs the tests, and one more that only the CI has.`
      case "merge_request.checks_changed":
        return ofChecks[payload.standing?.checks.state]?.(short(payload.head_sha))
      case "merge_request.care_began":
        return "A turn of the same session begins. The log of the CI is in its message."
      case "merge_request.care_delivered":
        return `Its commit ${short(payload.commit)} is on the branch, on top of the others. Nothing was pushed by force.`
      case "merge_request.care_handed_over":
        return `A person has to go on. ${payload.reason_message}`
      case "merge_request.ready_to_merge":
        return "All conditions of the merge hold."
      case "merge_request.merged":
        return "It is merged."
    }
  }
  return (event) => {
    const sentence = sentenceOf(event)
    if (sentence === told) return undefined
    told = sentence ?? told
    return sentence
  }
}

const ends = ["merged", "closed", "failed", "conditions_given_up", "care_handed_over"].map(
  (end) => `merge_request.${end}`
)

const mostMinutes = 10

/** Opens the merge request of a delivery and shows everything up to its end. Fails unless that is the merge. */
export const untilMerged = async (reins, { deliveryId, sessionId }) => {
  const { event_watermark: after } = await reins.deliveries.openMergeRequest({ delivery_id: deliveryId, draft: false })
  const print = eventPrinter(sentences())
  const late = new AbortController()
  const error = new Error(`the merge request was not merged within ${mostMinutes} minutes; its last event is above`)
  const timer = setTimeout(() => late.abort(error), mostMinutes * 60_000)
  try {
    for await (const event of reins.sessions.stream({ session_id: sessionId, after }, { signal: late.signal })) {
      print(event)
      if (event.type === "merge_request.merged") return
      if (ends.includes(event.type)) throw new Error(event.payload.reason_message ?? event.type)
    }
  } finally {
    clearTimeout(timer)
  }
}
