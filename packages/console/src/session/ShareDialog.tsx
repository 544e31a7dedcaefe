import { useSignal } from "@preact/signals"
import type { Session, SessionsShareAnswer, Share } from "@reins/client"
import { useAction, usePages } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Await, Copy, Field, fieldsOf, Outcome, State, Time } from "../ui/Basics.js"
import { Confirm } from "../ui/Confirm.js"
import { Dialog } from "../ui/Dialog.js"
import { More } from "../ui/More.js"

const day = 86_400_000

const expiries = [
  { name: "In a day", ms: day },
  { name: "In a week", ms: 7 * day },
  { name: "In 30 days", ms: 30 * day },
  { name: "Never", ms: 0 }
] as const

const parts = {
  changes: "Changes, as diffs",
  reasoning: "Reasoning of the agent",
  tools: "Inputs and outputs of tools, which may show any file"
} as const

const isPart = (name: string): name is keyof typeof parts => name in parts

/** Makes links with which anybody may read the session, and takes them back. */
export const ShareDialog = ({ close, session }: { readonly session: Session; readonly close: () => void }) => {
  const session_id = session.id
  const made = useSignal<SessionsShareAnswer | undefined>(undefined)
  const action = useAction()
  const shares = usePages(
    "the links",
    (cursor, signal) => reins.sessions.listShares({ session_id, ...(cursor !== undefined && { cursor }) }, { signal }),
    [session_id]
  )
  const share = (fields: Readonly<Record<string, string>>) =>
    action.run("the link", async () => {
      const ms = Number(fields["expires"])
      made.value = await reins.sessions.share({
        session_id,
        includes: Object.keys(fields).filter(isPart),
        ...(ms > 0 && { expires_at: new Date(Date.now() + ms).toISOString() })
      })
      shares.reload()
    })
  const revoke = (share_id: string) =>
    action.run("the link", async () => {
      await reins.shares.revoke({ share_id })
      if (made.value?.id === share_id) made.value = undefined
      shares.reload()
    })
  return (
    <Dialog title="Share this session" close={close}>
      <p>Anybody with the link can read the conversation and the plans, without an account. Secrets are blanked.</p>
      <form onSubmit={(event) => void share(fieldsOf(event))}>
        <fieldset class="stack">
          <legend>Show also</legend>
          {Object.entries(parts).map(([name, label]) => (
            <label key={name} class="check">
              <input type="checkbox" name={name} defaultChecked={name === "changes"} /> {label}
            </label>
          ))}
        </fieldset>
        <Field label="Expires">
          <select name="expires" defaultValue={String(7 * day)}>
            {expiries.map(({ ms, name }) => (
              <option key={name} value={String(ms)}>
                {name}
              </option>
            ))}
          </select>
        </Field>
        <p class="end">
          <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
            Make a link
          </button>
        </p>
      </form>
      <Outcome of={action} />
      {made.value !== undefined && (
        <div class="notice" role="status">
          <p>The link, which is shown this once:</p>
          <p class="spread">
            <code class="link-text">{made.value.url}</code> <Copy text={made.value.url} label="Copy the link" />
          </p>
        </div>
      )}
      <Await of={shares}>
        {({ items }) =>
          items.length === 0 ? null : (
            <>
              <h3>Links</h3>
              <ul class="rows">
                {items.map((each) => (
                  <ShareRow key={each.id} share={each} revoke={() => revoke(each.id)} />
                ))}
              </ul>
              <More of={shares} />
            </>
          )
        }
      </Await>
    </Dialog>
  )
}

const ShareRow = ({ revoke, share }: { readonly share: Share; readonly revoke: () => void }) => (
  <li class="row-line">
    <State of={share.state} />
    <span>
      {["conversation", ...share.includes].join(", ")}
      <span class="fine">
        {" "}
        · made <Time at={share.created_at} />
        {share.expires_at !== null && ` · until ${new Date(share.expires_at).toLocaleDateString()}`}
      </span>
    </span>
    {share.state === "active" && (
      <Confirm ask="Take this link back?" act={revoke}>
        Take back
      </Confirm>
    )}
  </li>
)
