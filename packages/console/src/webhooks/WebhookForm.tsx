import { useSignal } from "@preact/signals"
import type { WebhookEndpoint, WebhookEndpointInput, WebhookEndpointWithSecret } from "@reins/client"
import { useAction, useLoaded } from "../api/Loading.js"
import { reins, wholeOf } from "../api/Server.js"
import { Field, fieldsOf, Outcome } from "../ui/Basics.js"
import { Form } from "../ui/Form.js"

/** The events that people ask for most, in words. Any other type is written below them. */
const families = [
  { types: ["turn.action_required"], does: "an agent needs an answer" },
  { types: ["turn.succeeded", "turn.failed", "turn.cancelled", "turn.interrupted"], does: "a turn has ended" },
  { types: ["changeset.*"], does: "there is work to review" },
  { types: ["delivery.*"], does: "a changeset is delivered" },
  { types: ["merge_request.*"], does: "a merge request is opened or merged" },
  { types: ["session.*"], does: "a session is made or changed" }
] as const

const known: ReadonlySet<string> = new Set(families.flatMap(({ types }) => types))

type Types = NonNullable<WebhookEndpointInput["types"]>

/** Makes an endpoint, or changes one. */
export const WebhookForm = ({
  done,
  endpoint,
  made,
  workspaceId
}: {
  readonly workspaceId: string
  /** The endpoint to change; a new one is made without it. */
  readonly endpoint?: WebhookEndpoint
  readonly made?: (endpoint: WebhookEndpointWithSecret) => void
  readonly done: () => void
}) => {
  const action = useAction()
  const isSome = useSignal(endpoint !== undefined && endpoint.types !== null)
  const projects = useLoaded(
    "the projects",
    (signal) => wholeOf(reins.projects.list({ workspace_id: workspaceId, limit: 100 }, { signal })),
    [workspaceId]
  )
  const given = new Set<string>(endpoint?.types ?? [])
  const projectsThere = projects.value.value?.items ?? []
  return (
    <Form
      of={action}
      send={(event) => {
        const fields = fieldsOf(event)
        const input = inputOf(fields, isSome.value)
        void action.run("the endpoint", async () => {
          if (endpoint === undefined) {
            const answer = await reins.webhooks.createEndpoint({ workspace_id: workspaceId, ...input })
            return made?.(answer)
          }
          await reins.webhooks.updateEndpoint({ webhook_endpoint_id: endpoint.id, ...input })
          done()
        })
      }}
    >
      <Field label="Address" hint="https, at a host that this server may call.">
        <input
          name="url"
          type="url"
          required
          autofocus
          placeholder="https://hooks.example/reins"
          defaultValue={endpoint?.url}
        />
      </Field>
      <Field label="Description (optional)">
        <input name="description" maxLength={500} defaultValue={endpoint?.description ?? ""} />
      </Field>
      <fieldset class="choices">
        <legend>Events</legend>
        <label class="check">
          <input type="radio" name="which" checked={!isSome.value} onChange={() => (isSome.value = false)} /> all events
        </label>
        <label class="check">
          <input type="radio" name="which" checked={isSome.value} onChange={() => (isSome.value = true)} /> some events
        </label>
        {isSome.value && (
          <div class="inset">
            {families.map(({ does, types }, index) => (
              <label key={does} class="check">
                <input
                  name={`family.${index}`}
                  type="checkbox"
                  defaultChecked={types.every((type) => given.has(type))}
                />{" "}
                {does} <span class="fine">{types.join(", ")}</span>
              </label>
            ))}
            <Field label="Other types" hint="With spaces between, as in usage.observed delegation.*">
              <input name="types" defaultValue={[...given].filter((type) => !isOfFamily(type, given)).join(" ")} />
            </Field>
          </div>
        )}
      </fieldset>
      <div class="columns">
        <Field label="Project" hint="Only sessions of this project.">
          <select name="project_id" key={projectsThere.length} defaultValue={endpoint?.project_id ?? ""}>
            <option value="">any</option>
            {projectsThere.map(({ id, name }) => (
              <option key={id} value={id} selected={id === endpoint?.project_id}>
                {name}
              </option>
            ))}
          </select>
        </Field>
        <Field label="Label" hint="Only sessions with it, as in team=web">
          <input name="label" pattern="[^=]+=.*" defaultValue={endpoint?.label ?? ""} />
        </Field>
      </div>
      <p class="end">
        <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
          {endpoint === undefined ? "Create the endpoint" : "Save"}
        </button>
      </p>
      <Outcome of={action} />
    </Form>
  )
}

/** True for a type that a checked family stands for. */
const isOfFamily = (type: string, given: ReadonlySet<string>): boolean =>
  known.has(type) &&
  families.some(({ types }) => types.some((each) => each === type) && types.every((each) => given.has(each)))

const inputOf = (fields: Readonly<Record<string, string>>, isSome: boolean): WebhookEndpointInput => {
  const { description = "", label = "", types: others = "", project_id = "", url = "" } = fields
  const types = [
    ...families.flatMap(({ types }, index) => (fields[`family.${index}`] === "on" ? types : [])),
    ...others.split(/[\s,]+/).filter((type) => type !== "")
  ]
  return {
    url,
    description: description || null,
    // Boundary: a person writes types, and the server says which ones there are not.
    types: isSome ? ([...new Set(types)] as unknown as Types) : null,
    project_id: (project_id || null) as WebhookEndpoint["project_id"],
    label: label || null
  }
}
