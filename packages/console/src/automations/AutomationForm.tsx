import { useSignal } from "@preact/signals"
import type { Automation, Hook, HookWithSecret, HostToken } from "@reins/client"
import { learnAgents } from "../agents/AgentNames.js"
import { type Loaded, useAction, useLoaded } from "../api/Loading.js"
import { me, reins, wholeOf } from "../api/Server.js"
import { isOwner } from "../inbox/Workspace.js"
import { isOpen, repositoryOfProject } from "../setup/RepositoryAsk.js"
import { TokenField } from "../setup/TokenField.js"
import { Await, Field, fieldsOf, Outcome } from "../ui/Basics.js"
import { Form } from "../ui/Form.js"
import { hookKindOf, MadeHook } from "./HookFields.js"
import { automationOf, isSame } from "./Input.js"
import { MoreFields } from "./MoreFields.js"
import { type Catalog, TargetFields, type Where } from "./TargetFields.js"
import { TriggerFields } from "./TriggerFields.js"

interface Ground extends Catalog {
  /** Null for those who may not know them. */
  readonly hooks: ReadonlyArray<Hook> | null
}

const useGround = (workspace_id: string): Loaded<Ground> =>
  useLoaded(
    "the choices of the form",
    async (signal) => {
      const all = { workspace_id, limit: 100 }
      const [harnesses, projects, connections, hooks] = await Promise.all([
        reins.catalog.listHarnesses({}, { signal }),
        wholeOf(reins.projects.list(all, { signal })),
        wholeOf(reins.connections.list(all, { signal })),
        isOwner.value ? wholeOf(reins.hooks.list(all, { signal })) : null
      ])
      learnAgents(harnesses.items)
      return {
        harnesses: harnesses.items.filter(({ installed, tier }) => installed && tier !== "disabled"),
        projects: projects.items.filter(({ archived_at }) => archived_at === null),
        connections: connections.items,
        hooks: hooks?.items ?? null
      }
    },
    [workspace_id]
  )

interface Props {
  readonly workspaceId: string
  /** The automation to change; a new one is made without it. */
  readonly automation?: Automation | undefined
  readonly done: () => void
}

/** Makes an automation, or changes one. The secret of a hook that is made with it is shown at the end. */
export const AutomationForm = (props: Props) => {
  const ground = useGround(props.workspaceId)
  return <Await of={ground}>{(value) => <Fields {...props} ground={value} />}</Await>
}

const Fields = ({ automation, done, ground, workspaceId }: Props & { readonly ground: Ground }) => {
  const { name, target, trigger } = automation ?? {}
  const action = useAction()
  const where = useSignal<Where>(target?.kind ?? "new_session")
  const hook = useSignal(trigger?.kind === "hook" ? trigger.hook_id : "")
  const made = useSignal<HookWithSecret | undefined>(undefined)
  const isSaved = useSignal(false)
  const wanted = useSignal<HostToken | undefined>(undefined)
  /** True when runs may start. What an automation has already holds up no other change of it. */
  const mayStart = async (fields: Readonly<Record<string, string>>): Promise<boolean> => {
    const { project_id = "", where: place } = fields
    const isKept = target?.kind === "new_session" && target.project_id === project_id
    if (place !== "new_session" || project_id === "" || isKept) return true
    const asked = await repositoryOfProject(workspaceId, project_id)
    return asked === undefined || isOpen(asked, wanted, fields, "project_id")
  }
  const save = async (fields: Readonly<Record<string, string>>) => {
    if (!(await mayStart(fields))) return
    if (fields["when"] === "hook" && hook.value === "" && ground.hooks !== null) {
      const kind = hookKindOf(fields["hook_kind"] ?? "")
      made.value = await reins.hooks.create({ workspace_id: workspaceId, kind, label: fields["name"] ?? "" })
      hook.value = made.value.id
    }
    await send(workspaceId, automationOf(fields, hook.value, automation), automation)
    if (made.value === undefined) return done()
    isSaved.value = true
  }
  if (isSaved.value && made.value !== undefined) return <Made hook={made.value} done={done} />
  return (
    <Form
      of={action}
      send={(event) => {
        const fields = fieldsOf(event)
        void action.run("the automation", () => save(fields))
      }}
    >
      <Field label="Name">
        <input name="name" required autofocus maxLength={200} placeholder="Dependencies" defaultValue={name} />
      </Field>
      <Field label="Message" hint="The agent is told this each time.">
        <textarea name="message" rows={4} required maxLength={100_000} defaultValue={target?.message} />
      </Field>
      <TargetFields catalog={ground} target={target} where={where} workspaceId={workspaceId} />
      {wanted.value !== undefined && where.value === "new_session" && <TokenField of={wanted.value} />}
      <TriggerFields hook={hook} hooks={ground.hooks} trigger={trigger} workspaceId={workspaceId} />
      {made.value !== undefined && <MadeHook hook={made.value} />}
      <MoreFields automation={automation} isInSession={where.value === "session"} />
      {automation !== undefined && automation.acts_for !== me.value?.account.id && (
        <p class="fine">It has the rights of another account now. After a change its runs have yours.</p>
      )}
      <p class="end">
        <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
          {automation === undefined ? "Make the automation" : "Save"}
        </button>
      </p>
      <Outcome of={action} />
    </Form>
  )
}

/** Sends what has changed. A trigger that is as before stays out, so that what is due stays due. */
const send = async (
  workspace_id: string,
  input: ReturnType<typeof automationOf>,
  given: Automation | undefined
): Promise<unknown> => {
  if (given === undefined) return reins.automations.create({ workspace_id, ...input })
  const { trigger, ...rest } = input
  return reins.automations.update({
    automation_id: given.id,
    expected_version: given.version,
    ...rest,
    ...(!isSame(trigger, given.trigger) && { trigger })
  })
}

const Made = ({ done, hook }: { readonly hook: HookWithSecret; readonly done: () => void }) => (
  <>
    <p>The automation begins when its hook is called.</p>
    <MadeHook hook={hook} />
    <p class="end">
      <button type="button" class="primary" onClick={done}>
        Done
      </button>
    </p>
  </>
)
