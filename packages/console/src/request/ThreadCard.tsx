import { commentText, type RequestThread } from "@reins/client"
import type { ComponentChildren } from "preact"
import { State, Time } from "../ui/Basics.js"
import { Prose } from "../ui/Prose.js"
import { ForgeLink } from "./ForgeLink.js"

/** A conversation of the forge with all of its comments. One that is resolved or outdated is folded. */
export const ThreadCard = ({
  children,
  reviewPath,
  thread
}: {
  readonly thread: RequestThread
  /** The page of the review, where the thread is not shown beside its line already. */
  readonly reviewPath?: string
  /** The place to answer. */
  readonly children?: ComponentChildren
}) => {
  const { comments, id, outdated, path, resolved } = thread
  return (
    <details class="thread" open={resolved !== true && !outdated} data-thread={id}>
      <summary>
        <Place thread={thread} />{" "}
        {resolved !== null && <State of={resolved ? "done" : "needs_you"} as={resolved ? "resolved" : "open"} />}{" "}
        {outdated && <State of="calm" as="outdated" />}
        <span class="fine"> {comments.length > 1 ? `${comments.length} comments` : comments[0]?.author.login}</span>
      </summary>
      {reviewPath !== undefined && path !== null && !outdated && (
        <p>
          <a href={`${reviewPath}#${encodeURIComponent(anchorOf(thread))}`}>Show in the review</a>
        </p>
      )}
      {comments.map(({ author, body, forge_id, url, written_at }) => (
        <div key={forge_id} class="said">
          <p class="fine">
            <ForgeLink url={url}>{author.login}</ForgeLink>
            {author.kind === "bot" && " bot"}
            {written_at !== null && (
              <>
                {" · "}
                <Time at={written_at} />
              </>
            )}
          </p>
          <Prose text={commentText(body)} />
        </div>
      ))}
      {children}
    </details>
  )
}

/** The place in the address of a review. It counts the lines of the new text alone. */
const anchorOf = ({ line, path, side }: RequestThread): string =>
  line === null || side === "old" ? (path ?? "") : `${path}:${line}`

const Place = ({ thread: { line, path, side } }: { readonly thread: RequestThread }) => {
  if (path === null) return <span>The merge request</span>
  const place = line === null ? path : `${path}:${line}`
  return <code>{side === "old" ? `${place} of the old text` : place}</code>
}
