import { useSignal } from "@preact/signals"
import type { Changeset } from "@reins/client"
import { useAction, useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Await, Field, fieldsOf, Outcome } from "../ui/Basics.js"
import { Form } from "../ui/Form.js"
import { count } from "../words/Words.js"

/** The branch that a session has delivered last, with another changeset; undefined for none. The server takes no other for the head. */
const openBranchOf = async ({ id, session_id }: Changeset, signal: AbortSignal): Promise<string | undefined> => {
  const { items } = await reins.sessions.listChangesets({ session_id, state: "ready", limit: 20 }, { signal })
  for (const other of items) {
    if (other.id === id) continue
    const done = await reins.changesets.listDeliveries(
      { changeset_id: other.id, state: "succeeded", limit: 20 },
      { signal }
    )
    const branch = done.items.find(({ transport }) => transport === "git_branch")?.target_ref
    if (branch !== undefined) return branch
  }
  return undefined
}

const forgesAndGit = new Set(["github", "gitlab", "gitea", "git", "git_ssh"])

/** Brings a changeset to its repository as a branch, or makes a patch of it. */
export const DeliverForm = ({
  changeset,
  done,
  title: suggested,
  unsent,
  workspaceId
}: {
  readonly changeset: Changeset
  readonly workspaceId: string
  /** The title of the session, which the commit takes over. */
  readonly title: string
  /** The comments of the review that the agent was not sent. */
  readonly unsent: number
  readonly done: () => void
}) => {
  const transport = useSignal<"git_branch" | "head" | "patch">("git_branch")
  const open = useLoaded("the open branch", (signal) => openBranchOf(changeset, signal), [changeset.id])
  const branch = open.value.value
  const action = useAction()
  const connections = useLoaded(
    "the connections",
    (signal) => reins.connections.list({ workspace_id: workspaceId, limit: 100 }, { signal }),
    [workspaceId]
  )
  return (
    <Form
      of={action}
      send={(event) => {
        const { connection_id = "", target_ref = "", title = "", update_strategy = "" } = fieldsOf(event)
        void action.run("the delivery", async () => {
          await reins.changesets.deliver({
            changeset_id: changeset.id,
            transport: transport.value === "patch" ? "patch" : "git_branch",
            ...(title !== "" && { title }),
            ...(transport.value === "head" && {
              ...(connection_id !== "" && { connection_id }),
              ...(branch !== undefined && { target_ref: branch }),
              onto: "head" as const
            }),
            ...(transport.value === "git_branch" && {
              ...(connection_id !== "" && { connection_id }),
              ...(target_ref !== "" && { target_ref }),
              update_strategy: update_strategy === "force_with_lease" ? "force_with_lease" : "fast_forward"
            })
          })
          done()
        })
      }}
    >
      {unsent > 0 && (
        <p class="notice ask">
          {count(unsent, "comment")} not sent. Send {unsent === 1 ? "it" : "them"} first if the agent should change
          something.
        </p>
      )}
      <fieldset class="choice">
        <legend>Deliver as</legend>
        <label>
          <input
            type="radio"
            name="transport"
            checked={transport.value === "git_branch"}
            onChange={() => (transport.value = "git_branch")}
          />{" "}
          a branch
        </label>
        {branch !== undefined && (
          <label>
            <input
              type="radio"
              name="transport"
              checked={transport.value === "head"}
              onChange={() => (transport.value = "head")}
            />{" "}
            a commit on top of <code>{branch}</code>
          </label>
        )}
        <label>
          <input
            type="radio"
            name="transport"
            checked={transport.value === "patch"}
            onChange={() => (transport.value = "patch")}
          />{" "}
          a patch
        </label>
      </fieldset>
      {transport.value !== "patch" && (
        <Await of={connections}>
          {({ items }) => (
            <Field label="Connection" hint="Reins pushes to the repository of the session with it.">
              <select
                name="connection_id"
                defaultValue={items.find(({ kind, state }) => state === "active" && forgesAndGit.has(kind))?.id ?? ""}
              >
                <option value="">none, the repository needs no credential</option>
                {items
                  .filter(({ kind, state }) => state === "active" && forgesAndGit.has(kind))
                  .map(({ id, kind, label }) => (
                    <option key={id} value={id}>
                      {label} ({kind})
                    </option>
                  ))}
              </select>
            </Field>
          )}
        </Await>
      )}
      {transport.value === "git_branch" && (
        <>
          <Field label="Branch" hint="Empty for a new branch of this session.">
            <input name="target_ref" placeholder="reins/…" />
          </Field>
          <Field label="If the branch exists">
            <select name="update_strategy">
              <option value="fast_forward">Only add to it</option>
              <option value="force_with_lease">Replace the earlier delivery</option>
            </select>
          </Field>
        </>
      )}
      <Field label="Title" hint="The first line of the commit.">
        <input name="title" defaultValue={suggested} />
      </Field>
      <p class="end">
        <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
          Deliver
        </button>
      </p>
      <Outcome of={action} />
    </Form>
  )
}
