import { useSignal } from "@preact/signals"
import type { MergeConditions, MergeConditionsInput, MergeRequest } from "@reins/client"
import { type Action, useAction } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { methods } from "../review/MergeRequests.js"
import { Ask } from "../ui/Ask.js"
import { Field, fieldsOf, Outcome, State, Time } from "../ui/Basics.js"
import { Form } from "../ui/Form.js"
import { count, plain } from "../words/Words.js"
import { Choice } from "./Choice.js"

interface ConditionsProps {
  readonly request: MergeRequest
  readonly reload: () => void
}

const tones = {
  waiting: "pending",
  merging: "running",
  merged: "merged",
  given_up: "requires_action"
} as const satisfies Record<MergeConditions["state"], string>

/** The conditions under which the merge request is merged by itself. The page's first lines say what they wait for. */
export const ConditionsView = ({ reload, request }: ConditionsProps) => {
  const { actions, conditions, id: merge_request_id } = request
  const action = useAction()
  const isOpen = useSignal(false)
  const isBusy = action.busy.value !== undefined
  const remove = () =>
    action.run("the removal", async () => {
      await reins.mergeRequests.removeConditions({ merge_request_id })
      reload()
    })
  return (
    <section aria-label="Merge conditions">
      <h2>
        Merge conditions {conditions !== null && <State of={tones[conditions.state]} as={plain(conditions.state)} />}
      </h2>
      {conditions === null ? <p>A person merges it. No condition is set.</p> : <Terms conditions={conditions} />}
      {isOpen.value ? (
        <ConditionsForm request={request} reload={reload} close={() => (isOpen.value = false)} />
      ) : (
        <p class="actions">
          {actions.includes("set_conditions") && (
            <button type="button" class="small" disabled={isBusy} onClick={() => (isOpen.value = true)}>
              {conditions === null ? "Set conditions" : "Change conditions"}
            </button>
          )}
          {actions.includes("remove_conditions") && (
            <button type="button" class="small" disabled={isBusy} onClick={remove}>
              Remove conditions
            </button>
          )}
        </p>
      )}
      <Outcome of={action} />
    </section>
  )
}

const checkWords = { required: "those that the forge requires", all: "all", none: "not needed" } as const
const verdictWords = { none: "not needed", member: "a member approves", delegation: "a delegation approves" } as const
const headWords = { own: "delivered by this session", any: "pushed by anybody" } as const

const Terms = ({ conditions }: { readonly conditions: MergeConditions }) => {
  const { approvals, checks, delete_branch, give_up_at, heads, method, set_at, threads_resolved, verdict } = conditions
  return (
    <dl class="facts-list">
      <dt>Passing checks</dt>
      <dd>{checkWords[checks]}</dd>
      <dt>Approvals</dt>
      <dd>{approvals === 0 ? "not needed" : `${count(approvals, "person", "people")} on the forge`}</dd>
      <dt>Threads</dt>
      <dd>{threads_resolved ? "all resolved" : "may be open"}</dd>
      <dt>Verdict</dt>
      <dd>
        {verdictWords[verdict?.from ?? "none"]}
        {verdict != null && verdict.digest !== null && " exactly one changeset"}
      </dd>
      <dt>Commits</dt>
      <dd>{headWords[heads]}</dd>
      <dt>Method</dt>
      <dd>
        {methods.find((each) => each.method === method)?.does ?? method}
        {delete_branch && ", then the branch is deleted"}
      </dd>
      <dt>Set</dt>
      <dd>
        <Time at={set_at} />
        {give_up_at !== null && ` · given up at ${new Date(give_up_at).toLocaleString()}`}
      </dd>
    </dl>
  )
}

const secondsOfHour = 3600

/** The value of a choice that the form offers. */
const chosen = <K extends string>(
  words: Readonly<Record<K, string>>,
  value: string | undefined,
  otherwise: NoInfer<K>
): K => {
  for (const each in words) if (each === value) return each
  return otherwise
}

