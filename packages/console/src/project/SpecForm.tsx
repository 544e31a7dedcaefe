import { useSignal } from "@preact/signals"
import type { ProjectSpec } from "@reins/client"
import { useAction, useLoaded } from "../api/Loading.js"
import { reins, wholeOf } from "../api/Server.js"
import { Await, Field, Outcome } from "../ui/Basics.js"
import { AgentFields, DeliveryFields, LimitFields, PermissionFields } from "./AgentFields.js"
import { EnvironmentFields } from "./EnvironmentFields.js"
import { GuidanceFields } from "./GuidanceFields.js"
import { NetworkField } from "./NetworkField.js"
import { ServerFields } from "./ServerFields.js"
import { SetupFields } from "./SetupFields.js"
import { filled, type SpecProps, specOf } from "./Spec.js"

/** Publishes a version of a project: a form for what people use, and the same as JSON. */
export const SpecForm = ({
  done,
  from,
  projectId,
  workspaceId
}: {
  readonly projectId: string
  readonly workspaceId: string
  readonly from: ProjectSpec
  readonly done: () => void
}) => {
  const action = useAction()
  const spec = useSignal(from)
  const json = useSignal<string | undefined>(undefined)
  const notes = useSignal("")
  const put: SpecProps["put"] = (parts) => {
    const all = Object.entries({ ...spec.value, ...parts }).filter(([, value]) => value !== undefined)
    // Boundary: the parts that are left are those of a spec.
    spec.value = Object.fromEntries(all) as ProjectSpec
  }
  /** Takes over what was written as JSON, and gives false for what is none. */
  const takeJson = async () => {
    const text = json.value
    if (text === undefined) return true
    return action.run("the spec", async () => {
      spec.value = specOf(text)
      return true
    })
  }
  const toForm = async () => {
    if (await takeJson()) json.value = undefined
  }
  const toJson = () => {
    json.value ??= JSON.stringify(spec.value, null, 2)
  }
  const publish = async () => {
    if (!(await takeJson())) return
    await action.run("the version", async () => {
      const notesGiven = notes.value === "" ? {} : { notes: notes.value }
      await reins.projects.publish({ project_id: projectId, spec: spec.value, ...notesGiven })
      done()
    })
  }
  return (
    <form
      class="spec-form"
      onSubmit={(event) => {
        event.preventDefault()
        void publish()
      }}
    >
      <fieldset class="choice" aria-label="View of the spec">
        <button type="button" class="small" aria-pressed={json.value === undefined} onClick={toForm}>
          Form
        </button>
        <button type="button" class="small" aria-pressed={json.value !== undefined} onClick={toJson}>
          JSON
        </button>
      </fieldset>
      {json.value === undefined ? (
        <Parts spec={spec.value} put={put} projectId={projectId} workspaceId={workspaceId} />
      ) : (
        <Field label="Spec" hint="As the API takes it.">
          <textarea
            class="code"
            rows={18}
            spellcheck={false}
            value={json.value}
            onInput={({ currentTarget }) => (json.value = currentTarget.value)}
          />
        </Field>
      )}
      <Field label="Notes (optional)" hint="What is new in this version.">
        <input value={notes.value} onInput={({ currentTarget }) => (notes.value = currentTarget.value)} />
      </Field>
      <p class="end">
        <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
          Publish
        </button>
      </p>
      <Outcome of={action} />
    </form>
  )
}

const Parts = ({
  projectId,
  workspaceId,
  ...given
}: SpecProps & { readonly projectId: string; readonly workspaceId: string }) => {
  const workspace_id = workspaceId
  const catalog = useLoaded(
    "the catalog",
    async (signal) => {
      const [harnesses, executors, connections, secrets, skills] = await Promise.all([
        reins.catalog.listHarnesses({}, { signal }),
        reins.catalog.listExecutorBackends({}, { signal }),
        wholeOf(reins.connections.list({ workspace_id, limit: 100 }, { signal })),
        reins.projects.listSecrets({ project_id: projectId }, { signal }),
        reins.projects.listSkills({ project_id: projectId }, { signal })
      ])
      return {
        harnesses: harnesses.items.filter(({ tier }) => tier !== "disabled"),
        executors: executors.items,
        connections: connections.items.filter(({ state }) => state !== "revoked"),
        secrets: secrets.items,
        skills: skills.items
      }
    },
    [workspaceId, projectId]
  )
  return (
    <Await of={catalog}>
      {({ connections, executors, harnesses, secrets, skills }) => (
        <>
          <RepositoryFields {...given} />
          <AgentFields
            {...given}
            harnesses={harnesses}
            connections={connections.filter(({ kind }) => kind !== "mcp_oauth")}
          />
          <GuidanceFields {...given} skills={skills} />
          <SetupFields {...given} />
          <EnvironmentFields {...given} secrets={secrets} />
          <ServerFields {...given} secrets={secrets} connections={connections} />
          <NetworkField
            legend="Network of agents"
            value={given.spec.network}
            change={(network) => given.put({ network })}
            none="none besides their model"
          />
          <LimitFields {...given} executors={executors} />
          <PermissionFields {...given} />
          <DeliveryFields {...given} />
        </>
      )}
    </Await>
  )
}

const RepositoryFields = ({ put, spec: { repository } }: SpecProps) => {
  const change = (parts: { readonly url?: string; readonly base_ref?: string }) => {
    const { url = "", ...rest } = { ...repository, ...parts }
    put({ repository: filled({ url, ...rest }) })
  }
  return (
    <fieldset class="part">
      <legend>Repository</legend>
      <div class="columns">
        <Field label="URL" hint="Empty for sessions that begin with nothing.">
          <input
            value={repository?.url ?? ""}
            placeholder="https://github.com/you/project.git"
            onInput={({ currentTarget }) => change({ url: currentTarget.value })}
          />
        </Field>
        <Field label="Branch" hint="A branch, tag or commit; empty for the default branch.">
          <input
            value={repository?.base_ref ?? ""}
            onInput={({ currentTarget }) => change({ base_ref: currentTarget.value })}
          />
        </Field>
      </div>
    </fieldset>
  )
}
