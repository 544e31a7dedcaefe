import type { RequestThread } from "@reins/client"
import { State, Time } from "../ui/Basics.js"
import { Prose } from "../ui/Prose.js"
import { ForgeLink } from "./ForgeLink.js"

/** A conversation of the forge with all of its comments. One that is resolved or outdated is folded. */
export const ThreadCard = ({
  reviewPath,
  thread
}: {
  readonly thread: RequestThread
  /** The page of the review, where the thread is not shown beside its line already. */
  readonly reviewPath?: string
}) => {
  const { comments, id, outdated, resolved } = thread
  return (
    <details class="thread" open={resolved !== true && !outdated} data-thread={id}>
      <summary>
        <Place thread={thread} reviewPath={reviewPath} />{" "}
        {resolved !== null && <State of={resolved ? "done" : "needs_you"} as={resolved ? "resolved" : "open"} />}{" "}
        {outdated && <State of="calm" as="outdated" />}
        <span class="fine"> {comments.length > 1 ? `${comments.length} comments` : comments[0]?.author.login}</span>
      </summary>
      {comments.map(({ author, body, forge_id, url, written_at }) => (
        <div key={forge_id} class="said">
          <p class="fine">
            <ForgeLink url={url}>{author.login}</ForgeLink>
            {author.kind === "bot" && " bot"} · <Time at={written_at} />
          </p>
          <Prose text={body} />
        </div>
      ))}
    </details>
  )
}

const Place = ({
  reviewPath,
  thread: { line, outdated, path, side }
}: {
  readonly thread: RequestThread
  readonly reviewPath: string | undefined
}) => {
  if (path === null) return <span>The merge request</span>
  const place = line === null ? path : `${path}:${line}`
  const words = side === "old" ? `${place} of the old text` : place
  return reviewPath === undefined || outdated ? (
    <code>{words}</code>
  ) : (
    <a href={`${reviewPath}#${encodeURIComponent(side === "old" ? path : place)}`}>{words}</a>
  )
}
