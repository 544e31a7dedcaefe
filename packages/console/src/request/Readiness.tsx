import type { MergeRequest } from "@reins/client"
import type { Action } from "../api/Loading.js"
import { sentenceOf } from "../api/Sentences.js"
import { reins } from "../api/Server.js"
import { lookAt } from "./LookAt.js"

/** Makes a merge request a draft, or ready for review, where its forge can. It is disabled while a wish is on its way there. */
export const Readiness = ({
  action,
  reload,
  request: { actions, draft, draft_wanted, id }
}: {
  readonly request: MergeRequest
  readonly action: Action
  readonly reload: () => void
}) => {
  if (!actions.includes("set_readiness")) return null
  const set = () =>
    action.run("the forge", async () => {
      const { operation } = await reins.mergeRequests.setReadiness({ merge_request_id: id, draft: !draft })
      // The page says that it is being set.
      reload()
      const { error, state } = await reins.jobs.wait(operation)
      if (error !== null && state !== "succeeded") throw new Error(sentenceOf(error.code, error.message).text)
      await lookAt(id)
      reload()
    })
  return (
    <button
      type="button"
      class="small"
      disabled={action.busy.value !== undefined || isOnItsWay({ draft, draft_wanted })}
      onClick={set}
    >
      {draft ? "Mark as ready" : "Convert to draft"}
    </button>
  )
}

const isOnItsWay = ({ draft, draft_wanted }: Pick<MergeRequest, "draft" | "draft_wanted">): boolean =>
  draft_wanted !== null && draft_wanted !== draft

/** The wish that is on its way to the forge. */
export const Wish = ({ request }: { readonly request: MergeRequest }) =>
  isOnItsWay(request) ? (
    <span class="fine" role="status">
      {request.draft_wanted ? "Becoming a draft …" : "Becoming ready …"}
    </span>
  ) : null
