import type { ExecutorBackend, Harness, Limits } from "@reins/client"
import { AgentsOff, InstallAgent } from "../agents/Agents.js"
import { useLoaded } from "../api/Loading.js"
import { reins, serviceUrl } from "../api/Server.js"
import { Await, PageHead, State } from "../ui/Basics.js"
import { bytes, plain } from "../words/Words.js"

/** The offers and the limits of the server: executors, providers and limits. */
export const ServerPage = ({ workspaceId }: { readonly workspaceId: string }) => {
  const version = useLoaded("the release", (signal) => reins.catalog.getVersion({}, { signal }), [])
  const executors = useLoaded("the executors", (signal) => reins.catalog.listExecutorBackends({}, { signal }), [])
  const harnesses = useLoaded("the providers", (signal) => reins.catalog.listHarnesses({}, { signal }), [])
  const limits = useLoaded("the limits", (signal) => reins.catalog.getLimits({}, { signal }), [])
  const release = version.value.value
  return (
    <>
      <PageHead
        title="Server"
        under={
          <>
            {release !== undefined && `Reins ${release.release} · API ${release.api_version} · `}
            <a href={`${serviceUrl}/docs`} target="_self">
              the reference of its API
            </a>
          </>
        }
      />
      <h2>Executors</h2>
      <Await of={executors}>
        {({ items }) => (
          <ul class="cards">
            {items.map((each) => (
              <ExecutorCard key={each.backend} executor={each} />
            ))}
          </ul>
        )}
      </Await>
      <h2>Providers</h2>
      <Await of={harnesses}>
        {(list) => (
          <>
            <ul class="cards">
              {list.items.map((each) => (
                <ProviderCard
                  key={each.provider_id}
                  harness={each}
                  workspaceId={workspaceId}
                  reload={harnesses.reload}
                />
              ))}
            </ul>
            <AgentsOff of={list} workspaceId={workspaceId} reload={harnesses.reload} />
          </>
        )}
      </Await>
      <h2>Limits</h2>
      <Await of={limits}>{(value) => <LimitsTable limits={value} />}</Await>
    </>
  )
}

const ExecutorCard = ({
  executor: { available, backend, default: isDefault, isolation, limits, note }
}: {
  readonly executor: ExecutorBackend
}) => (
  <li>
    <div class="section-head">
      <h3>
        {backend} {isDefault && <span class="label">default</span>}
      </h3>
      <State of={available ? "ready" : "none"} as={available ? "available" : "not available"} />
    </div>
    {available && (
      <>
        <p>
          {isolation.security_boundary
            ? "A boundary: an agent reaches only what it is given."
            : "No boundary: an agent can do everything that the server's user can."}
        </p>
        <dl>
          <dt>Files</dt>
          <dd>{plain(isolation.filesystem)}</dd>
          <dt>Network</dt>
          <dd>{plain(isolation.network)}</dd>
          <dt>Processes</dt>
          <dd>{plain(isolation.processes)}</dd>
          <dt>Limits</dt>
          <dd>{limitWords(limits)}</dd>
        </dl>
      </>
    )}
    <p class="fine">{note}</p>
  </li>
)

/** The limits that hold for one agent, with their means. */
const limitWords = (limits: ExecutorBackend["limits"]): string => {
  const held = Object.entries(limits).flatMap(([name, { enforced_by, value }]) => {
    if (enforced_by === null || value === null) return []
    const most = /bytes/.test(name) ? bytes(value) : value.toLocaleString("en")
    return [`${plain(name.replace(/_bytes$/, ""))} ${most} by ${plain(enforced_by)}`]
  })
  return held.length === 0 ? "none are held for each agent" : held.join(", ")
}

const ProviderCard = ({
  harness,
  reload,
  workspaceId
}: {
  readonly harness: Harness
  readonly workspaceId: string
  readonly reload: () => void
}) => {
  const { capabilities, connection, display_name, installed, provider_id, tier, version } = harness
  return (
    <li>
      <div class="section-head">
        <h3>
          {display_name} <code>{provider_id}</code>
        </h3>
        <span>
          <State of={installed ? "ready" : "none"} as={installed ? `installed ${version ?? ""}` : "not installed"} />{" "}
          <State of={tier} />
        </span>
      </div>
      {!installed && tier !== "disabled" && (
        <InstallAgent harness={harness} workspaceId={workspaceId} reload={reload} />
      )}
      {connection !== null && (
        <p class="fine">
          It {connection.required ? "needs" : "takes"} a connection of the kind {connection.kind}.
        </p>
      )}
      <p class="chips">
        {Object.entries(capabilities).map(([name, value]) => (
          <span key={name} class={`chip ${value}`}>
            {plain(name)} <span class="fine">{value}</span>
          </span>
        ))}
      </p>
    </li>
  )
}

const LimitsTable = ({ limits }: { readonly limits: Limits }) => (
  <div class="table">
    <table>
      <tbody>
        {Object.entries(limits).map(([name, value]: [string, number | null]) => (
          <tr key={name}>
            <th scope="row">{plain(name)}</th>
            <td>{value === null ? "any" : /bytes/.test(name) ? bytes(value) : value.toLocaleString("en")}</td>
          </tr>
        ))}
      </tbody>
    </table>
  </div>
)
