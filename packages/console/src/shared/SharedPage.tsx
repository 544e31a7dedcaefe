import { type Signal, useSignal } from "@preact/signals"
import { Reins, ReinsApiError, type SharedChangeset, type SharedMessage, type SharedSession } from "@reins/client"
import { lazy, Suspense } from "preact/compat"
import { useEffect, useMemo } from "preact/hooks"
import { type Loaded, useLoaded } from "../api/Loading.js"
import { serviceUrl, wholeOf } from "../api/Server.js"
import { reviewOf } from "../review/Review.js"
import { hash } from "../route/Route.js"
import { MediaView } from "../session/MediaView.js"
import { repositoryPage } from "../session/RepositoryPage.js"
import { useTitle } from "../told/Title.js"
import { PlanView } from "../tools/PlanView.js"
import { ToolCard } from "../tools/ToolCard.js"
import { Await, Nothing, State, Time, Waiting } from "../ui/Basics.js"
import { Mark } from "../ui/Mark.js"
import { Prose } from "../ui/Prose.js"
import { count } from "../words/Words.js"

const DiffView = lazy(() => import("../review/DiffView.js").then(({ DiffView }) => DiffView))

/** The time between two looks at a session that changes often, in milliseconds. */
const restMs = 2000

const pause = (ms: number) => new Promise<void>((resume) => setTimeout(resume, ms))

const isOver = (error: unknown): boolean => error instanceof ReinsApiError && error.status === 404

/** Counts the changes of the session while the page is there. It says when the link shows nothing any more. */
const useChanges = (client: Reins, isEnded: Signal<boolean>): Signal<number> => {
  const changes = useSignal(0)
  useEffect(() => {
    const given = new AbortController()
    const { signal } = given
    const follow = async () => {
      let after: number | undefined
      while (!signal.aborted) {
        try {
          const { event_watermark } = await client.shared.getWatermark(after === undefined ? {} : { after }, { signal })
          if (after !== undefined && event_watermark > after) {
            changes.value += 1
            await pause(restMs)
          }
          after = event_watermark
        } catch (error) {
          if (signal.aborted) return
          if (isOver(error)) isEnded.value = true
          if (isEnded.value) return
          await pause(restMs)
        }
      }
    }
    void follow()
    return () => given.abort()
  }, [client, changes, isEnded])
  return changes
}

/** A session as a link shows it, for readers without an account. The token of the link stands behind `#`. */
export const SharedPage = () => {
  const token = hash.value.slice(1)
  return token === "" ? <Ended /> : <Opened key={token} token={token} />
}

const Opened = ({ token }: { readonly token: string }) => {
  const client = useMemo(() => new Reins({ baseUrl: serviceUrl, apiKey: token }), [token])
  const isEnded = useSignal(false)
  const changes = useChanges(client, isEnded)
  const session = useLoaded("the session", (signal) => client.shared.getSession({}, { signal }), [token, changes.value])
  const messages = useLoaded("the conversation", (signal) => everyMessage(client, signal), [token, changes.value])
  useTitle(session.value.value?.title ?? "Shared session")
  // What was read goes too, when the link is taken back.
  if (isEnded.value) return <Ended />
  return (
    <main class="shared">
      <Mark />
      <Await of={session}>
        {(value) => (
          <>
            <Head session={value} />
            <section aria-label="Conversation">
              <Await of={messages}>
                {(items) =>
                  items.length === 0 ? <Nothing>There is no message yet.</Nothing> : <Conversation items={items} />
                }
              </Await>
            </section>
            {value.includes.includes("changes") && <Changes client={client} revision={changes.value} />}
          </>
        )}
      </Await>
    </main>
  )
}

const Ended = () => {
  useTitle("Shared session")
  return (
    <main class="lone">
      <div class="entry">
        <Mark />
        <h1>Nothing to see here</h1>
        <p>This link shows nothing, or nothing any more. Ask the one who gave it to you for a new one.</p>
      </div>
    </main>
  )
}

const everyMessage = async (client: Reins, signal: AbortSignal): Promise<ReadonlyArray<SharedMessage>> => {
  const items: Array<SharedMessage> = []
  for await (const message of client.shared.listMessages({ limit: 200 }, { signal })) items.push(message)
  return items
}

