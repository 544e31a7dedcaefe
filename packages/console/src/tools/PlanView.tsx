import type { AgentPlan } from "@reins/client"
import { Prose } from "../ui/Prose.js"
import { plain } from "../words/Words.js"

const doneOf = ({ entries }: AgentPlan): number => entries.filter(({ status }) => status === "completed").length

const Entries = ({ plan }: { readonly plan: AgentPlan }) => (
  <ol>
    {plan.entries.map(({ content, status }, index) => (
      <li key={`${index}`} class={status}>
        <span aria-hidden="true">{status === "completed" ? "✓" : status === "in_progress" ? "▸" : "○"}</span> {content}
        <span class="sr">, {plain(status)}</span>
      </li>
    ))}
  </ol>
)

/** The plan of an agent, or its list of things to do. */
export const PlanView = ({ plan }: { readonly plan: AgentPlan }) =>
  plan.removed ? null : (
    <section class="plan" aria-label="Plan">
      <p class="fine">
        Plan · {doneOf(plan)} of {plan.entries.length} done
      </p>
      {plan.text !== null && <Prose text={plan.text} />}
      <Entries plan={plan} />
    </section>
  )

/** The newest plan in a line, which opens to all of it. */
export const PinnedPlan = ({ plan }: { readonly plan: AgentPlan | undefined }) => {
  if (plan === undefined || plan.removed || plan.entries.length === 0) return null
  const done = doneOf(plan)
  if (done === plan.entries.length) return null
  const current = plan.entries.find(({ status }) => status === "in_progress")?.content
  return (
    <details class="plan pinned">
      <summary>
        <span>
          {done} of {plan.entries.length} done
        </span>
        {current !== undefined && <span class="pinned-now">{current}</span>}
      </summary>
      <Entries plan={plan} />
    </details>
  )
}
