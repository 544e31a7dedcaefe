import type { Member } from "@reins/client"
import { useAction, useLoaded } from "../api/Loading.js"
import { me, reins, wholeOf } from "../api/Server.js"
import { isOwner as mayManage } from "../inbox/Workspace.js"
import { Await, Field, fieldsOf, Outcome, PageHead, State } from "../ui/Basics.js"
import { Confirm } from "../ui/Confirm.js"
import { Form } from "../ui/Form.js"

const roles = ["viewer", "member", "owner"] as const
const roleOf = (value: string): Member["role"] => roles.find((role) => role === value) ?? "viewer"

/** The members of the workspace and who is invited. */
export const MembersPage = ({ workspaceId }: { readonly workspaceId: string }) => {
  const workspace_id = workspaceId
  const list = useLoaded(
    "the members",
    (signal) => wholeOf(reins.workspaces.listMembers({ workspace_id, limit: 100 }, { signal })),
    [workspaceId]
  )
  const action = useAction()
  const isOwner = mayManage.value
  const change = (doing: string, work: () => Promise<unknown>) =>
    action.run(doing, async () => {
      await work()
      list.reload()
    })
  return (
    <>
      <PageHead title="Members" under="A viewer reads, a member works, an owner also decides who belongs here." />
      {isOwner && (
        <Form
          of={action}
          class="line-form"
          send={(event) => {
            const { email = "", role = "" } = fieldsOf(event)
            const form = event.currentTarget
            void change("the invitation", async () => {
              await reins.workspaces.addMember({ workspace_id, email, role: roleOf(role) })
              form.reset()
            })
          }}
        >
          <Field label="E-mail address">
            <input name="email" type="email" required />
          </Field>
          <Field label="Role">
            <select name="role" defaultValue="member">
              {roles.map((role) => (
                <option key={role}>{role}</option>
              ))}
            </select>
          </Field>
          <button type="submit" class="primary" disabled={action.busy.value !== undefined}>
            Invite
          </button>
        </Form>
      )}
      <Outcome of={action} />
      <Await of={list}>
        {({ items }) => (
          <ul class="rows">
            {items.map(({ account_id, display_name, email, id, role, state }) => (
              <li class="row-line" key={id}>
                <strong>{display_name ?? email}</strong>
                {display_name !== null && <span class="fine">{email}</span>}
                <State of={state} />
                {isOwner && account_id !== me.value?.account.id ? (
                  <span class="actions">
                    <select
                      aria-label={`Role of ${email}`}
                      value={role}
                      onChange={({ currentTarget }) =>
                        change("the role", () =>
                          reins.workspaces.addMember({ workspace_id, email, role: roleOf(currentTarget.value) })
                        )
                      }
                    >
                      {roles.map((each) => (
                        <option key={each}>{each}</option>
                      ))}
                    </select>
                    <Confirm
                      ask={
                        state === "invited"
                          ? "The link of the mail ends. Take it back?"
                          : `${email} loses all access. Remove?`
                      }
                      act={() =>
                        change("the removal", () => reins.workspaces.removeMember({ workspace_id, account_id: id }))
                      }
                    >
                      {state === "invited" ? "Withdraw" : "Remove"}
                    </Confirm>
                  </span>
                ) : (
                  <span class="fine">{role}</span>
                )}
              </li>
            ))}
          </ul>
        )}
      </Await>
    </>
  )
}
