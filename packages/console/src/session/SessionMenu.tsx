import { useSignal } from "@preact/signals"
import type { Session } from "@reins/client"
import { lazy, Suspense } from "preact/compat"
import { useRef } from "preact/hooks"
import type { Loaded, useAction } from "../api/Loading.js"
import { reins, serviceUrl } from "../api/Server.js"
import { go } from "../route/Route.js"
import { Ask } from "../ui/Ask.js"

const ShareDialog = lazy(() => import("./ShareDialog.js").then(({ ShareDialog }) => ShareDialog))

/** The commands on a session. */
export const Menu = ({
  action,
  loaded,
  rename,
  session
}: {
  readonly session: Session
  readonly loaded: Loaded<Session>
  readonly action: ReturnType<typeof useAction>
  readonly rename: () => void
}) => {
  const session_id = session.id
  const menuElement = useRef<HTMLDetailsElement>(null)
  const dialog = useSignal<"close" | "delete" | "share" | undefined>(undefined)
  const leave = () => (dialog.value = undefined)
  const act = (doing: string, work: () => Promise<unknown>) =>
    action.run(doing, async () => {
      await work()
      loaded.reload()
    })
  const menu = [
    { name: "archive", does: "Archive", run: () => reins.sessions.archive({ session_id }) },
    { name: "unarchive", does: "Open again", run: () => reins.sessions.unarchive({ session_id }) },
    {
      name: "activate_executor",
      does: "Start the executor",
      run: () => reins.sessions.activateExecutor({ session_id })
    },
    { name: "release_executor", does: "Stop the executor", run: () => reins.sessions.releaseExecutor({ session_id }) }
  ] as const
  return (
    <>
      <details class="dropdown" ref={menuElement}>
        <summary class="button small">Session</summary>
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: Enter on a button is a click */}
        {/* biome-ignore lint/a11y/noStaticElementInteractions: the buttons inside act */}
        <div onClick={() => menuElement.current?.removeAttribute("open")}>
          <button type="button" onClick={rename}>
            Rename
          </button>
          <button type="button" onClick={() => (dialog.value = "share")}>
            Share …
          </button>
          <ExportLink session={session} format="markdown" name="Markdown" />
          <ExportLink session={session} format="json" name="JSON" />
          {menu
            .filter(({ name }) => session.actions.includes(name))
            .map(({ does, name, run }) => (
              <button key={name} type="button" onClick={() => act(`the session: ${does.toLowerCase()}`, run)}>
                {does}
              </button>
            ))}
          {session.actions.includes("close") && (
            <button type="button" onClick={() => (dialog.value = "close")}>
              Close for good …
            </button>
          )}
          {session.parent_delegation_id === null && (
            <button type="button" onClick={() => (dialog.value = "delete")}>
              Delete …
            </button>
          )}
        </div>
      </details>
      {dialog.value === "share" && (
        <Suspense fallback={null}>
          <ShareDialog session={session} close={leave} />
        </Suspense>
      )}
      {dialog.value === "close" && (
        <AskClose
          session={session}
          close={leave}
          act={() => act("the session: close", () => reins.sessions.close({ session_id }))}
        />
      )}
      {dialog.value === "delete" && (
        <AskDelete
          session={session}
          close={leave}
          act={() =>
            action.run("the session: delete", async () => {
              await reins.sessions.delete({ session_id })
              go("")
            })
          }
        />
      )}
    </>
  )
}

const AskClose = ({
  act,
  close,
  session: { activity, id, title }
}: {
  readonly session: Session
  readonly close: () => void
  readonly act: () => void
}) => (
  <Ask title="Close this session for good?" verb="Close for good" isDanger close={close} act={act}>
    <p>
      <strong>{title ?? id}</strong> takes no more messages then, and nobody can open it again. Its conversation and its
      changesets stay readable.
    </p>
    {activity === "running" && <p class="notice ask">Its turn still runs and is cancelled.</p>}
    <p class="fine">To put it out of the inbox only, archive it.</p>
  </Ask>
)

const AskDelete = ({
  act,
  close,
  session: { id, title }
}: {
  readonly session: Session
  readonly close: () => void
  readonly act: () => void
}) => (
  <Ask title="Delete this session for good?" verb="Delete for good" isDanger close={close} act={act}>
    <p>
      This deletes <strong>{title ?? id}</strong>, and nobody can bring it back:
    </p>
    <ul class="bullets">
      <li>the conversation, its files and its events</li>
      <li>changesets and deliveries; pushed branches and merge requests stay on the forge</li>
      <li>links with which it was shared</li>
      <li>sessions that work for it</li>
    </ul>
    <p class="fine">A receipt stays, with who deleted it and when. To keep a copy, export it first.</p>
  </Ask>
)

/** A file that the browser saves. */
const ExportLink = ({
  format,
  name,
  session: { id }
}: {
  readonly session: Session
  readonly format: string
  readonly name: string
}) => (
  <a class="button" href={`${serviceUrl}/api/sessions/${id}/export?format=${format}`} download>
    Export as {name}
  </a>
)
