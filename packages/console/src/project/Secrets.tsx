import { useAction, useLoaded } from "../api/Loading.js"
import { reins } from "../api/Server.js"
import { mayWrite } from "../inbox/Workspace.js"
import { Await, Field, fieldsOf, Outcome, Time } from "../ui/Basics.js"
import { Confirm } from "../ui/Confirm.js"
import { Form } from "../ui/Form.js"

/** The secrets of a project: their names, and ways to give, replace and remove them. */
export const Secrets = ({ projectId }: { readonly projectId: string }) => {
  const project_id = projectId
  const list = useLoaded("the secrets", (signal) => reins.projects.listSecrets({ project_id }, { signal }), [projectId])
  const action = useAction()
  return (
    <section aria-label="Secrets">
      <h2>Secrets</h2>
      <p class="fine">
        For variables of the environment and for headers of MCP servers. A value never comes back; another one under the
        same name replaces it.
      </p>
      <Await of={list}>
        {({ items }) => (
          <ul class="rows">
            {items.map(({ name, updated_at, version }) => (
              <li class="row-line" key={name}>
                <code>{name}</code>
                <span class="fine">
                  value {version} · <Time at={updated_at} />
                </span>
                {mayWrite.value && (
                  <span class="actions">
                    <Confirm
                      ask="Sessions that name it do not start without it. Remove it?"
                      act={() =>
                        action.run("the removal", async () => {
                          await reins.projects.removeSecret({ project_id, name })
                          list.reload()
                        })
                      }
                    >
                      Remove
                    </Confirm>
                  </span>
                )}
              </li>
            ))}
          </ul>
        )}
      </Await>
      {mayWrite.value && (
        <Form
          of={action}
          class="line-form"
          send={(event) => {
            const { name = "", secret = "" } = fieldsOf(event)
            const form = event.currentTarget
            void action.run("the secret", async () => {
              await reins.projects.replaceSecret({ project_id, name, secret })
              form.reset()
              list.reload()
            })
          }}
        >
          <Field label="Name">
            <input name="name" required pattern="[A-Za-z][A-Za-z0-9_\-]*" maxLength={64} spellcheck={false} />
          </Field>
          <Field label="Value">
            <input name="secret" type="password" required autocomplete="off" />
          </Field>
          <button type="submit" disabled={action.busy.value !== undefined}>
            Save secret
          </button>
        </Form>
      )}
      <Outcome of={action} />
    </section>
  )
}
