import { useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { Await } from "../ui/Basics.js"
import { BudgetCard } from "../usage/BudgetCard.js"
import { Gaps, modelRows, UsageTable } from "../usage/UsageTable.js"
import { count, dollars } from "../words/Words.js"
import type { TabProps } from "./SessionPage.js"

/** The usage and the cost of the session, against its budget and that of its turn. */
export const UsageTab = ({ log, reload, session }: TabProps) => {
  void log.revision.value
  const session_id = session.id
  const { turn } = log.conversation
  const usage = useLoaded("the usage", (signal) => reins.sessions.getUsage({ session_id }, { signal }), [
    session_id,
    turn?.id,
    turn?.state
  ])
  const whole = useLoaded(
    "the turn",
    (signal) => (turn === undefined ? Promise.resolve(undefined) : reins.turns.get({ turn_id: turn.id }, { signal })),
    [turn?.id, turn?.state]
  )
  const present = whole.value.value
  const mayChangeTurn = mayWrite.value && present?.actions.includes("update") === true
  return (
    <div class="scroll">
      <BudgetCard
        id={session_id}
        budget={session.budget}
        mayChange={mayWrite.value && session.lifecycle === "open"}
        changed={reload}
        none="It may spend without a limit of its own."
      />
      {present !== undefined && (present.budget !== null || mayChangeTurn) && (
        <BudgetCard
          id={present.id}
          budget={present.budget}
          mayChange={mayChangeTurn}
          changed={whole.reload}
          none="The turn has no limit of its own."
        />
      )}
      <h2>Usage</h2>
      <Await of={usage}>
        {({ by_model, total, with_delegations }) => (
          <>
            <UsageTable by="Model" rows={modelRows(by_model)} total={total} />
            <Gaps total={total} />
            {with_delegations.turns !== total.turns && (
              <p>
                With the sessions that work for it: {count(with_delegations.turns, "turn")},{" "}
                {dollars(with_delegations.cost_usd)}.
              </p>
            )}
          </>
        )}
      </Await>
    </div>
  )
}
