import { useSignal } from "@preact/signals"
import type { CheckedServer, CheckedTool, ProjectServer, ProjectSpec, ProjectVersion } from "@reins/client"
import { useAction } from "../api/Loading.js"
import { forPeople } from "../api/Sentences.js"
import { reins } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { Ask } from "../ui/Ask.js"
import { Outcome, State } from "../ui/Basics.js"
import { bytes, count } from "../words/Words.js"
import { ConnectionLine, LoginFor } from "./ServerConnection.js"

/** The servers of a version of a project, with a check of what they have now. */
export const Servers = ({
  mayPin,
  published,
  version
}: {
  readonly version: ProjectVersion
  /** False where nobody may publish another version. */
  readonly mayPin: boolean
  /** Runs once a version with pins is published. */
  readonly published: () => void
}) => {
  const { id, ordinal, project_id, spec } = version
  const servers = spec.tools?.mcp_servers ?? []
  const action = useAction()
  const found = useSignal<{ readonly id: string; readonly servers: ReadonlyArray<CheckedServer> } | undefined>(
    undefined
  )
  const look = async (version_id: string) => {
    const { servers } = await reins.projects.checkServers({ project_id, version_id })
    found.value = { id: version_id, servers }
  }
  // The person has read these descriptions, so these are pinned, and not what the server says by then.
  const pin = (checked: CheckedServer) =>
    action.run("the version", async () => {
      const notes = `Pins the tools of ${checked.name}.`
      const next = await reins.projects.publish({ project_id, spec: pinnedSpec(spec, checked), notes })
      published()
      await look(next.id)
    })
  const checked = found.value?.id === id ? found.value.servers : []
  return (
    <section aria-label="MCP servers">
      <div class="section-head apart">
        <h2>MCP servers</h2>
        {servers.length > 0 && mayWrite.value && (
          <button
            type="button"
            disabled={action.busy.value !== undefined}
            onClick={() => action.run("the servers", () => look(id))}
          >
            Check
          </button>
        )}
      </div>
      {servers.length === 0 ? (
        <p class="fine">Version {ordinal} names no server. Name one when you publish a version.</p>
      ) : (
        <ul class="cards">
          {servers.map((server) => (
            <ServerCard
              key={server.name}
              server={server}
              checked={checked.find(({ name }) => name === server.name)}
              pin={mayPin ? pin : undefined}
              loggedIn={() => action.run("the servers", () => look(id))}
            />
          ))}
        </ul>
      )}
      <Outcome of={action} />
    </section>
  )
}

/** The spec with the digests of the tools of a server as they were found. */
const pinnedSpec = (spec: ProjectSpec, { name, tools }: CheckedServer): ProjectSpec => {
  const digests = tools.flatMap((tool) => (tool.digest === null ? [] : [[tool.name, tool.digest] as const]))
  const servers = (spec.tools?.mcp_servers ?? []).map(
    (server): ProjectServer =>
      server.name === name ? { ...server, pins: { ...server.pins, ...Object.fromEntries(digests) } } : server
  )
  return { ...spec, tools: { ...spec.tools, mcp_servers: servers } }
}

const ServerCard = ({
  checked,
  loggedIn,
  pin,
  server
}: {
  readonly server: ProjectServer
  /** Runs once the person has logged in to the server. */
  readonly loggedIn: () => unknown
  readonly checked: CheckedServer | undefined
  readonly pin: ((checked: CheckedServer) => unknown) | undefined
}) => {
  const { allow, connection_id, login, name, permissions, url } = server
  const isAsking = useSignal(false)
  const changed = checked?.tools.filter(({ standing }) => standing === "changed") ?? []
  const isReached = checked?.state === "reached"
  return (
    <li>
      <div class="section-head">
        <h3>{name}</h3>
        {checked !== undefined && <Standing checked={checked} />}
      </div>
      <p class="fine">
        <code>{url}</code>
        {isReached && ` · ${factsOf(checked)}`}
      </p>
      {connection_id != null && <ConnectionLine id={connection_id} seen={checked} />}
      {login === "person" && (
        <>
          <p class="fine">Each person logs in. A turn uses the login of the person whose message it answers.</p>
          <div class="actions">
            <LoginFor server={server} done={loggedIn}>
              Log in for me
            </LoginFor>
          </div>
        </>
      )}
      {checked?.problem != null && <p>{forPeople(checked.problem)}</p>}
      <ul class="rows">
        {allow.map((tool) => (
          <ToolLine
            key={tool}
            name={tool}
            asks={permissions?.[tool] === "ask"}
            found={isReached ? checked.tools.find((each) => each.name === tool) : undefined}
          />
        ))}
      </ul>
      {checked !== undefined && changed.length > 0 && pin !== undefined && (
        <p class="actions pins">
          <button type="button" onClick={() => (isAsking.value = true)}>
            Pin as they are …
          </button>
        </p>
      )}
      {checked !== undefined && isAsking.value && (
        <Ask
          title={`Pin the tools of ${name} as they are?`}
          verb="Pin and publish"
          close={() => (isAsking.value = false)}
          act={() => pin?.(checked)}
        >
          <p>Read what the server now tells agents. Words in a description can mislead an agent.</p>
          {changed.map((tool) => (
            <div key={tool.name}>
              <code>{tool.name}</code>
              <pre class="question-text">{tool.description || "It has no description."}</pre>
            </div>
          ))}
          <p class="fine">This publishes the next version. Sessions keep the version that they began with.</p>
        </Ask>
      )}
    </li>
  )
}

const Standing = ({ checked: { state, tools } }: { readonly checked: CheckedServer }) => {
  if (state === "auth_required") return <State of="attention" as="not authorized" />
  if (state === "unusable") return <State of="failed" as="not usable" />
  if (state === "unreachable") return <State of="failed" as="not reached" />
  const ready = tools.filter(({ standing }) => standing === "offered").length
  if (ready === tools.length) return <State of="ready" />
  return <State of="attention" as={`${ready} of ${count(tools.length, "tool")} ready`} />
}

const factsOf = ({ listed, protocol, tools }: CheckedServer): string => {
  const size = tools.reduce((sum, tool) => sum + tool.bytes, 0)
  return `protocol ${protocol} · ${count(listed, "tool")} on the server · models read ${bytes(size)}`
}

const standings: Readonly<Record<CheckedTool["standing"], readonly [state: string, words: string, why: string]>> = {
  offered: ["ready", "ready", ""],
  changed: ["attention", "changed", "The server describes it in another way than the pinned one. It is not offered."],
  missing: ["failed", "missing", "The server does not have this tool."],
  refused: ["failed", "not offered", "The server describes it in a way that cannot be offered."]
}

const ToolLine = ({
  asks,
  found,
  name
}: {
  readonly name: string
  readonly asks: boolean
  readonly found: CheckedTool | undefined
}) => {
  const [state, words, why] = found === undefined ? ["", "", ""] : standings[found.standing]
  return (
    <li class="row-line">
      <code>{name}</code>
      {found !== undefined && <State of={state} as={words} />}
      {asks && <span class="fine">asks people first</span>}
      {why !== "" && <span>{found?.reason ?? why}</span>}
    </li>
  )
}
