import type { Connection, ExecutorBackend, ExecutorLimits, Harness, PermissionPolicy } from "@reins/client"
import { agentLabel } from "../agents/AgentLabel.js"
import { Field } from "../ui/Basics.js"
import { plain } from "../words/Words.js"
import { filled, numberOf, type SpecProps } from "./Spec.js"

/** The provider, its model and the connections that sessions may use. */
export const AgentFields = ({
  connections,
  harnesses,
  put,
  spec: { connection_ids, harness }
}: SpecProps & { readonly harnesses: ReadonlyArray<Harness>; readonly connections: ReadonlyArray<Connection> }) => {
  const chosen = connection_ids ?? []
  return (
    <fieldset class="part">
      <legend>Agent</legend>
      <div class="columns">
        <Field label="Agent">
          <select
            value={harness?.provider_id ?? ""}
            onChange={({ currentTarget: { value } }) =>
              put({ harness: value === "" ? undefined : { ...harness, provider_id: value } })
            }
          >
            <option value="">the default of the server</option>
            {harnesses.map((each) => (
              <option key={each.provider_id} value={each.provider_id}>
                {agentLabel(each, harnesses)}
              </option>
            ))}
          </select>
        </Field>
        <Field
          label="Model"
          hint={harness == null ? "Choose a provider first." : "Empty for the one that the connection prefers."}
        >
          <input
            disabled={harness == null}
            value={harness?.model ?? ""}
            onInput={({ currentTarget: { value } }) => {
              if (harness == null) return
              const { model: _, ...rest } = harness
              put({ harness: value === "" ? rest : { ...rest, model: value } })
            }}
          />
        </Field>
      </div>
      {connections.length > 0 && (
        <fieldset class="choices">
          <legend>Connections</legend>
          {connections.map(({ id, kind, label }) => (
            <label key={id} class="check">
              <input
                type="checkbox"
                checked={chosen.includes(id)}
                onChange={({ currentTarget: { checked } }) => {
                  const next = checked ? [...chosen, id] : chosen.filter((each) => each !== id)
                  put({ connection_ids: next.length === 0 ? undefined : next })
                }}
              />{" "}
              {label} <span class="fine">{kind}</span>
            </label>
          ))}
          <p class="fine">Without a choice a session takes the newest ones of the workspace.</p>
        </fieldset>
      )}
    </fieldset>
  )
}

const limits = [
  { name: "memory_bytes", label: "Memory, in MB", factor: 1_000_000, min: 17, step: 1 },
  { name: "processors", label: "Processors", factor: 1, min: 0.05, step: "any" },
  { name: "processes", label: "Processes", factor: 1, min: 8, step: 1 },
  { name: "disk_bytes", label: "Disk, in MB", factor: 1_000_000, min: 2, step: 1 },
  { name: "turn_seconds", label: "A turn, in minutes", factor: 60, min: 1, step: 1 }
] as const satisfies ReadonlyArray<Readonly<Record<string, unknown>> & { readonly name: keyof ExecutorLimits }>

/** The executor, and the most that an agent may take of it. */
export const LimitFields = ({
  executors,
  put,
  spec: { executor }
}: SpecProps & { readonly executors: ReadonlyArray<ExecutorBackend> }) => {
  const usual = executors.find((each) => each.default)?.backend ?? executors[0]?.backend ?? "local"
  const given = executor?.limits ?? {}
  const change = (name: keyof ExecutorLimits, value: number | undefined) => {
    const { limits: _, ...rest } = executor ?? { backend: usual }
    const next = filled({ ...given, [name]: value })
    put({ executor: next === undefined ? rest : { ...rest, limits: next } })
  }
  return (
    <fieldset class="part">
      <legend>Executor and limits</legend>
      <Field label="Executor">
        <select
          value={executor?.backend ?? ""}
          onChange={({ currentTarget: { value } }) =>
            put({ executor: value === "" ? undefined : { ...executor, backend: value } })
          }
        >
          <option value="">the default of the server</option>
          {executors.map(({ available, backend, isolation }) => (
            <option key={backend} value={backend} disabled={!available && executor?.backend !== backend}>
              {backend}: {isolation.security_boundary ? "a boundary" : "no boundary"}
            </option>
          ))}
        </select>
      </Field>
      <div class="columns">
        {limits.map(({ factor, label, min, name, step }) => {
          const value = given[name]
          return (
            <Field key={name} label={label}>
              <input
                type="number"
                min={min}
                step={step}
                placeholder="that of the server"
                value={value == null ? "" : value / factor}
                onChange={({ currentTarget }) => {
                  const number = numberOf(currentTarget.value)
                  change(name, number === undefined ? undefined : number * factor)
                }}
              />
            </Field>
          )
        })}
      </div>
    </fieldset>
  )
}

