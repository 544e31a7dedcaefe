import type { TurnSnapshot } from "@reins/client"
import { useAction, useLoaded } from "../api/Loading.js"
import { reasonInFull } from "../api/Reasons.js"
import { reins } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { Outcome, State } from "../ui/Basics.js"
import { now } from "../ui/Now.js"
import { dollars, duration, tokens } from "../words/Words.js"
import { type Conversation, ends } from "./Conversation.js"

/** True for words about a repository that is not there. */
const saysGone = (words: string): boolean => {
  const from = words.toLowerCase().indexOf("repository ")
  return from >= 0 && /does not exist|not found/i.test(words.slice(from))
}

/** True where another try may end in another way: not after a success, and not where the reason stays. */
const mayHelp = ({ reason, reason_message, state }: TurnSnapshot): boolean =>
  state !== "succeeded" && reason !== "context_unavailable" && !saysGone(reason_message ?? "")

/** The state of the turn, and the commands that it takes: cancel, retry, or acknowledge after a crash. */
export const TurnBar = ({
  conversation,
  reload
}: {
  readonly conversation: Conversation
  readonly revision: number
  readonly reload: () => void
}) => {
  const { context, turn } = conversation
  const action = useAction()
  const whole = useLoaded(
    "the turn",
    (signal) => (turn === undefined ? Promise.resolve(undefined) : reins.turns.get({ turn_id: turn.id }, { signal })),
    [turn?.id, turn?.state, turn?.acknowledged_at]
  )
  if (turn === undefined) return null
  const actions = (mayWrite.value ? (whole.value.value?.actions ?? []) : []).filter(
    (each) => each !== "retry" || mayHelp(turn)
  )
  const isOver = ends.has(turn.state)
  const turn_id = turn.id
  const act = (doing: string, work: () => Promise<unknown>) =>
    action.run(doing, async () => {
      await work()
      whole.reload()
      reload()
    })
  const waits = turn.state === "interrupted" && turn.acknowledged_at === null && actions.includes("acknowledge")
  if (isOver && actions.length === 0) return null
  return (
    <div class={waits ? "turn-bar asks" : "turn-bar"}>
      <p>
        {!isOver && (
          <>
            <span class="spinner" aria-hidden="true" /> <State of={turn.state} /> {reasonInFull(turn)}
          </>
        )}
        {waits && "The turn was interrupted. The queue waits until you have looked at the files that it left."}
        {!isOver && (
          <span class="fine">
            {" "}
            turn {turn.ordinal} · {duration(turn.started_at ?? turn.created_at, new Date(now.value).toISOString())}
            {turn.usage.cost_usd !== null && ` · ${dollars(turn.usage.cost_usd)}`}
            {context !== null && context.used !== null && ` · context ${tokens(context.used)}`}
            {context !== null && context.size !== null && ` of ${tokens(context.size)}`}
          </span>
        )}
      </p>
      <span class="actions">
        {waits && (
          <button
            type="button"
            class="primary"
            onClick={() => act("the acknowledgement", () => reins.turns.acknowledge({ turn_id }))}
          >
            Acknowledge
          </button>
        )}
        {actions.includes("retry") && (
          <button type="button" onClick={() => act("the retry", () => reins.turns.retry({ turn_id }))}>
            Retry
          </button>
        )}
        {actions.includes("cancel") && (
          <button type="button" onClick={() => act("the cancellation", () => reins.turns.cancel({ turn_id }))}>
            Cancel
          </button>
        )}
      </span>
      <Outcome of={action} />
    </div>
  )
}
