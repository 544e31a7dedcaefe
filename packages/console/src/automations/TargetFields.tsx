import { type Signal, useSignal } from "@preact/signals"
import type { Automation, Connection, Harness, Project } from "@reins/client"
import { standings } from "../inbox/Workspace.js"
import { AgentChoice } from "../setup/AgentChoice.js"
import { Field } from "../ui/Basics.js"

/** The agents, connections and projects that an automation can name. */
export interface Catalog {
  readonly harnesses: ReadonlyArray<Harness>
  readonly connections: ReadonlyArray<Connection>
  readonly projects: ReadonlyArray<Project>
}

export type Where = Automation["target"]["kind"]

/** The place of the work: a new session for each run, or a session that is there. */
export const TargetFields = ({
  catalog,
  target,
  where,
  workspaceId
}: {
  readonly workspaceId: string
  readonly catalog: Catalog
  readonly target: Automation["target"] | undefined
  readonly where: Signal<Where>
}) => {
  const radio = (each: Where, words: string) => (
    <label class="check">
      <input
        type="radio"
        name="where"
        value={each}
        checked={where.value === each}
        onChange={() => (where.value = each)}
      />{" "}
      {words}
    </label>
  )
  return (
    <fieldset class="choices">
      <legend>It works in</legend>
      {radio("new_session", "a new session each time")}
      {where.value === "new_session" && (
        <div class="inset">
          <NewSessionFields catalog={catalog} target={target} workspaceId={workspaceId} />
        </div>
      )}
      {radio("session", "a session that is there")}
      {where.value === "session" && (
        <div class="inset">
          <SessionField given={target?.kind === "session" ? target.session_id : ""} />
        </div>
      )}
    </fieldset>
  )
}

const NewSessionFields = ({
  catalog: { connections, harnesses, projects },
  target,
  workspaceId
}: {
  readonly workspaceId: string
  readonly catalog: Catalog
  readonly target: Automation["target"] | undefined
}) => {
  const given = target?.kind === "new_session" ? target : undefined
  const project = useSignal(given?.project_id ?? "")
  const isUnknown = project.value !== "" && !projects.some(({ id }) => id === project.value)
  return (
    <>
      <Field label="Project" hint="It has the repository, the agent and the rules. Each run takes its newest version.">
        <select
          name="project_id"
          value={project.value}
          onChange={({ currentTarget }) => (project.value = currentTarget.value)}
        >
          <option value="">none: begin with an empty working tree</option>
          {isUnknown && <option value={project.value}>the project that it has</option>}
          {projects.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      </Field>
      {project.value !== "" ? null : harnesses.length === 0 ? (
        <p class="fine">
          No agent is installed. <a href="start">Install one in First steps</a>.
        </p>
      ) : (
        <AgentChoice
          harnesses={harnesses}
          connections={connections}
          workspaceId={workspaceId}
          isOfProject={false}
          given={given}
        />
      )}
    </>
  )
}

const SessionField = ({ given }: { readonly given: string }) => {
  const open = (standings.value ?? []).filter(({ item }) => item.lifecycle === "open")
  const isUnknown = given !== "" && !open.some(({ item }) => item.session_id === given)
  if (open.length === 0 && !isUnknown) return <p class="fine">There is no open session.</p>
  return (
    <Field label="Session" hint="Each run sends the message there.">
      <select name="session_id">
        {isUnknown && <option value={given}>the session that it has</option>}
        {open.map(({ item: { session_id: id, title } }) => (
          <option key={id} value={id} selected={id === given}>
            {title ?? id}
          </option>
        ))}
      </select>
    </Field>
  )
}
