import { useSignal } from "@preact/signals"
import type { Application, Changeset } from "@reins/client"
import { useAction } from "../api/Loading.js"
import { forPeople } from "../api/Sentences.js"
import { reins } from "../api/Server.js"
import { standings } from "../inbox/Workspace.js"
import { Field, fieldsOf, Outcome, State } from "../ui/Basics.js"
import { count } from "../words/Words.js"

/** Applies a changeset to the workspace of another session, or tries how it would go. */
export const ApplyForm = ({ changeset }: { readonly changeset: Changeset }) => {
  const action = useAction()
  const result = useSignal<Application | undefined>(undefined)
  const others = (standings.value ?? []).filter(
    ({ item }) => item.session_id !== changeset.session_id && item.lifecycle === "open"
  )
  const apply = (target_session_id: string, strategy: string, dry_run: boolean) =>
    action.run(dry_run ? "the try" : "the application", async () => {
      result.value = undefined
      const { application, operation } = await reins.changesets.apply({
        changeset_id: changeset.id,
        target_session_id,
        strategy: strategy === "exact" ? "exact" : "three_way",
        dry_run
      })
      await reins.jobs.wait(operation)
      result.value = await reins.applications.get({ application_id: application.id })
    })
  if (others.length === 0) return <p>There is no other open session.</p>
  return (
    <form
      onSubmit={(event) => {
        const { dry_run = "", strategy = "", target = "" } = fieldsOf(event)
        void apply(target, strategy, dry_run === "on")
      }}
    >
      <Field label="Session">
        <select name="target" required>
          {others.map(({ item: { session_id, title } }) => (
            <option key={session_id} value={session_id}>
              {title ?? session_id}
            </option>
          ))}
        </select>
      </Field>
      <Field label="Strategy">
        <select name="strategy">
          <option value="three_way">Merge with the files that are there</option>
          <option value="exact">Only if it fits exactly</option>
        </select>
      </Field>
      <label class="check">
        <input name="dry_run" type="checkbox" /> Dry run, which writes nothing
      </label>
      <p class="end">
        <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
          Apply
        </button>
      </p>
      <Outcome of={action} />
      {result.value !== undefined && <Result application={result.value} />}
    </form>
  )
}

const Result = ({
  application: { changed, conflicts, dry_run, reason_message, state, target_session_id }
}: {
  readonly application: Application
}) => (
  <p role="status">
    <State of={state} /> {dry_run && "Nothing was written. "}
    {forPeople(reason_message ?? "") ||
      (conflicts.length > 0
        ? `In conflict: ${conflicts.join(", ")}.`
        : `${count(changed.length, "file")} changed.`)}{" "}
    <a href={`sessions/${target_session_id}`}>Go to the session</a>
  </p>
)
