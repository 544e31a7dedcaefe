import { useSignal } from "@preact/signals"
import type { Session } from "@reins/client"
import { agentName } from "../agents/AgentNames.js"
import { type Loaded, useAction } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { Copy, Outcome, State } from "../ui/Basics.js"
import { plain } from "../words/Words.js"
import { repositoryPage } from "./RepositoryPage.js"
import { Menu } from "./SessionMenu.js"

/** The head of a session for people: its title, its state, who works on what. Ids are in “About”. */
export const SessionHead = ({
  hasFailed,
  loaded,
  session
}: {
  readonly session: Session
  readonly loaded: Loaded<Session>
  /** True where the last turn failed. */
  readonly hasFailed: boolean
}) => {
  const action = useAction()
  const isRenaming = useSignal(false)
  const { activity, harness, lifecycle } = session
  const rename = (title: string) =>
    action.run("the title", async () => {
      isRenaming.value = false
      if (title === (session.title ?? "")) return
      await reins.sessions.update({ session_id: session.id, title: title === "" ? null : title })
      loaded.reload()
    })
  return (
    <>
      <header class="session-head">
        {isRenaming.value ? (
          <Rename title={session.title ?? ""} done={rename} cancel={() => (isRenaming.value = false)} />
        ) : (
          <h1 title={session.title ?? undefined}>{session.title ?? "Session"}</h1>
        )}
        <p class="under">
          <State of={lifecycle !== "open" ? lifecycle : hasFailed && activity === "idle" ? "failed" : activity} />{" "}
          {agentName(harness.provider_id)}
          {harness.model !== null && ` · ${harness.model}`}
          <Repository session={session} />
        </p>
        <div class="actions">
          <About session={session} />
          {mayWrite.value && (
            <Menu session={session} loaded={loaded} action={action} rename={() => (isRenaming.value = true)} />
          )}
        </div>
      </header>
      <Outcome of={action} />
    </>
  )
}

const Rename = ({
  cancel,
  done,
  title
}: {
  readonly title: string
  readonly done: (title: string) => void
  readonly cancel: () => void
}) => (
  <form
    class="rename"
    onSubmit={(event) => {
      event.preventDefault()
      const given = new FormData(event.currentTarget).get("title")
      done(typeof given === "string" ? given.trim() : "")
    }}
    onKeyDown={({ key }) => {
      if (key === "Escape") cancel()
    }}
  >
    <input name="title" aria-label="Title" maxLength={200} defaultValue={title} autofocus />
    <button type="submit" class="small primary">
      Save
    </button>
    <button type="button" class="small" onClick={cancel}>
      Cancel
    </button>
  </form>
)

const Repository = ({ session: { base } }: { readonly session: Session }) => {
  if (base.repository === null) return null
  const page = repositoryPage(base.repository)
  return (
    <>
      {" · "}
      {page === undefined ? (
        <span class="repository">{base.repository}</span>
      ) : (
        <a href={page.href} target="_blank" rel="noreferrer noopener">
          {page.name}
        </a>
      )}
      {base.ref !== null && ` at ${base.ref}`}
    </>
  )
}

/** The things that programs and operators ask for. */
const About = ({ session: { base, executor, harness, id, labels } }: { readonly session: Session }) => (
  <details class="dropdown about">
    <summary class="button small">About</summary>
    <div>
      <dl class="facts-list">
        <dt>Id</dt>
        <dd>
          <code>{id}</code> <Copy text={id} />
        </dd>
        <dt>Agent</dt>
        <dd>
          {agentName(harness.provider_id)} <code>{harness.provider_id}</code>
        </dd>
        <dt>Executor</dt>
        <dd>
          {executor.backend}, {plain(executor.state)}
        </dd>
        {base.commit !== null && (
          <>
            <dt>Commit</dt>
            <dd>
              <code title={base.commit}>{base.commit.slice(0, 12)}</code>
            </dd>
          </>
        )}
        {Object.keys(labels).length > 0 && (
          <>
            <dt>Labels</dt>
            <dd>
              {Object.entries(labels).map(([name, value]) => (
                <span key={name} class="label">
                  {name}={value}
                </span>
              ))}
            </dd>
          </>
        )}
      </dl>
    </div>
  </details>
)