const termsIn = (fields: Readonly<Record<string, string>>, before: MergeConditions | null): MergeConditionsInput => {
  const { approvals = "", delete_branch, max_wait_seconds: hours = "", threads_resolved } = fields
  const from = chosen(verdictWords, fields["verdict"], "none")
  const digest = before?.verdict?.from === from ? before.verdict.digest : null
  return {
    checks: chosen(checkWords, fields["checks"], "required"),
    approvals: Number(approvals),
    threads_resolved: threads_resolved === "on",
    heads: chosen(headWords, fields["heads"], "own"),
    method: methods.find(({ method }) => method === fields["method"])?.method ?? "merge",
    delete_branch: delete_branch === "on",
    ...(hours !== "" && { max_wait_seconds: Math.round(Number(hours) * secondsOfHour) }),
    ...(from !== "none" && { verdict: { from, ...(digest !== null && { digest }) } })
  }
}

const ConditionsForm = ({ close, reload, request }: ConditionsProps & { readonly close: () => void }) => {
  const { base_branch, conditions, id: merge_request_id } = request
  const action = useAction()
  const asked = useSignal<MergeConditionsInput | undefined>(undefined)
  const terms = asked.value
  const set = (input: MergeConditionsInput) =>
    action.run("the conditions", async () => {
      await reins.mergeRequests.setConditions({ ...input, merge_request_id })
      close()
      reload()
    })
  return (
    <>
      <ConditionFields
        action={action}
        conditions={conditions}
        close={close}
        send={(fields) => (asked.value = termsIn(fields, conditions))}
      />
      {terms !== undefined && (
        <Ask
          title={`Merge into ${base_branch} by itself?`}
          verb="Set conditions"
          close={() => (asked.value = undefined)}
          act={() => set(terms)}
        >
          <p>
            Reins merges it as soon as all of them hold at one commit, without another question. That can be in a
            moment. A rule of the forge comes on top.
          </p>
        </Ask>
      )}
    </>
  )
}

const ConditionFields = ({
  action,
  close,
  conditions,
  send
}: {
  readonly action: Action
  readonly conditions: MergeConditions | null
  readonly close: () => void
  readonly send: (fields: Readonly<Record<string, string>>) => void
}) => {
  const seconds = conditions?.max_wait_seconds ?? null
  return (
    <Form of={action} send={(event) => send(fieldsOf(event))}>
      <Choice
        label="Passing checks"
        name="checks"
        value={conditions?.checks ?? "required"}
        words={{ required: "Those that the forge requires", all: "All", none: "Not needed" }}
      />
      <Field label="Approvals" hint="People who may write to the repository approve this very commit.">
        <input
          name="approvals"
          type="number"
          min={0}
          max={10}
          required
          defaultValue={String(conditions?.approvals ?? 0)}
        />
      </Field>
      <Choice
        label="Verdict"
        name="verdict"
        value={conditions?.verdict?.from ?? "none"}
        words={{
          none: "Not needed",
          member: "A member approves in Reins",
          delegation: "A delegation approves in Reins"
        }}
      />
      <Choice
        label="Commits"
        name="heads"
        value={conditions?.heads ?? "own"}
        words={{ own: "Delivered by this session", any: "Pushed by anybody" }}
      />
      <Choice
        label="Method"
        name="method"
        value={conditions?.method ?? "merge"}
        words={Object.fromEntries(methods.map(({ does, method }) => [method, does]))}
      />
      <Field label="Give up after, in hours" hint="Empty for no limit. The longest time is 720 hours.">
        <input
          name="max_wait_seconds"
          type="number"
          step="any"
          min={0.1}
          max={720}
          defaultValue={seconds === null ? "" : String(seconds / secondsOfHour)}
        />
      </Field>
      <label class="check">
        <input name="threads_resolved" type="checkbox" defaultChecked={conditions?.threads_resolved ?? true} /> All
        threads are resolved
      </label>
      <label class="check">
        <input name="delete_branch" type="checkbox" defaultChecked={conditions?.delete_branch ?? false} /> Delete the
        branch after the merge
      </label>
      <p class="end">
        <button type="button" onClick={close}>
          Cancel
        </button>
        <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
          Set conditions …
        </button>
      </p>
      <Outcome of={action} />
    </Form>
  )
}
