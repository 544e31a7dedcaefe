import { useSignal } from "@preact/signals"
import type { Changeset, Diff, Event } from "@reins/client"
import { lazy, Suspense } from "preact/compat"
import { useMemo } from "preact/hooks"
import { type Action, useAction, useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { useKeys } from "../palette/Keys.js"
import { useReviewThreads } from "../request/ReviewThreads.js"
import { go } from "../route/Route.js"
import type { Conversation } from "../session/Conversation.js"
import { useSessionLog } from "../session/SessionLog.js"
import { Await, ErrorBar, Outcome, PageHead, State, Time, Waiting } from "../ui/Basics.js"
import { Dialog } from "../ui/Dialog.js"
import { count } from "../words/Words.js"
import { ApplyForm } from "./ApplyForm.js"
import { DeliverForm } from "./DeliverForm.js"
import { Deliveries } from "./Deliveries.js"
import { messageOf, type Review, reviewOf } from "./Review.js"
import { applySuggestion } from "./Suggestion.js"

/** The diff view is larger than the rest of the console, and only a review needs it. */
const DiffView = lazy(() => import("./DiffView.js").then(({ DiffView }) => DiffView))

const narrow = 900

/** A changeset: what it changes, what there is to say about it, and where it goes. */
export const ReviewPage = ({
  changesetId,
  sessionId
}: {
  readonly sessionId: string
  readonly changesetId: string
}) => {
  const review = useMemo(() => reviewOf(changesetId), [changesetId])
  const isSplit = useSignal(innerWidth >= 1400)
  const dialog = useSignal<"deliver" | "apply" | "comments" | undefined>(undefined)
  /** The delivery that gets a merge request as soon as its branch is there. */
  const proposed = useSignal<string | undefined>(undefined)
  const log = useSessionLog(sessionId)
  void log.revision.value
  const changed = log.events.findLast(
    ({ changeset_id, type }) => changeset_id === changesetId || type.startsWith("merge_request.")
  )?.seq
  const changeset = useLoaded(
    "the changeset",
    (signal) => reins.changesets.get({ changeset_id: changesetId }, { signal }),
    [changesetId, changed]
  )
  const session = useLoaded("the session", (signal) => reins.sessions.get({ session_id: sessionId }, { signal }), [
    sessionId
  ])
  const before = useLoaded("the changeset before", (signal) => changesetBefore(sessionId, changesetId, signal), [
    changesetId
  ])
  const threads = useReviewThreads(sessionId, changesetId, session.value.value?.workspace_id, log.events)
  const isSince = useSignal(false)
  const since = isSince.value ? (before.value.value ?? undefined) : undefined
  const against = since === undefined ? {} : { against: since }
  const diff = useLoaded(
    "the diff",
    (signal) => reins.changesets.getDiff({ changeset_id: changesetId, ...against }, { signal }),
    [`${changesetId} ${since ?? ""}`]
  )
  useKeys({
    b: () => {
      if (before.value.value != null) isSince.value = !isSince.value
    }
  })
  const close = () => (dialog.value = undefined)
  return (
    <Await of={changeset}>
      {(value) => (
        <div class="review">
          <PageHead
            title={session.value.value?.title == null ? "Review" : `Review of ${session.value.value.title}`}
            under={
              <>
                <State of={value.state} as={`changeset ${value.state}`} /> {count(value.file_count, "file")}{" "}
                <span class="delta">
                  <ins>+{value.additions}</ins> <del>−{value.deletions}</del>
                </span>{" "}
                · {value.origin} · <Time at={value.created_at} /> · <a href={`sessions/${sessionId}`}>the session</a>
              </>
            }
          >
            {mayWrite.value && value.actions.includes("deliver") && (
              <button type="button" class="primary" onClick={() => (dialog.value = "deliver")}>
                Deliver
              </button>
            )}
            {mayWrite.value && value.actions.includes("apply") && (
              <button type="button" onClick={() => (dialog.value = "apply")}>
                Apply to a session
              </button>
            )}
          </PageHead>
          <Newer changeset={value} events={log.events} />
          <Diagnostics given={value.diagnostics} />
          <Deliveries
            changeset={value}
            review={review}
            words={lastWords(log.conversation)}
            changed={changed}
            proposed={proposed}
          />
          <Toolbar
            review={review}
            isSplit={isSplit}
            isSince={before.value.value == null ? undefined : isSince}
            files={since === undefined ? value.file_count : (diff.value.value?.files.length ?? 0)}
            send={() => (dialog.value = "comments")}
          />
          <ErrorBar failure={threads.failure.value} again={threads.reload} />
          <Await of={diff}>
            {({ diff: text, files, omitted }) => (
              <>
                <Omitted files={files} omitted={omitted} />
                <Suspense fallback={<Waiting what="the diff view" />}>
                  <DiffView
                    key={since ?? ""}
                    apply={
                      mayWrite.value && session.value.value?.actions.includes("upload_file") === true
                        ? applySuggestion(reins, sessionId)
                        : undefined
                    }
                    around={(path, context) =>
                      reins.changesets.getDiff({ changeset_id: changesetId, path, context, ...against })
                    }
                    diff={text}
                    isSplit={isSplit.value && innerWidth >= narrow}
                    review={review}
                    threads={threads.value.value}
                    requestPath={`sessions/${sessionId}/request`}
                  />
                </Suspense>
              </>
            )}
          </Await>
          {dialog.value === "deliver" && (
            <Dialog title="Deliver" close={close}>
              <DeliverForm
                changeset={value}
                unsent={review.comments.value.length}
                title={session.value.value?.title ?? ""}
                repository={session.value.value?.base.repository ?? null}
                workspaceId={session.value.value?.workspace_id ?? ""}
                done={(deliveryId) => {
                  proposed.value = deliveryId
                  close()
                }}
              />
            </Dialog>
          )}
          {dialog.value === "apply" && (
            <Dialog title="Apply to a session" close={close}>
              <ApplyForm changeset={value} />
            </Dialog>
          )}
          {dialog.value === "comments" && (
            <Dialog title="Send the comments" close={close}>
              <SendComments review={review} sessionId={sessionId} />
            </Dialog>
          )}
        </div>
      )}
    </Await>
  )
}

/** The sealed changeset before one of a session; null for the first. */
const changesetBefore = async (session_id: string, id: string, signal: AbortSignal): Promise<string | null> => {
  for await (const each of reins.sessions.listChangesets({ session_id, state: "ready", limit: 200 }, { signal }))
    if (each.id < id) return each.id
  return null
}

/** The last words of the agent. */
const lastWords = ({ items }: Conversation): string => {
  const last = items.findLast((item) => item.kind === "words" && item.words === "text")
  return last?.kind === "words" ? last.text : ""
}

/** Leads from the review of an older changeset to the newest one. */
const Newer = ({ changeset, events }: { readonly changeset: Changeset; readonly events: ReadonlyArray<Event> }) => {
  const newest = events.findLast(({ type, ...event }) => type === "changeset.ready" && isFilled(event.payload))
  const id = newest?.changeset_id
  const isOlder = id !== undefined && id !== changeset.id && (newest?.recorded_at ?? "") > changeset.created_at
  return isOlder ? (
    <p class="notice ask">
      There is a newer changeset of this session.{" "}
      <a href={`sessions/${changeset.session_id}/review/${id}`}>Review the newest one</a>
    </p>
  ) : null
}

const isFilled = (payload: unknown): boolean =>
  typeof payload === "object" && payload !== null && "empty" in payload && payload.empty !== true

const Toolbar = ({
  files,
  isSince,
  isSplit,
  review,
  send
}: {
  readonly review: Review
  readonly isSplit: { value: boolean }
  /** True for what has changed since the changeset before; undefined for the first changeset. */
  readonly isSince: { value: boolean } | undefined
  readonly files: number
  readonly send: () => void
}) => (
  <div class="toolbar">
    <span class="fine">
      {review.viewed.value.size} of {files} viewed
    </span>
    <span class="actions">
      {isSince !== undefined && (
        <fieldset class="choice" aria-label="Begin of the diff">
          <button type="button" class="small" aria-pressed={!isSince.value} onClick={() => (isSince.value = false)}>
            Since the base
          </button>
          <button type="button" class="small" aria-pressed={isSince.value} onClick={() => (isSince.value = true)}>
            Since the last changeset
          </button>
        </fieldset>
      )}
      <fieldset class="choice" aria-label="View of the diff">
        <button type="button" class="small" aria-pressed={!isSplit.value} onClick={() => (isSplit.value = false)}>
          Unified
        </button>
        <button type="button" class="small" aria-pressed={isSplit.value} onClick={() => (isSplit.value = true)}>
          Split
        </button>
      </fieldset>
      {mayWrite.value && review.comments.value.length > 0 && (
        <button type="button" class="primary small" onClick={send}>
          Send {count(review.comments.value.length, "comment")}
        </button>
      )}
    </span>
  </div>
)

const SendComments = ({ review, sessionId }: { readonly review: Review; readonly sessionId: string }) => {
  const action: Action = useAction()
  const text = useSignal(messageOf(review.comments.peek()))
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        void action.run("the message", async () => {
          await reins.messages.send({ session_id: sessionId, content: text.value })
          review.forgetComments()
          go(`sessions/${sessionId}`)
        })
      }}
    >
      <textarea
        aria-label="Message"
        rows={12}
        value={text.value}
        onInput={({ currentTarget }) => (text.value = currentTarget.value)}
      />
      <p class="spread">
        <span class="fine">One message, which begins a new turn.</span>
        <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
          Send
        </button>
      </p>
      <Outcome of={action} />
    </form>
  )
}

/** The sentences about what a capture left out, or what is left in the git of the agent. */
const Diagnostics = ({ given }: { readonly given: ReadonlyArray<string> }) =>
  given.length === 0 ? null : (
    <ul class="notice ask" aria-label="Notes about the changeset">
      {given.map((sentence) => (
        <li key={sentence}>{sentence}</li>
      ))}
    </ul>
  )

/** More files than this are counted and not named. */
const namedAtMost = 10

/** The files of which the diff does not show all. */
const Omitted = ({ files, omitted }: Pick<Diff, "files" | "omitted">) => {
  if (omitted.length === 0) return null
  const named = omitted.slice(0, namedAtMost)
  return (
    <div class="notice ask">
      <p>
        The diff is longer than one answer may be. It does not show all of {count(omitted.length, "file")} of{" "}
        {files.length}; a delivery has everything.
      </p>
      <ul>
        {named.map(({ additions, deletions, path }) => (
          <li key={path}>
            <code>{path}</code>: {count(additions, "added line")} and {count(deletions, "deleted line")} not shown
          </li>
        ))}
      </ul>
      {omitted.length > named.length && <p>And {count(omitted.length - named.length, "more file")}.</p>}
    </div>
  )
}
