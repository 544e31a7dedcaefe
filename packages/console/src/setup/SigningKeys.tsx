import { useAction, usePages } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { Await, Outcome, Time } from "../ui/Basics.js"
import { Confirm } from "../ui/Confirm.js"
import { More } from "../ui/More.js"

/** The keys that sign the commits of the workspace. */
export const SigningKeys = ({ workspaceId }: { readonly workspaceId: string }) => {
  const workspace_id = workspaceId
  const action = useAction()
  const list = usePages(
    "the signing keys",
    (cursor, signal) =>
      reins.signingKeys.list({ workspace_id, limit: 20, ...(cursor !== undefined && { cursor }) }, { signal }),
    [workspaceId]
  )
  const change = (what: string, run: () => Promise<unknown>) =>
    action.run(what, async () => {
      await run()
      list.reload()
    })
  return (
    <section aria-label="Signing keys">
      <h2>Signing keys</h2>
      <p class="fine">
        The newest key signs the commits of projects that ask for it. Add its public half to your forge as a signing
        key.
      </p>
      <Await of={list}>
        {({ items }) => (
          <ul class="rows">
            {items.map(({ created_at, fingerprint, id, public_key }) => (
              <li class="row-line" key={id}>
                <strong>{fingerprint}</strong>
                <code>{public_key}</code>
                <span class="fine">
                  made <Time at={created_at} />
                </span>
                <Confirm
                  ask="Destroy the key?"
                  disabled={action.busy.value !== undefined}
                  act={() => change("the end of the key", () => reins.signingKeys.remove({ signing_key_id: id }))}
                >
                  Delete
                </Confirm>
              </li>
            ))}
          </ul>
        )}
      </Await>
      <More of={list} />
      <button
        type="button"
        disabled={action.busy.value !== undefined}
        onClick={() => void change("the new key", () => reins.signingKeys.create({ workspace_id }))}
      >
        New signing key
      </button>
      <Outcome of={action} />
    </section>
  )
}
