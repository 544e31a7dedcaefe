import type { Signal } from "@preact/signals"
import type { Hook, HookWithSecret } from "@reins/client"
import { serviceUrl } from "../api/Server.js"
import { Copy, Field } from "../ui/Basics.js"
import { Secret } from "../ui/Secret.js"

/** The kinds of hooks in words, each with the place of the secret. */
export const hookKinds = {
  token: { name: "a program with the secret in a header", where: "Send the secret as Authorization: Bearer." },
  standard: { name: "a program that signs with Standard Webhooks", where: "Give the secret to its library." },
  github: { name: "GitHub", where: "Choose the content type application/json, and paste the secret." },
  gitlab: { name: "GitLab", where: "Paste it as the signing token, or as the secret token before GitLab 19." },
  gitea: { name: "Gitea or Forgejo", where: "Paste the secret into the settings of the webhook." }
} as const

type Kind = Hook["kind"]

/** The kind of a value of the field. */
export const hookKindOf = (value: string): Kind => {
  const kinds: ReadonlyArray<Kind> = ["standard", "github", "gitlab", "gitea"]
  return kinds.find((each) => each === value) ?? "token"
}

/** The hook of an automation: one that is there, or a new one. Only owners know the hooks of a workspace. */
export const HookFields = ({
  chosen,
  hooks
}: {
  /** The id of the hook; empty for a new one. */
  readonly chosen: Signal<string>
  /** Null for those who may not know them. */
  readonly hooks: ReadonlyArray<Hook> | null
}) => {
  if (hooks === null)
    return chosen.value === "" ? (
      <p class="fine">Owners manage the hooks of this workspace. Ask one to make this automation.</p>
    ) : (
      <p class="fine">It keeps its hook. Owners manage the hooks of this workspace.</p>
    )
  const known = hooks.find(({ id }) => id === chosen.value)
  return (
    <>
      <div class="columns">
        <Field label="Hook" hint="The address that is called.">
          <select
            name="hook_id"
            value={chosen.value}
            onChange={({ currentTarget }) => (chosen.value = currentTarget.value)}
          >
            <option value="">a new one</option>
            {chosen.value !== "" && !hooks.some(({ id }) => id === chosen.value) && (
              <option value={chosen.value}>the one that it has</option>
            )}
            {hooks.map(({ id, kind, label }) => (
              <option key={id} value={id}>
                {label} ({kind})
              </option>
            ))}
          </select>
        </Field>
        {chosen.value === "" && (
          <Field label="Caller">
            <select name="hook_kind">
              {Object.entries(hookKinds).map(([kind, { name }]) => (
                <option key={kind} value={kind}>
                  {name}
                </option>
              ))}
            </select>
          </Field>
        )}
      </div>
      {known !== undefined && (
        <div class="made-hook">
          <HookAddress path={known.path} />
        </div>
      )}
    </>
  )
}

/** The address that the caller of a hook needs. */
const HookAddress = ({ path }: { readonly path: string }) => (
  <>
    <p>The caller sends POST to this address:</p>
    <code class="block">{`${serviceUrl}${path}`}</code>
    <p>
      <Copy label="Copy the address" text={`${serviceUrl}${path}`} />
    </p>
  </>
)

/** The address of a new hook and, this once, its secret. */
export const MadeHook = ({ hook: { kind, path, secret } }: { readonly hook: HookWithSecret }) => (
  <div class="made-hook">
    <HookAddress path={path} />
    <Secret name="secret of the hook" value={secret} />
    <p class="fine">{hookKinds[kind].where}</p>
  </div>
)
