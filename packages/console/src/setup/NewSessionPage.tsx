import { type Signal, useSignal } from "@preact/signals"
import type { Connection, HostToken, SessionsCreateInput } from "@reins/client"
import { learnAgents } from "../agents/AgentNames.js"
import { useAction, useLoaded } from "../api/Loading.js"
import { reins, wholeOf } from "../api/Server.js"
import { isGateway } from "../connections/ConnectionKinds.js"
import { go } from "../route/Route.js"
import { Await, Field, fieldsOf, Nothing, Outcome, PageHead } from "../ui/Basics.js"
import { Form } from "../ui/Form.js"
import { BudgetFields } from "../usage/BudgetForm.js"
import { limitsOf } from "../usage/Budgets.js"
import { shortened } from "../words/Words.js"
import { AgentChoice, rememberAgent } from "./AgentChoice.js"
import { type AskedRepository, isOpen, repositoryOfProject } from "./RepositoryAsk.js"
import { type RepositoryChoice, repositoryChoice } from "./RepositoryChoice.js"
import { TokenField } from "./TokenField.js"

/** A place to begin a session. */
export const NewSessionPage = ({ workspaceId }: { readonly workspaceId: string }) => (
  <>
    <PageHead title="New session" under="A conversation with an agent, and a working tree for its files." />
    <NewSessionForm workspaceId={workspaceId} />
  </>
)

/** The form of a new session. It leads to the session. */
export const NewSessionForm = ({ workspaceId }: { readonly workspaceId: string }) => {
  const workspace_id = workspaceId
  const catalog = useLoaded(
    "the catalog",
    async (signal) => {
      const [harnesses, executors, projects, connections] = await Promise.all([
        reins.catalog.listHarnesses({}, { signal }),
        reins.catalog.listExecutorBackends({}, { signal }),
        wholeOf(reins.projects.list({ workspace_id, limit: 100 }, { signal })),
        wholeOf(reins.connections.list({ workspace_id, limit: 100 }, { signal }))
      ])
      learnAgents(harnesses.items)
      return {
        connections: connections.items,
        harnesses: harnesses.items.filter(({ installed, tier }) => installed && tier !== "disabled"),
        executors: executors.items.filter(({ available }) => available),
        projects: projects.items.filter(({ archived_at }) => archived_at === null)
      }
    },
    [workspaceId]
  )
  const project = useSignal("")
  const repository = useSignal("")
  const wanted = useSignal<HostToken | undefined>(undefined)
  const action = useAction()
  return (
    <Await of={catalog}>
      {({ connections, executors, harnesses, projects }) =>
        harnesses.length === 0 ? (
          <Nothing>
            No agent is installed. <a href="start">Install one in First steps</a>.
          </Nothing>
        ) : (
          <Form
            of={action}
            class="wide-form"
            send={(event) => {
              const fields = fieldsOf(event)
              void action.run("the session", async () => {
                const input = inputOf(fields)
                const asked = await askedOf(workspace_id, input)
                const field = input.repository == null ? "project_id" : undefined
                if (asked !== undefined && !(await isOpen(asked, wanted, fields, field))) return
                const session = await reins.sessions.create({ workspace_id, ...input })
                rememberAgent(workspaceId, fields["provider_id"] ?? "", fields["model"] ?? "")
                go(`sessions/${session.id}`)
              })
            }}
          >
            <Field label="Message" hint="The task for the agent. You can also start without one.">
              <textarea name="message" rows={4} autofocus />
            </Field>
            {projects.length > 0 && (
              <Field label="Project" hint="The session starts from the newest version of the project.">
                <select
                  name="project_id"
                  value={project.value}
                  onChange={({ currentTarget }) => {
                    project.value = currentTarget.value
                    wanted.value = undefined
                  }}
                >
                  <option value="">none</option>
                  {projects.map(({ id, name }) => (
                    <option key={id} value={id}>
                      {name}
                    </option>
                  ))}
                </select>
              </Field>
            )}
            <RepositoryFields
              repository={repository}
              isOfProject={project.value !== ""}
              changed={() => (wanted.value = undefined)}
            />
            {wanted.value !== undefined && <TokenField of={wanted.value} />}
            <AgentChoice
              harnesses={harnesses}
              connections={connections}
              workspaceId={workspaceId}
              isOfProject={project.value !== ""}
            />
            <details>
              <summary>More</summary>
              <BudgetFields budget={null} />
              <div class="columns">
                <Field label="Title">
                  <input name="title" maxLength={200} />
                </Field>
                <Field label="Labels" hint="As in team=web, risk=low">
                  <input name="labels" pattern="\s*([^=,]+=[^,]*)(,\s*[^=,]+=[^,]*)*\s*" />
                </Field>
                <GitConnection connections={connections} isOff={repository.value.trim() === ""} />
                <Field label="Executor">
                  <select name="executor">
                    <option value="">the default</option>
                    {executors.map(({ backend, isolation }) => (
                      <option key={backend} value={backend}>
                        {backend}: {isolation.security_boundary ? "isolated" : "not isolated"}
                      </option>
                    ))}
                  </select>
                </Field>
                <Field label="Tools of the agent" hint="For tools without a rule of their own.">
                  <select name="permissions">
                    <option value="">the default</option>
                    <option value="ask">ask me first</option>
                    <option value="allow">allow</option>
                    <option value="deny">deny</option>
                  </select>
                </Field>
              </div>
            </details>
            <p class="end">
              <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
                Start the session
              </button>
            </p>
            <Outcome of={action} />
          </Form>
        )
      }
    </Await>
  )
}