const kinds = ["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"] as const
const permissions = ["allow", "ask", "deny"] as const
type Rule = (typeof permissions)[number]

/** The things that agents may do by themselves. */
export const PermissionFields = ({ put, spec: { permissions: policy } }: SpecProps) => {
  const rules = policy?.tools ?? {}
  const set = (next: PermissionPolicy) => put({ permissions: filled({ ...next, tools: filled(next.tools ?? {}) }) })
  return (
    <fieldset class="part">
      <legend>Permissions</legend>
      <Field label="Tools of the agent" hint="ask waits for a person, and needs an agent that can ask.">
        <PermissionChoice
          value={policy?.default}
          usual="what the provider is set up for"
          change={(value) => set({ ...policy, default: value })}
        />
      </Field>
      <details>
        <summary>Other rules for some kinds of tools</summary>
        <div class="columns">
          {kinds.map((kind) => (
            <Field key={kind} label={plain(kind)}>
              <PermissionChoice
                value={permissions.find((each) => each === rules[kind])}
                usual="as above"
                change={(value) => {
                  const { [kind]: _, ...rest } = rules
                  set({ ...policy, tools: value === undefined ? rest : { ...rest, [kind]: value } })
                }}
              />
            </Field>
          ))}
        </div>
      </details>
    </fieldset>
  )
}

const PermissionChoice = ({
  change,
  usual,
  value,
  ...named
}: {
  readonly id?: string
  readonly "aria-describedby"?: string
  readonly value: Rule | null | undefined
  readonly usual: string
  readonly change: (value: Rule | undefined) => void
}) => (
  <select
    {...named}
    value={value ?? ""}
    onChange={({ currentTarget }) => change(permissions.find((each) => each === currentTarget.value))}
  >
    <option value="">{usual}</option>
    {permissions.map((each) => (
      <option key={each}>{each}</option>
    ))}
  </select>
)

const transports = ["git_branch", "patch"] as const

/** The way in which changesets are delivered, and what follows a crash. */
export const DeliveryFields = ({ put, spec: { auto_acknowledge, delivery } }: SpecProps) => (
  <fieldset class="part">
    <legend>Delivery</legend>
    <div class="columns">
      <Field label="Changesets are delivered as">
        <select
          value={delivery?.transport ?? ""}
          onChange={({ currentTarget: { value } }) => {
            const transport = transports.find((each) => each === value)
            put({ delivery: filled({ ...delivery, transport }) })
          }}
        >
          <option value="">a branch where there is a repository</option>
          <option value="git_branch">git_branch</option>
          <option value="patch">patch</option>
        </select>
      </Field>
      <Field label="Names of branches begin with">
        <input
          placeholder="reins/"
          pattern="[A-Za-z0-9][A-Za-z0-9._\/\-]*"
          value={delivery?.branch_prefix ?? ""}
          onInput={({ currentTarget }) =>
            put({ delivery: filled({ ...delivery, branch_prefix: currentTarget.value }) })
          }
        />
      </Field>
    </div>
    <label class="check">
      <input
        type="checkbox"
        checked={auto_acknowledge === true}
        onChange={({ currentTarget: { checked } }) => put({ auto_acknowledge: checked ? true : undefined })}
      />{" "}
      After a crash the queue goes on by itself
    </label>
  </fieldset>
)
