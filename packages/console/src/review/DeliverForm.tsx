import { type Signal, useSignal } from "@preact/signals"
import type { Changeset, Connection } from "@reins/client"
import type { ComponentChildren } from "preact"
import { useAction, useLoaded } from "../api/Loading.js"
import { reins, wholeOf } from "../api/Server.js"
import { Await, Field, fieldsOf, Outcome } from "../ui/Basics.js"
import { Form } from "../ui/Form.js"
import { count } from "../words/Words.js"
import { forgeKinds, forgeUrl, forgeWords, isForge, likelyForge, pushConnections } from "./ForgeConnection.js"

/** The branch that a session has delivered last, with another changeset; undefined for none. The server takes no other for the head. */
const openBranchOf = async ({ id, session_id }: Changeset, signal: AbortSignal): Promise<string | undefined> => {
  for await (const other of reins.sessions.listChangesets({ session_id, state: "ready", limit: 20 }, { signal })) {
    if (other.id === id) continue
    const asked = { changeset_id: other.id, state: "succeeded" } as const
    const done = await reins.changesets.listDeliveries(asked, { signal }).all()
    const branch = done.find(({ transport }) => transport === "git_branch")?.target_ref
    if (branch !== undefined) return branch
  }
  return undefined
}

type Transport = "git_branch" | "head" | "patch"

/** Brings a changeset to its repository as a branch with a merge request, or makes a patch of it. */
export const DeliverForm = ({
  changeset,
  done,
  repository,
  title: suggested,
  unsent,
  workspaceId
}: {
  readonly changeset: Changeset
  readonly workspaceId: string
  /** The repository of the session; null for none. */
  readonly repository: string | null
  /** The title of the session, which the commit takes over. */
  readonly title: string
  /** The comments of the review that the agent was not sent. */
  readonly unsent: number
  /** Hears of the delivery that should get a merge request; undefined for one that should get none. */
  readonly done: (deliveryId: string | undefined) => void
}) => {
  const transport = useSignal<Transport>("git_branch")
  const open = useLoaded("the open branch", (signal) => openBranchOf(changeset, signal), [changeset.id])
  const branch = open.value.value
  const action = useAction()
  const connections = useLoaded(
    "the connections",
    (signal) => wholeOf(reins.connections.list({ workspace_id: workspaceId, limit: 100 }, { signal })),
    [workspaceId]
  )
  const deliver = (fields: Readonly<Record<string, string>>) => {
    const { merge_request = "", target_ref = "", title = "", update_strategy = "" } = fields
    return action.run("the delivery", async () => {
      const connection_id = await connectionIn(fields, workspaceId, repository)
      if (connection_id !== fields["connection_id"]) connections.reload()
      const { delivery } = await reins.changesets.deliver({
        changeset_id: changeset.id,
        transport: transport.value === "patch" ? "patch" : "git_branch",
        ...(title !== "" && { title }),
        ...(transport.value !== "patch" && connection_id !== "" && { connection_id }),
        ...(transport.value === "head" && { ...(branch !== undefined && { target_ref: branch }), onto: "head" }),
        ...(transport.value === "git_branch" && {
          ...(target_ref !== "" && { target_ref }),
          update_strategy: update_strategy === "force_with_lease" ? "force_with_lease" : "fast_forward"
        })
      })
      done(merge_request === "on" && connection_id !== "" ? delivery.id : undefined)
    })
  }
  return (
    <Form of={action} send={(event) => void deliver(fieldsOf(event))}>
      {unsent > 0 && (
        <p class="notice ask">
          {count(unsent, "comment")} not sent. Send {unsent === 1 ? "it" : "them"} first if the agent should change
          something.
        </p>
      )}
      <TransportChoice branch={branch} transport={transport} />
      {transport.value !== "patch" && (
        <Await of={connections}>
          {({ items }) => <ConnectionFields connections={items} repository={repository} />}
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
          <label class="check">
            <input name="merge_request" type="checkbox" defaultChecked /> Open a merge request
          </label>
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

/** The ways of a delivery. A commit on top of the open branch is one where there is such a branch. */
const TransportChoice = ({
  branch,
  transport
}: {
  readonly branch: string | undefined
  readonly transport: Signal<Transport>
}) => {
  const choice = (value: Transport, words: ComponentChildren) => (
    <label>
      <input
        type="radio"
        name="transport"
        checked={transport.value === value}
        onChange={() => (transport.value = value)}
      />{" "}
      {words}
    </label>
  )
  return (
    <fieldset class="choice">
      <legend>Deliver as</legend>
      {choice("git_branch", "a branch")}
      {branch !== undefined &&
        choice(
          "head",
          <>
            a commit on top of <code>{branch}</code>
          </>
        )}
      {choice("patch", "a patch")}
    </fieldset>
  )
}

/** A connection of the repository's host, or a place for the token of one. */
const ConnectionFields = ({
  connections,
  repository
}: {
  readonly connections: ReadonlyArray<Connection>
  readonly repository: string | null
}) => {
  const { all, own } = pushConnections(connections, repository)
  const chosen = useSignal(own?.id ?? "")
  const host = repository !== null && URL.canParse(repository) ? new URL(repository).host : undefined
  return (
    <>
      {all.length > 0 && (
        <Field label="Connection" hint="Reins pushes to the repository of the session with it.">
          <select
            name="connection_id"
            value={chosen.value}
            onChange={({ currentTarget }) => (chosen.value = currentTarget.value)}
          >
            <option value="">none, or a new one</option>
            {all.map(({ id, kind, label }) => (
              <option key={id} value={id}>
                {label} ({kind})
              </option>
            ))}
          </select>
        </Field>
      )}
      {chosen.value === "" && host !== undefined && repository !== null && (
        <div class="columns">
          <Field label="Token" hint={`Lets Reins push to ${host}. Empty where nobody has to log in.`}>
            <input name="token" type="password" autocomplete="off" />
          </Field>
          <Field label="Kind">
            <select name="forge" defaultValue={likelyForge(repository)}>
              {forgeKinds.map((kind) => (
                <option key={kind} value={kind} selected={kind === likelyForge(repository)}>
                  {forgeWords(kind)}
                </option>
              ))}
            </select>
          </Field>
        </div>
      )}
    </>
  )
}

/** The connection of the fields: the chosen one, one that is made of a token, or none. */
const connectionIn = async (
  { connection_id = "", forge = "", token = "" }: Readonly<Record<string, string>>,
  workspace_id: string,
  repository: string | null
): Promise<string> => {
  if (connection_id !== "" || token === "" || repository === null || !isForge(forge)) return connection_id
  const base_url = forgeUrl(forge, repository)
  const made = await reins.connections.create({
    workspace_id,
    kind: forge,
    label: new URL(repository).host,
    credential: { token, ...(base_url !== undefined && { base_url }) }
  })
  return made.id
}
