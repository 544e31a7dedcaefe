import { useSignal } from "@preact/signals"
import { useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Await, Field, PageHead } from "../ui/Basics.js"
import { Gaps, UsageTable } from "../ui/UsageTable.js"

/** The usage and the cost of the workspace. */
export const UsagePage = ({ workspaceId }: { readonly workspaceId: string }) => {
  const from = useSignal("")
  const to = useSignal("")
  const usage = useLoaded(
    "the usage",
    (signal) =>
      reins.workspaces.getUsage(
        {
          workspace_id: workspaceId,
          ...(from.value !== "" && { from: from.value }),
          ...(to.value !== "" && { to: to.value })
        },
        { signal }
      ),
    [workspaceId, from.value, to.value]
  )
  return (
    <>
      <PageHead title="Usage" under="Over turns that have ended." />
      <div class="filters">
        <Field label="From">
          <input type="date" value={from.value} onChange={({ currentTarget }) => (from.value = currentTarget.value)} />
        </Field>
        <Field label="To">
          <input type="date" value={to.value} onChange={({ currentTarget }) => (to.value = currentTarget.value)} />
        </Field>
      </div>
      <Await of={usage}>
        {({ by_model, total }) => (
          <>
            <UsageTable total={total} byModel={by_model} />
            <Gaps total={total} />
          </>
        )}
      </Await>
    </>
  )
}
