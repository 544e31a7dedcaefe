import { useSignal } from "@preact/signals"
import type { MergeRequest, RequestCheck, RequestReview } from "@reins/client"
import type { ComponentChildren } from "preact"
import { type Paged, usePages } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { Await, Nothing, State, Time } from "../ui/Basics.js"
import { More } from "../ui/More.js"
import { Prose } from "../ui/Prose.js"
import { plain } from "../words/Words.js"
import { CheckLog } from "./CheckLog.js"
import { ForgeLink } from "./ForgeLink.js"
import { ReplyBox } from "./ReplyBox.js"
import { Rerun } from "./Rerun.js"
import { ThreadCard } from "./ThreadCard.js"

interface PartProps {
  readonly request: MergeRequest
}

/** A part of what the forge has, with the words for none of it. One that could not be read shows the rows of before. */
const Part = <A,>({
  below,
  children,
  isUnread = false,
  none,
  of,
  title
}: {
  readonly title: string
  readonly of: Paged<A>
  readonly none: string
  readonly isUnread?: boolean
  /** It stands below all items. */
  readonly below?: ComponentChildren
  readonly children: (items: ReadonlyArray<A>) => ComponentChildren
}) => (
  <section aria-label={title}>
    <h2>
      {title} {isUnread && <State of="degraded" as="not read" />}
    </h2>
    <Await of={of}>
      {({ items }) =>
        items.length === 0 ? <Nothing>{isUnread ? "Nothing was read." : none}</Nothing> : children(items)
      }
    </Await>
    <More of={of} />
    {below}
  </section>
)

/** The checks of the head. Those of older commits say nothing about it. */
export const Checks = ({ reload, request }: PartProps & { readonly reload: () => void }) => {
  const { head_sha, id, standing, state, version } = request
  const isRefused = useSignal(false)
  const mayRerun = mayWrite.value && state === "open" && !isRefused.value
  const checks = usePages(
    "the checks",
    (cursor, signal) =>
      reins.mergeRequests.listChecks(
        {
          merge_request_id: id,
          limit: 100,
          ...(head_sha !== null && { head_sha }),
          ...(cursor !== undefined && { cursor })
        },
        { signal }
      ),
    [`${id} ${head_sha ?? ""}`, version]
  )
  return (
    <Part
      title="Checks"
      of={checks}
      none="No check has reported on the head."
      isUnread={standing?.checks.state === "unreadable"}
    >
      {(items) => (
        <ul class="rows">
          {[...items].sort(byUrgency).map((check) => (
            <CheckRow key={check.id} check={check}>
              {(check.state === "failing" || check.state === "cancelled") && (
                <Rerun
                  check={check}
                  request={request}
                  mayRerun={mayRerun}
                  refused={() => (isRefused.value = true)}
                  reload={reload}
                />
              )}
            </CheckRow>
          ))}
        </ul>
      )}
    </Part>
  )
}

const urgency = ["failing", "action_required", "cancelled", "pending", "passing", "skipped"] as const
const byUrgency = (one: RequestCheck, other: RequestCheck): number =>
  urgency.indexOf(one.state) - urgency.indexOf(other.state) || one.name.localeCompare(other.name)

const checkTones: Readonly<Record<RequestCheck["state"], string>> = {
  failing: "failed",
  cancelled: "failed",
  action_required: "requires_action",
  pending: "pending",
  passing: "passed",
  skipped: "skipped"
}

const CheckRow = ({
  check: { ended_at, id, name, on_base, optional, started_at, state, url },
  children
}: {
  readonly check: RequestCheck
  /** Its actions. */
  readonly children: ComponentChildren
}) => {
  const at = ended_at ?? started_at
  return (
    <li class="row-line">
      <State of={checkTones[state]} as={plain(state)} />
      <span>
        <ForgeLink url={url}>{name}</ForgeLink>
        {optional && <span class="fine"> may fail</span>}
        {on_base === true && <span class="fine"> red on the base too</span>}
      </span>
      {at !== null && (
        <span class="fine">
          <Time at={at} />
        </span>
      )}
      {children}
      {state === "failing" && <CheckLog id={id} name={name} />}
    </li>
  )
}

const reviewTones: Readonly<Record<RequestReview["state"], string>> = {
  approved: "passed",
  changes_requested: "requires_action",
  commented: "calm",
  dismissed: "calm"
}

/** False for the shell that a forge makes around a comment on a line. The threads show that. */
const isSaid = ({ body, state }: RequestReview): boolean => state !== "commented" || body !== ""

/** The reviews, the newest first. An approval of another commit is no approval of the head. */
export const Reviews = ({ request }: PartProps) => {
  const { head_sha, id, standing, version } = request
  const reviews = usePages(
    "the reviews",
    (cursor, signal) =>
      reins.mergeRequests.listReviews(
        { merge_request_id: id, limit: 50, ...(cursor !== undefined && { cursor }) },
        { signal }
      ),
    [id, version]
  )
  return (
    <Part
      title="Reviews"
      of={reviews}
      none="Nobody has reviewed it on the forge."
      isUnread={standing?.reviews.state === "unreadable"}
    >
      {(items) => (
        <ul class="rows">
          {items.filter(isSaid).map((review) => (
            <li key={review.id} class="said">
              <p>
                <State of={reviewTones[review.state]} as={plain(review.state)} />{" "}
                <ForgeLink url={review.url}>{review.author.login}</ForgeLink>
                {review.author.kind === "bot" && <span class="fine"> bot</span>}
                {review.head_sha !== null && review.head_sha !== head_sha && (
                  <span class="fine"> on the older commit {review.head_sha.slice(0, 10)}</span>
                )}
                {review.submitted_at !== null && (
                  <span class="fine">
                    {" · "}
                    <Time at={review.submitted_at} />
                  </span>
                )}
              </p>
              {review.body !== "" && <Prose text={review.body} />}
            </li>
          ))}
        </ul>
      )}
    </Part>
  )
}

/** The conversations on the forge, each with a link to its line in the review. */
export const Threads = ({
  reload,
  request,
  reviewPath
}: PartProps & { readonly reviewPath: string; readonly reload: () => void }) => {
  const { id, standing, version } = request
  const threads = usePages(
    "the threads",
    (cursor, signal) =>
      reins.mergeRequests.listThreads(
        { merge_request_id: id, limit: 50, ...(cursor !== undefined && { cursor }) },
        { signal }
      ),
    [id, version]
  )
  const done = () => {
    threads.reload()
    reload()
  }
  return (
    <Part
      title="Threads"
      of={threads}
      none="Nobody has commented on the forge."
      isUnread={standing?.threads.state === "unreadable"}
      below={<ReplyBox request={request} done={done} />}
    >
      {(items) => (
        <div class="threads">
          {items.map((thread) => (
            <ThreadCard key={thread.id} thread={thread} reviewPath={reviewPath}>
              <ReplyBox request={request} threadId={thread.id} done={done} />
            </ThreadCard>
          ))}
        </div>
      )}
    </Part>
  )
}
