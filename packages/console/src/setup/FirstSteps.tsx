import type { Connection, Harness } from "@reins/client"
import type { ComponentChildren } from "preact"
import { setupGateway } from "../account/SetupCode.js"
import { agentLabel } from "../agents/AgentLabel.js"
import { AgentsOff, InstallAgent } from "../agents/Agents.js"
import { useLoaded } from "../api/Loading.js"
import { reins, wholeOf } from "../api/Server.js"
import { CredentialForm } from "../connections/ConnectionChange.js"
import { ConnectionForm } from "../connections/ConnectionForm.js"
import { Validation } from "../connections/ConnectionsPage.js"
import { Await, PageHead, State } from "../ui/Basics.js"
import { count } from "../words/Words.js"
import { NewSessionForm } from "./NewSessionPage.js"

/** From an empty server to the first session: a connection, an agent, a message. */
export const FirstSteps = ({ workspaceId }: { readonly workspaceId: string }) => {
  const workspace_id = workspaceId
  const state = useLoaded(
    "what is set up",
    async (signal) => {
      const [connections, harnesses, executors] = await Promise.all([
        wholeOf(reins.connections.list({ workspace_id, limit: 100 }, { signal })),
        reins.catalog.listHarnesses({}, { signal }),
        reins.catalog.listExecutorBackends({}, { signal })
      ])
      const installed = harnesses.items.filter((each) => each.installed)
      const active = connections.items.filter(({ state }) => state === "active")
      const connectionOf = (harness: Harness) => active.find(({ kind }) => kind === harness.connection?.kind)
      const served = installed.find((each) => connectionOf(each) !== undefined)
      return {
        installed,
        list: harnesses,
        served,
        connection: served && connectionOf(served),
        executor: executors.items.find((each) => each.default)
      }
    },
    [workspaceId]
  )
  return (
    <>
      <PageHead title="First steps" under="From an empty server to the first session." />
      <Await of={state}>
        {({ connection, executor, installed, list, served }) => (
          <ol class="first-steps">
            <Step title="An agent" isDone={installed.length > 0}>
              {installed.length > 0 ? (
                <>
                  <p>
                    {installed.map((each) => `${agentLabel(each, installed)} ${each.version ?? ""}`).join(", ")}{" "}
                    {installed.length === 1 ? "is" : "are"} installed.
                  </p>
                  {list.items
                    .filter((each) => !each.installed && each.installing !== null)
                    .map((harness) => (
                      <InstallAgent
                        key={harness.provider_id}
                        harness={harness}
                        workspaceId={workspaceId}
                        reload={state.reload}
                      />
                    ))}
                </>
              ) : (
                <>
                  <p>
                    An agent is the program that does the work. Reins downloads the version that it was tested with, and
                    checks its checksum.
                  </p>
                  {list.items
                    .filter(({ tier }) => tier !== "disabled")
                    .map((harness, index) => (
                      <InstallAgent
                        key={harness.provider_id}
                        harness={harness}
                        isFirst={index === 0}
                        workspaceId={workspaceId}
                        reload={state.reload}
                      />
                    ))}
                </>
              )}
              <AgentsOff of={list} workspaceId={workspaceId} reload={state.reload} />
            </Step>
            <Step title="A connection to models" isDone={connection !== undefined && !isRefused(connection)}>
              {connection === undefined ? (
                <ConnectionForm
                  workspaceId={workspaceId}
                  first={installed[0]?.connection?.kind ?? "alpha_gateway"}
                  baseUrl={setupGateway.value}
                  done={(id) => validate(id).finally(state.reload)}
                />
              ) : (
                <>
                  <p>
                    {connection.label} <State of={connection.health} />
                  </p>
                  <Validation connectionId={connection.id} validated={state.reload} />
                  {isRefused(connection) && (
                    <>
                      <p>The gateway refuses this key. Replace it here.</p>
                      <CredentialForm connection={connection} done={state.reload} />
                    </>
                  )}
                  <Models
                    workspaceId={workspaceId}
                    connectionId={connection.id}
                    providerId={served?.provider_id ?? ""}
                  />
                </>
              )}
            </Step>
            <Step title="The executor" isDone={executor !== undefined}>
              {executor === undefined ? (
                <p>
                  No executor works on this server. <a href="server">Server</a> says why.
                </p>
              ) : (
                <>
                  <p>
                    Agents run in <strong>{executor.backend}</strong>,{" "}
                    {executor.isolation.security_boundary
                      ? "which isolates them from the server."
                      : "which does not isolate them: an agent can do what the user of the server can."}
                  </p>
                  <p class="fine">{executor.note}</p>
                </>
              )}
            </Step>
            <Step title="The first session" isDone={false}>
              {connection !== undefined && !isRefused(connection) && installed.length > 0 ? (
                <NewSessionForm workspaceId={workspaceId} />
              ) : (
                <p class="fine">You need an agent and a connection that works.</p>
              )}
            </Step>
          </ol>
        )}
      </Await>
    </>
  )
}

/** Asks the gateway at once whether it takes the key. */
const validate = async (connection_id: string): Promise<void> => {
  const { operation } = await reins.connections.validate({ connection_id })
  await reins.jobs.wait(operation)
}

/** True for a connection whose key the gateway does not take. */
const isRefused = ({ health }: Connection): boolean => health === "reauth_required"

const Step = ({
  children,
  isDone,
  title
}: {
  readonly title: string
  readonly isDone: boolean
  readonly children: ComponentChildren
}) => (
  <li class={isDone ? "done" : ""}>
    <h2>
      {title} {isDone && <span class="sr">, done</span>}
    </h2>
    {children}
  </li>
)

const Models = ({
  connectionId,
  providerId,
  workspaceId
}: {
  readonly workspaceId: string
  readonly connectionId: string
  readonly providerId: string
}) => {
  const models = useLoaded(
    "the models of the connection",
    (signal) =>
      reins.catalog.listModels(
        { workspace_id: workspaceId, connection_id: connectionId, provider_id: providerId },
        { signal }
      ),
    [workspaceId, connectionId, providerId]
  )
  return (
    <Await of={models}>
      {({ items }) => (
        <p class="fine">
          {count(items.length, "model")}:{" "}
          {items
            .slice(0, 8)
            .map(({ id }) => id)
            .join(", ")}
          {items.length > 8 && " …"}
        </p>
      )}
    </Await>
  )
}
