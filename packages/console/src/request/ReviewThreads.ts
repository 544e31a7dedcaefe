import type { Event, RequestThread } from "@reins/client"
import { type Loaded, useLoaded } from "../api/Loading.js"
import { reins, wholeOf } from "../api/Server.js"
import { headChangeset } from "./Head.js"

/** More threads are on the page of the merge request alone. */
const most = 200

/** The threads of the open merge requests whose head is the commit of this changeset. Lines of another head are not those of its diff. */
export const useReviewThreads = (
  session_id: string,
  changesetId: string,
  workspace_id: string | undefined,
  events: ReadonlyArray<Event>
): Loaded<ReadonlyArray<RequestThread>> => {
  const moved = events.findLast(({ type }) => type.startsWith("merge_request."))?.seq
  return useLoaded(
    "the threads of the merge request",
    async (signal) => {
      if (workspace_id === undefined || moved === undefined) return []
      const asked = { workspace_id, session_id, state: "open", limit: 50 } as const
      const { items } = await wholeOf(reins.mergeRequests.list(asked, { signal }))
      const about = items.filter((request) => headChangeset(events, request) === changesetId)
      const pages = await Promise.all(
        about.map(({ id }) =>
          wholeOf(reins.mergeRequests.listThreads({ merge_request_id: id, limit: most }, { signal }))
        )
      )
      return pages.flatMap((page) => page.items)
    },
    [changesetId, workspace_id, moved]
  )
}
