import type { Event, MergeRequest } from "@reins/client"

/** The changeset whose delivery pushed the head of a merge request; undefined when somebody else pushed it. */
export const headChangeset = (
  events: ReadonlyArray<Event>,
  { head_branch, head_sha }: Pick<MergeRequest, "head_branch" | "head_sha">
): string | undefined =>
  events.findLast(
    (event) =>
      event.type === "delivery.succeeded" &&
      event.payload.commit === head_sha &&
      event.payload.target_ref === head_branch
  )?.changeset_id
