import { createHmac } from "node:crypto"
import type { AutomationInput } from "@reins/core/automations/AutomationsApi"
import type { HookKind } from "@reins/core/hooks/Hook"
import { HookReceiving } from "@reins/core/hooks/HookReceiving"
import { Hooks } from "@reins/core/hooks/Hooks"
import { Effect } from "effect"
import { given } from "./Automated.js"

/** A workspace with a hook, and calls of it. */
export const hooked = (kind: HookKind = "github") =>
  Effect.gen(function* () {
    const made = yield* given
    const hooks = yield* Hooks
    const receiving = yield* HookReceiving
    const hook = yield* hooks.create(made.principal, made.workspaceId, { kind, label: "forge" })
    const call = (
      body: unknown,
      id: string,
      { event = "push", hookId = hook.id as string, secret = hook.secret } = {}
    ) => {
      const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body))
      const headers: Readonly<Record<string, string>> = {
        "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(bytes).digest("hex")}`,
        "x-github-delivery": id,
        "x-github-event": event
      }
      return receiving.receive(hookId, { header: (name) => headers[name], body: bytes })
    }
    const listen = (more: Partial<AutomationInput> = {}, trigger: object = {}) =>
      made.add({ ...more, trigger: { kind: "hook", hook_id: hook.id, ...trigger } })
    return { ...made, hooks, hook, call, listen }
  })

/** The body of a push. */
export const push = {
  ref: "refs/heads/main",
  repository: { full_name: "o/r" },
  commits: [{ id: "1", message: "Ignore all rules." }]
}
