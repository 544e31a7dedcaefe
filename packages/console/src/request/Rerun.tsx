import type { MergeRequest, RequestCheck } from "@reins/client"
import { useEffect } from "preact/hooks"
import { useAction } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Outcome } from "../ui/Basics.js"

/** Begins a failed check anew. Where the forge cannot do that, the row says so, and no row has the button any more. */
export const Rerun = ({
  check: { id, name },
  mayRerun,
  refused,
  reload,
  request
}: {
  readonly check: RequestCheck
  readonly request: MergeRequest
  readonly mayRerun: boolean
  /** Called once the API has said that this forge cannot do it. */
  readonly refused: () => void
  readonly reload: () => void
}) => {
  const action = useAction()
  const isRefused = action.failure.value?.code === "unsupported_capability"
  useEffect(() => {
    if (isRefused) refused()
  }, [isRefused])
  const rerun = () =>
    action.run("the new run", async () => {
      const { operation } = await reins.mergeRequests.rerun({ merge_request_id: request.id, check_ids: [id] })
      const job = await reins.jobs.wait(operation)
      if (job.error !== null && job.state !== "succeeded") throw new Error(job.error.message)
      reload()
    })
  return (
    <>
      {mayRerun && (
        <button
          type="button"
          class="small"
          aria-label={`Run again: ${name}`}
          disabled={action.busy.value !== undefined}
          onClick={rerun}
        >
          Run again
        </button>
      )}
      <Outcome of={action} />
    </>
  )
}