/** The repository to ask before the session starts. Undefined where there is none, or where a project may open it. */
const askedOf = async (
  workspace_id: string,
  { project_id, repository }: Pick<SessionsCreateInput, "project_id" | "repository">
): Promise<AskedRepository | undefined> => {
  if (repository == null) return project_id == null ? undefined : repositoryOfProject(workspace_id, project_id)
  if (project_id != null) return undefined
  const { base_ref, connection_id, url } = repository
  return { workspace_id, url, ref: base_ref ?? undefined, connection_id }
}

const RepositoryFields = ({
  changed,
  isOfProject,
  repository
}: {
  readonly repository: Signal<string>
  readonly isOfProject: boolean
  /** Hears that another repository is typed. */
  readonly changed: () => void
}) => {
  const branch = useSignal("")
  const empty = isOfProject ? "Empty for the repository of the project." : "Empty for an empty working tree."
  const told = repositoryChoice(repository.value, branch.value).told
  const isNamed = repository.value.trim() !== ""
  return (
    <div class="columns">
      <Field label="Repository" hint={told ?? `An address, owner/name or a link. ${empty}`}>
        <input
          name="repository"
          placeholder="https://github.com/you/project.git"
          value={repository.value}
          onInput={({ currentTarget }) => {
            repository.value = currentTarget.value
            changed()
          }}
        />
      </Field>
      <Field
        label="Branch"
        hint={isNamed ? "A branch, tag or commit. Empty for the default branch." : "Name a repository first."}
      >
        <input
          name="base_ref"
          disabled={!isNamed}
          value={branch.value}
          onInput={({ currentTarget }) => (branch.value = currentTarget.value)}
        />
      </Field>
    </div>
  )
}

/** The value of the choice that takes no connection. */
const noConnection = "none"

/** The connection for the repository by hand. The service chooses one by the host without that. */
const GitConnection = ({
  connections,
  isOff
}: {
  readonly connections: ReadonlyArray<Connection>
  /** True where no repository is named. That of a project has the connection of the project. */
  readonly isOff: boolean
}) => (
  <Field label="Git connection" hint={isOff ? "Name a repository first." : "For clones and pushes of the repository."}>
    <select name="git_connection_id" disabled={isOff}>
      <option value="">by the host of the repository</option>
      <option value={noConnection}>none</option>
      {connections.filter(isForGit).map(({ id, label }) => (
        <option key={id} value={id}>
          {label}
        </option>
      ))}
    </select>
  </Field>
)

const isForGit = ({ kind, state }: Connection): boolean =>
  state === "active" && !isGateway(kind) && kind !== "mcp_oauth"

/** The repository of the body. */
const chosenIn = (
  { told: _, ...repository }: RepositoryChoice,
  connection: string | undefined
): SessionsCreateInput["repository"] => ({
  ...repository,
  ...(connection && { connection_id: connection === noConnection ? null : connection })
})

const longestTitle = 80

/** A session without a title gets the first line of its message, by which people find it in the inbox. */
const titleOf = (message: string): string => {
  return shortened(message.trim().split("\n")[0] ?? "", longestTitle)
}

/** The body for the API, without the fields that were left empty. */
const inputOf = (fields: Readonly<Record<string, string>>): Omit<SessionsCreateInput, "workspace_id"> => {
  const { base_ref, executor, labels, message, model, permissions, project_id, provider_id, repository, title } = fields
  const connection_id = fields["connection_id"]
  const budget = limitsOf(fields)
  return {
    ...(message && { message }),
    ...(budget !== undefined && { budget }),
    ...((title || message) && { title: title || titleOf(message ?? "") }),
    ...(project_id && { project_id }),
    ...(repository && {
      repository: chosenIn(repositoryChoice(repository, base_ref ?? ""), fields["git_connection_id"])
    }),
    ...(provider_id && { harness: { provider_id, ...(model && { model }) } }),
    ...(provider_id && connection_id && { connection_id }),
    ...(executor && { executor: { backend: executor } }),
    ...((permissions === "ask" || permissions === "allow" || permissions === "deny") && {
      permissions: { default: permissions }
    }),
    ...(labels && {
      labels: Object.fromEntries(
        labels.split(",").map((each) => {
          const [name = "", ...value] = each.split("=")
          return [name.trim(), value.join("=").trim()]
        })
      )
    })
  }
}
