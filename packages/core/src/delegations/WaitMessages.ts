import { cutText } from "@reins/base/base/CutText"
import { fn } from "@reins/base/base/Traced"
import { Effect } from "effect"
import { systemActor } from "../access/Access.js"
import { Inbox } from "../sessions/Inbox.js"
import type { Routing } from "../sessions/rows/Message.js"
import { SessionStore } from "../sessions/rows/SessionStore.js"
import { existingOf } from "../store/Existing.js"
import { type Delegation, delegationStates, type Result, waitStateOf } from "./Delegation.js"
import { DelegationStore } from "./DelegationStore.js"
import { ResultStore } from "./ResultStore.js"
import { WaitStore } from "./WaitStore.js"

/** Posts the messages of lasting waits, which tell the delegating sessions that their delegations have ended. */
export const waitMessages = Effect.gen(function* () {
  const delegations = yield* DelegationStore
  const results = yield* ResultStore
  const waits = yield* WaitStore
  const sessions = yield* SessionStore
  const inbox = yield* Inbox
  const existing = existingOf("delegation", delegations.find)

  /** A wait that has not been settled although its delegation has ended. */
  const due = Effect.fnUntraced(function* (waitId: string) {
    const wait = yield* waits.find(waitId)
    if (wait === undefined || wait.state !== "pending") return undefined
    const delegation = yield* existing(wait.delegation_id)
    return delegationStates.isTerminal(delegation.state) ? { wait, delegation } : undefined
  })

  return {
    /**
     * Posts the message of a wait and settles the wait, which happens once. Routed as `note` the message starts no turn. Fails as
     * `Inbox.post` does when the session cannot take it.
     */
    deliver: fn("waitMessages.deliver")(function* (waitId: string, routing: Extract<Routing, "queue" | "note">) {
      const found = yield* due(waitId)
      if (found === undefined) return
      const { delegation, wait } = found
      const session = yield* sessions.lock(delegation.session_id)
      if (session === undefined) return
      const content = textOf(delegation, yield* results.find(delegation.id))
      const { message } = yield* inbox.post(session, author, { content, routing }, "delegation")
      const state = waitStateOf(delegation)
      yield* waits.settle(wait, state)
      yield* delegations.tell(delegation, author, {
        type: state === "expired" ? "delegation.wait_expired" : "delegation.wait_satisfied",
        payload: { wait_id: wait.id, message_id: message.id }
      })
    }),
    /** Gives up a wait whose session takes no message any more. */
    abandon: fn("waitMessages.abandon")(function* (waitId: string) {
      const found = yield* due(waitId)
      if (found !== undefined) yield* waits.settle(found.wait, "cancelled")
    })
  }
})

const author = systemActor("delegations")

/** The longest quoted result, in characters, so that the whole text stays below the limit of a message. */
const maxSummary = 90_000

const textOf = (delegation: Delegation, result: Result | undefined): string => {
  const head = `The delegation ${delegation.id} ("${delegation.role}") ${delegation.state}.`
  if (result === undefined) return [head, delegation.reason_message].filter(Boolean).join("\n\n")
  const facts = [
    result.verdict === null ? undefined : `Verdict: ${result.verdict}`,
    result.changeset_id === null ? undefined : `Changeset: ${result.changeset_id}`
  ].filter((fact) => fact !== undefined)
  return [head, ...(facts.length > 0 ? [facts.join("\n")] : []), cutText(result.summary, maxSummary)].join("\n\n")
}