const Head = ({ session }: { readonly session: SharedSession }) => {
  const { activity, expires_at, lifecycle, model, repository, title, updated_at } = session
  const page = repository === null ? undefined : repositoryPage(repository)
  return (
    <header class="page-head">
      <div>
        <h1>{title ?? "Session"}</h1>
        <p class="under">
          <State of={lifecycle === "open" ? activity : lifecycle} /> {model}
          {page !== undefined && (
            <>
              {" · "}
              <a href={page.href} target="_blank" rel="noreferrer noopener">
                {page.name}
              </a>
            </>
          )}{" "}
          · <Time at={updated_at} />
        </p>
        <p class="fine">
          Shared to be read. Secrets are blanked.
          {expires_at !== null && ` The link ends on ${new Date(expires_at).toLocaleString()}.`}
        </p>
      </div>
    </header>
  )
}

const Conversation = ({ items }: { readonly items: ReadonlyArray<SharedMessage> }) => (
  <>
    {items.map((message) => (
      <MessageView key={message.ordinal} message={message} />
    ))}
  </>
)

const speakers = { user: "User", assistant: "Agent", system: "System" } as const

const MessageView = ({ message: { content, created_at, parts, role } }: { readonly message: SharedMessage }) => (
  <article class={`message ${role}`}>
    <p class="fine">
      {speakers[role]} · <Time at={created_at} />
    </p>
    {parts.length > 0
      ? parts.map((part) => <PartView key={part.part_key} part={part} at={created_at} />)
      : content.map((block, index) =>
          block.type === "text" ? (
            <Prose key={`${index}`} text={block.text} />
          ) : (
            <span key={`${index}`} class="chip">
              {block.path}
            </span>
          )
        )}
  </article>
)

const PartView = ({ at, part }: { readonly part: SharedMessage["parts"][number]; readonly at: string }) => {
  switch (part.kind) {
    case "text":
      return <Prose text={part.text} />
    case "reasoning":
      return (
        <details class="reasoning">
          <summary>Reasoning</summary>
          <Prose text={part.text} />
        </details>
      )
    case "tool":
      return <ToolCard tool={part.tool} began={at} ended={at} />
    case "plan":
      return <PlanView plan={part.plan} />
    case "media":
      return <MediaView media={part.media} />
  }
}

const Changes = ({ client, revision }: { readonly client: Reins; readonly revision: number }) => {
  const changesets = useLoaded(
    "the changes",
    (signal) => wholeOf(client.shared.listChangesets({ limit: 100 }, { signal })),
    ["changesets", revision]
  )
  return (
    <Await of={changesets}>
      {({ items }) =>
        items.length === 0 ? null : <Chosen client={client} items={items.filter(({ file_count }) => file_count > 0)} />
      }
    </Await>
  )
}

const Chosen = ({ client, items }: { readonly client: Reins; readonly items: ReadonlyArray<SharedChangeset> }) => {
  const chosen = useSignal<string | undefined>(undefined)
  const changeset = items.find(({ id }) => id === chosen.value) ?? items[0]
  const diff = useLoaded(
    "the diff",
    (signal) => client.shared.getDiff({ changeset_id: changeset?.id ?? "none" }, { signal }),
    [changeset?.id]
  )
  if (changeset === undefined) return null
  return (
    <section aria-label="Changes">
      <div class="section-head">
        <h2>
          Changes: {count(changeset.file_count, "file")}{" "}
          <span class="delta">
            <ins>+{changeset.additions}</ins> <del>−{changeset.deletions}</del>
          </span>
        </h2>
        {items.length > 1 && (
          <select
            aria-label="Changeset"
            value={changeset.id}
            onChange={({ currentTarget }) => (chosen.value = currentTarget.value)}
          >
            {items.map(({ created_at, id, label }) => (
              <option key={id} value={id}>
                {label ?? new Date(created_at).toLocaleString()}
              </option>
            ))}
          </select>
        )}
      </div>
      <DiffOf diff={diff} />
    </section>
  )
}

const DiffOf = ({ diff }: { readonly diff: Loaded<{ readonly diff: string; readonly truncated: boolean }> }) => {
  const review = useMemo(() => reviewOf("shared"), [])
  return (
    <Await of={diff}>
      {({ diff: text, truncated }) => (
        <>
          {truncated && <p class="notice ask">The diff is longer than one answer may be. It does not show all.</p>}
          <Suspense fallback={<Waiting what="the diff view" />}>
            <DiffView around={async () => ({ diff: text })} diff={text} isReadOnly isSplit={false} review={review} />
          </Suspense>
        </>
      )}
    </Await>
  )
}
