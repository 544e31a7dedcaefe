import { useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Await } from "../ui/Basics.js"
import { Gaps, UsageTable } from "../ui/UsageTable.js"
import { dollars } from "../words/Words.js"
import type { TabProps } from "./SessionPage.js"

/** The usage and the cost of the session. */
export const UsageTab = ({ log, session }: TabProps) => {
  void log.revision.value
  const session_id = session.id
  const { turn } = log.conversation
  const usage = useLoaded("the usage", (signal) => reins.sessions.getUsage({ session_id }, { signal }), [
    session_id,
    turn?.id,
    turn?.state
  ])
  return (
    <div class="scroll">
      <Await of={usage}>
        {({ by_model, total, with_delegations }) => (
          <>
            <UsageTable total={total} byModel={by_model} />
            <Gaps total={total} />
            {with_delegations.turns !== total.turns && (
              <p>
                With the sessions that work for it: {with_delegations.turns} turns, {dollars(with_delegations.cost_usd)}
                .
              </p>
            )}
          </>
        )}
      </Await>
    </div>
  )
}
